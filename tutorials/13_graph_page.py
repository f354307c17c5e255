"""Passes over a graph
===================

A model is a graph of operators. Before loops are generated, *passes* rewrite this graph: they fold constants,
recognize operators that were written out in smaller ones, and fuse operators into kernels. This tutorial runs
the passes one by one, counts the operators after each, and writes a page that shows the graph.

Run it::

    python tutorials/13_graph_page.py
    python tutorials/13_graph_page.py --page graph.html
"""

from __future__ import annotations

import argparse
import collections
import tempfile
from pathlib import Path

import numpy as np
from pictures import OURS, PLAIN, SECOND, plt, show

import tvmlite
from tvmlite import relay
from tvmlite.core.node import postorder
from tvmlite.graph_page import draw, page
from tvmlite.machine.target import Target
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.passes import pipeline

parser = argparse.ArgumentParser(description="The passes over a graph, one by one")
parser.add_argument("--page", type=Path, help="where to write the page (default: a temporary file)")
path = parser.parse_args().page or Path(tempfile.mkdtemp()) / "graph.html"
random = np.random.default_rng(0)

# %%
# A model as exporters write it
# -----------------------------
#
# Exporters break operators into smaller ones. Here is a block of a transformer in this form. The layer
# normalization consists of nine operators, the activation (gelu) of six, the softmax of five. There are also
# superfluous operators: a dropout, and computations with constants only.

WIDTH, TOKENS = 64, 16


def weight(*shape: int) -> relay.Constant:
    """A random constant, scaled so that sums of products stay near 1."""
    return relay.const(random.standard_normal(shape, "float32") * np.float32(shape[-1] ** -0.5))


def number(value: float) -> relay.Constant:
    """A float32."""
    return relay.const(np.float32(value))


def norm(data: relay.Expr) -> relay.Expr:
    """Layer normalization over the last axis, written out."""
    centred = relay.subtract(data, relay.mean(data, axis=-1, keepdims=True))
    variance = relay.mean(relay.multiply(centred, centred), axis=-1, keepdims=True)
    scaled = relay.divide(centred, relay.sqrt(relay.add(variance, number(1e-5))))
    return relay.add(relay.multiply(scaled, weight(WIDTH)), weight(WIDTH))


def gelu(data: relay.Expr) -> relay.Expr:
    """``0.5 x (1 + erf(x / sqrt(2)))``, written out."""
    inside = relay.add(relay.erf(relay.divide(data, relay.sqrt(number(2.0)))), number(1.0))
    return relay.multiply(relay.multiply(data, inside), number(0.5))


def softmax(data: relay.Expr) -> relay.Expr:
    """Softmax over the last axis, written out."""
    powers = relay.exp(relay.subtract(data, relay.max(data, axis=-1, keepdims=True)))
    return relay.divide(powers, relay.sum(powers, axis=-1, keepdims=True))


def block(data: relay.Expr) -> relay.Expr:
    """Attention with one head, then two dense layers, each of the two parts after a normalization."""
    normed = norm(data)
    query, key, value = (relay.nn.dense(normed, weight(WIDTH, WIDTH)) for _ in range(3))
    scores = relay.multiply(relay.nn.dense(query, key), relay.divide(number(1.0), number(8.0)))
    data = relay.add(data, relay.nn.dense(softmax(scores), relay.transpose(value, (1, 0))))
    hidden = gelu(relay.nn.dense(norm(data), weight(4 * WIDTH, WIDTH)))
    return relay.add(data, relay.nn.dense(relay.nn.dropout(hidden), weight(WIDTH, 4 * WIDTH)))


x = relay.var("x", shape=(TOKENS, WIDTH))
module = relay.Module.from_expr(relay.Function([x], block(x)))
print("\n".join(str(module).splitlines()[:12]), "\n...")

# %%
# What there is to count
# ----------------------
#
# Each call of an operator is a node of the graph. After the pass ``fuse``, ``main`` calls groups; each group
# is a function and becomes one kernel.


def operators(module: relay.Module) -> list[str]:
    """The operators of ``main`` and of the groups that it calls."""
    bodies = [module.main.body, *(call.op.body for call in calls_of_groups(module))]
    nodes = {node for body in bodies for node in postorder(body)}
    return [node.op for node in nodes if isinstance(node, relay.Call) and isinstance(node.op, str)]


def calls_of_groups(module: relay.Module) -> list[relay.Call]:
    """The calls of fused groups in ``main``."""
    nodes = postorder(module.main.body)
    return [node for node in nodes if isinstance(node, relay.Call) and isinstance(node.op, relay.Function)]


