"""Compiled models run on another processor, by qemu's emulation of it, called from a program in C."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledModule

TRIPLE = "aarch64-linux-gnu"
ROOT = Path("/usr") / TRIPLE
"""Where Debian installs the C library of the emulated machine."""

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include "net.h"

static void *array(size_t bytes) {{ return aligned_alloc(64, (bytes / 64 + 1) * 64); }}

int main(void) {{
    size_t sizes[] = {{{sizes}}};
    void *arrays[{count}], *workspace = array({workspace});
    for (int n = 0; n < {count}; n++) {{
        arrays[n] = array(sizes[n]);
        if (n < {inputs} && fread(arrays[n], 1, sizes[n], stdin) != sizes[n]) return 100;
    }}
    tvmlite_set_num_threads(1);
    int32_t code = net({arguments}, workspace, 1, NULL);
    for (int n = {inputs}; n < {count}; n++) fwrite(arrays[n], 1, sizes[n], stdout);
    return code;
}}
"""


def emulator() -> str:
    """The command of the emulator; the test is skipped where that, or a compiler for the machine, is
    missing."""
    found = next((path for name in ("", "-static") if (path := shutil.which(f"qemu-aarch64{name}"))), None)
    if found is None:
        pytest.skip("qemu-aarch64 is not installed (apt install qemu-user-static)")
    if shutil.which(f"{TRIPLE}-gcc") is None or not ROOT.exists():
        pytest.skip(f"{TRIPLE}-gcc is not installed (apt install gcc-{TRIPLE})")
    return found


def run(
    lib: CompiledModule, inputs: Sequence[np.ndarray], results: Sequence[np.ndarray], folder: Path
) -> list[np.ndarray]:
    """The outputs of ``lib``, compiled as "net" with all extents fixed, of the shapes and dtypes of
    ``results``."""
    command = [emulator(), "-L", str(ROOT), "-cpu", "max"]
    lib.export(folder / "net.so")
    lib.export(folder / "net.h")
    found = re.search(r"workspace: scratch memory, (\d+) bytes", (folder / "net.h").read_text())
    assert found is not None
    every = [*inputs, *results]
    source = PROGRAM.format(
        sizes=", ".join(str(x.nbytes) for x in every),
        count=len(every),
        inputs=len(inputs),
        workspace=found[1],
        arguments=", ".join(f"arrays[{n}]" for n in range(len(every))),
    )
    (folder / "main.c").write_text(source)
    compiler = [f"{TRIPLE}-gcc", "-O1", "main.c", "net.so", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run(compiler, cwd=folder, check=True)
    given = b"".join(np.ascontiguousarray(x).tobytes() for x in inputs)
    done = subprocess.run([*command, str(folder / "main")], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    made, at = [], 0
    for like in results:
        made.append(np.frombuffer(done.stdout, like.dtype, like.size, at).reshape(like.shape))
        at += like.nbytes
    assert at == len(done.stdout)
    return made


def target(features: str) -> Target:
    """AArch64 with ``features``, such as "+i8mm"."""
    return Target.parse(f"llvm -mtriple={TRIPLE} -mattr={features}")
