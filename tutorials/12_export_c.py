"""Exporting a model
=================

A compiled model can be exported to a file that needs no compiler, no Python and no tvmlite: a library, or C
source. This tutorial writes both, runs them, and shows how memory is planned.

Run it::

    python tutorials/12_export_c.py
    python tutorials/12_export_c.py --output exported
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from pictures import LIMIT, OURS, PLAIN, SECOND, plt, show

import tvmlite
from tvmlite import relay, runtime
from tvmlite.model.kernels import legal_kernel
from tvmlite.te.loop import ir, walk

parser = argparse.ArgumentParser(description="Export a small model as a library and as C")
parser.add_argument("--output", type=Path, help="the folder to write to (default: a temporary one)")
folder = parser.parse_args().output or Path(tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(0)

# %%
# The model
# ---------
#
# The model is a small network for images of 28 x 28 pixels, with a residual connection: the result of the
# first convolution is read twice.


def weight(*shape: int) -> relay.Constant:
    """A random constant, scaled so that sums of products stay near 1."""
    return relay.const(random.standard_normal(shape, "float32") * np.float32(np.prod(shape[1:]) ** -0.5))


x = relay.var("x", shape=(1, 1, 28, 28))
first = relay.nn.relu(relay.nn.conv2d(x, weight(8, 1, 3, 3), padding=1))
second = relay.nn.relu(relay.nn.conv2d(first, weight(8, 8, 3, 3), padding=1))
y = relay.nn.max_pool2d(relay.add(first, second), (2, 2), (2, 2))
y = relay.nn.relu(relay.nn.conv2d(y, weight(16, 8, 3, 3), padding=1))
y = relay.reshape(relay.nn.max_pool2d(y, (2, 2), (2, 2)), (1, 784))
y = relay.nn.softmax(relay.nn.dense(y, weight(10, 784)))
module = relay.Module.from_expr(relay.Function([x], y))
image = random.standard_normal((1, 1, 28, 28), "float32")

# %%
# A shared library
# ----------------
#
# The file's extension selects the format: ``.so`` is a shared library, ``.a`` a static one, ``.c`` C source,
# ``.h`` the header. ``runtime.load`` needs only numpy and cffi. It checks the file before any of its code is
# run.

lib = tvmlite.compile(module, name="digits")
lib.export(folder / "digits.so")
loaded = runtime.load(folder / "digits.so")
np.testing.assert_array_equal(loaded(image), lib(image))
print(f"digits.so: {(folder / 'digits.so').stat().st_size} bytes, the same bits as in this process")

# %%
# One C file
# ----------
#
# With the target ``"c -system=none"`` the model becomes a single C99 file for machines without an operating
# system. It allocates no memory and calls only functions of ``<math.h>``. For a particular microcontroller,
# add for example ``-mcpu=cortex-m4``. The header declares the functions to call.

small = tvmlite.compile(module, target="c -system=none", name="digits")
small.export(folder / "digits.c")
print((folder / "digits.h").read_text())

# %%
# The source is meant to be read. Here is the last kernel, softmax:

source = (folder / "digits.c").read_text()
print(source[source.index("/* softmax") :][:1400], "...")

# %%
# ``export`` also wrote a program that tests the source: it contains random inputs, and the results of the
# interpreter for them. We compile and run it, if there is a C compiler.

compiler = shutil.which("cc")
if compiler is None:
    print("there is no C compiler here")
else:
    files = [str(folder / name) for name in ("digits.c", "digits_test.c")]
    subprocess.run(
        [compiler, "-std=c99", "-O2", *files, "-lm", "-o", str(folder / "digits_test")], check=True
    )
    test = subprocess.run([str(folder / "digits_test")], check=False)
    print("the test program says:", "right" if test.returncode == 0 else f"case {test.returncode} is wrong")

# %%
# The plan of memory
# ------------------
#
# Where are the values between kernels stored? In one block of memory, the *arena*, which the caller provides.
# The compiler knows when each value is computed and when it is read for the last time; in between, it is
# *alive*. Two values can share memory if they are never alive at the same time. The compiler searches for
# offsets that make the arena small.
#
# The plan can be read in the *entry*, the function that calls the kernels: each value is a *view* of the
# arena at some offset.

print(small.entry)

# %%
# In the picture, each box is a value. Its width goes from the kernel that writes the value to the last that
# reads it, its height from its first byte to its last. Orange boxes are scratch memory, which a kernel needs
# while it runs. Boxes never overlap. The red line is the size that would be needed if no values shared
# memory.


def boxes(library: Any) -> list[tuple[str, int, int, int, int]]:
    """Name, first and last step, offset and size in bytes of everything in the arena."""
    offsets: dict[ir.Buffer, int] = {}
    uses: dict[ir.Buffer, list[int]] = {}
    found = []
    scratch = {one.task.symbol: legal_kernel(one.task, library.target).workspace for one in library.kernels}
    for statement in walk.statements(library.entry.body):
        if isinstance(statement, ir.View) and statement.buffer.scope == "view":
            offsets[statement.buffer] = int(getattr(statement.offset, "value", statement.offset))
        if isinstance(statement, ir.CallKernel):
            for buffer in statement.buffers:
                uses.setdefault(buffer, []).append(statement.profile_slot)
            if statement.workspace is not None:
                begin, size = (
                    int(getattr(n, "value", n)) for n in (statement.workspace, scratch[statement.symbol])
                )
                found.append(("scratch", statement.profile_slot, statement.profile_slot, begin, size))
    for buffer, offset in offsets.items():
        size = 4 * int(np.prod([int(extent.value) for extent in buffer.shape]))
        found.append((buffer.name, min(uses[buffer]), max(uses[buffer]), offset, size))
    return found


def draw(library: Any, title: str) -> None:
    """Draw the plan of the arena."""
    plan = boxes(library)
    figure = plt.figure(figsize=(6.8, 3.6))
    axes = figure.gca()
    for name, first, last, offset, size in plan:
        colour = SECOND if name == "scratch" else OURS
        axes.bar(
            first,
            size,
            last - first + 0.92,
            offset,
            align="edge",
            color=colour,
            alpha=0.75,
            edgecolor="white",
        )
        if size > 1500:
            axes.text(
                (first + last + 0.92) / 2, offset + size / 2, name, ha="center", va="center", fontsize=8
            )
    labels = [name.split(" ")[0] for name in library.metadata["kernel_labels"]]
    axes.set_xticks(np.arange(len(labels)) + 0.46, labels, rotation=20, ha="right", fontsize=8)
    apart = sum(size for *_, size in plan)
    used = max(offset + size for *_, offset, size in plan)
    axes.axhline(apart, color=LIMIT, linestyle="--", label=f"side by side: {apart} bytes")
    axes.axhline(used, color=PLAIN, linestyle="--", label=f"the arena: {used} bytes")
    axes.set_ylabel("byte of the arena")
    axes.set_ylim(0, apart * 1.3)
    axes.set_title(title)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    print(f"{title}: {used} bytes, side by side {apart}")


draw(small, "the arena of the standalone C file")

# %%
# Look at ``value4`` and ``value2``: the second convolution reads the first one's result while it writes its
# own, so both must be in memory. After the pooling, the memory of both is free.
#
# If the model is compiled for this machine, the plan is different: channels are stored in blocks, and kernels
# use scratch memory to be faster.

draw(lib, "the workspace of the library for this machine")
show()

# %%
# Exercises
# ---------
#
# 1. Remove the residual connection. Does the arena become smaller? Why?
# 2. Call ``digits_run`` from a C program of your own, and link it with ``digits.c``.
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. No, its size stays the same. Even without the connection, the second convolution reads the first one's
#    result while it writes its own, and no other step has more bytes alive.
# 2. Include ``digits.h``, fill an array of 784 floats, call ``digits_run(x, y)`` and find the largest of the
#    10 results. Compile with ``cc -std=c99 main.c digits.c -lm``.
#
# .. raw:: html
#
#     </details>