def count(module: relay.Module) -> tuple[int, int]:
    """The number of operators and the number of groups."""
    return len(operators(module)), len(calls_of_groups(module))


print(len(operators(module)), "operators:", dict(collections.Counter(operators(module)).most_common(8)))

# %%
# One by one
# ----------
#
# ``pipeline`` returns the passes of the default optimization level in order. Each is a function from a module
# to a module. A pass that finds nothing to change returns the same object, so we can see which passes did
# something.

target = Target.parse("native")
steps = {"imported": count(module)}
now = module
for one in pipeline(target=target).passes:
    before, now = now, one(now)
    name = getattr(one, "__name__", str(one))
    if now is not before:
        steps[name if name not in steps else f"{name}, again"] = count(now)
        gone = collections.Counter(operators(before)) - collections.Counter(operators(now))
        came = collections.Counter(operators(now)) - collections.Counter(operators(before))
        change = [f"-{times} {op}" for op, times in gone.items()]
        change += [f"+{times} {op}" for op, times in came.items()]
        print(f"{name:28} {', '.join(sorted(change)) or 'rearranged'}")

# %%
# The picture shows the number of operators after each of these passes and, after fusion, the number of
# kernels. Recognition and folding reduce the number of operators; fusion keeps the operators and groups them
# into kernels.

figure = plt.figure(figsize=(7, 0.32 * len(steps) + 1))
axes = figure.gca()
names, counts = list(steps), np.array(list(steps.values()))
axes.barh(names, counts[:, 0], color=[PLAIN] + [OURS] * (len(names) - 1), label="operators")
drawn = axes.barh(names, counts[:, 1], height=0.35, color=SECOND, label="kernels")
for place, (number_of_operators, kernels) in enumerate(counts):
    text = f"{number_of_operators}" + (f" in {kernels} kernels" if kernels else "")
    axes.text(number_of_operators + 0.4, place, text, va="center", fontsize=9)
axes.invert_yaxis()
axes.set_xlim(0, counts.max() * 1.3)
axes.set_xlabel("operators after the pass")
axes.legend(frameon=False, loc="lower right")

# %%
# Before and after
# ----------------
#
# The report of the compiled block lists the groups that are left, in the order in which ``main`` calls them.
# The compiled block computes the same results as the original.

lib = tvmlite.compile(module)
data = random.standard_normal((TOKENS, WIDTH), "float32")
np.testing.assert_allclose(lib(data), interpret(module, [data]), rtol=1e-3, atol=1e-4)
print(lib.report)

# %%
# The graph as a page
# -------------------
#
# ``page`` writes one HTML file with a box for each group and edges for the values between them. On the
# command line it is ``tvmlite show model.onnx --html graph.html --profile``. If the times of the kernels are
# given, boxes can be coloured by time. Open the file in a browser, click a box to see its operators, and fold
# blocks.

for _ in range(3):
    profile = lib.profile(data)
times = [nanoseconds / 1e3 for _, nanoseconds in profile.kernels]
path.write_text(
    page(draw(lib.module, {}, times), "a transformer block", "after all passes"), encoding="utf-8"
)
print(f"{path.name}: {path.stat().st_size // 1024} KB")

# %%
# A picture shows the same numbers: the time of each kernel of this block.

figure = plt.figure(figsize=(7, 0.32 * len(times) + 1))
axes = figure.gca()
labels = [f"{place}: {name}" for place, name in enumerate(lib.kernel_labels)]
axes.barh(labels, times, color=OURS)
axes.invert_yaxis()
axes.set_xlabel("microseconds")
axes.set_title("kernels of the block, in order")
show()

# %%
# ``TVMLITE_DUMP=dir`` writes the graph after every pass to a file. ``tvmlite.compile(module, verify=True)``
# evaluates the graph on random input after every pass, and names the first pass that changes a result.
#
# Exercises
# ---------
#
# 1. Remove ``recognize_norms`` from the list of passes. How many kernels are there then, and how long do they
#    take?
# 2. Write the normalization in another form, such as with ``power(x, 2)``. Is it still recognized?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. 17 in place of 11: each normalization becomes several kernels, because its means are reductions with
#    loops of their own. Each of these kernels reads and writes memory again.
# 2. Yes. Patterns match a square in either form, ``power(x, 2)`` or ``x * x``.
#
# .. raw:: html
#
#     </details>
