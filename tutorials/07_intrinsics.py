"""Mathematical functions, and how exact they are
===============================================

``te.exp``, ``te.tanh`` and others are *intrinsics*: functions with the same name on all targets. This
tutorial calls them, adds a new one, and measures how exact they are.

Run it::

    python tutorials/07_intrinsics.py
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pictures import LIMIT, OURS, PLAIN, SECOND, bars, plt, show

import tvmlite
from tvmlite import te
from tvmlite.machine.target import Target

parser = argparse.ArgumentParser(description="Intrinsics, and their errors")
parser.add_argument("--samples", type=int, default=1 << 18, help="numbers at which errors are measured")
samples = parser.parse_args().samples
LANES = Target.parse("native").lanes("float32")

# %%
# Calling one
# -----------
#
# An intrinsic is a function of expressions. In the loops it appears as a call.


def apply(function: Callable[[Any], Any], name: str, vectors: bool = True) -> Any:
    """A compiled function that applies ``function`` to each element of an array of any length."""
    a = te.placeholder((te.var("n"),), name="A")
    b = te.compute(a.shape, lambda i: function(a[i]), name="B")
    s = te.create_schedule(b.op)
    if vectors:
        s[b].vectorize(s[b].split(b.op.axis[0], factor=LANES)[1])
    return tvmlite.build(s, [a, b], name=name)


exp = apply(te.exp, "exp", vectors=False)
print(exp.source("loops"))
print(exp(np.array([0, 1, 2], "float32")))

# %%
# Most processors have no instruction for ``exp``. The C library has a function, but it computes one number at
# a time. So the compiler uses a formula of its own: it writes the result as a power of two times a factor
# near 1, and computes the factor by a polynomial. A polynomial needs only multiplications and additions,
# which vector instructions compute for all lanes at once. Here is a part of the resulting LLVM IR:

lines = apply(te.exp, "exp").source("llvm").splitlines()
begin = next(number for number, line in enumerate(lines) if " load <" in line)
print("\n".join(line[:110] for line in lines[begin : begin + 14]))

# %%
# ``te.call_pure_extern`` calls C's function instead. The bars show the time for one element, in nanoseconds.
# Even our plain loop may be fast, because LLVM can vectorize a loop that contains no calls.

x = np.random.default_rng(0).uniform(-5, 5, 1 << 14).astype("float32")
c_function = apply(lambda value: te.call_pure_extern("float32", "expf", value), "c_exp", vectors=False)
times: dict[str, float] = {}
for name, function in {
    "C's expf": c_function,
    "te.exp, plain loop": exp,
    "te.exp, vectorized": apply(te.exp, "vector_exp"),
}.items():
    np.testing.assert_allclose(function(x), np.exp(x), rtol=1e-6)
    times[name] = function.time(x, budget=0.1).median / x.size * 1e9
    print(f"{name:22} {times[name]:6.2f} ns an element")
bars(times, "nanoseconds an element", "e to the power of x", colours=[PLAIN, SECOND, OURS])

# %%
# How exact: errors in ULP
# ------------------------
#
# There are gaps between neighbouring floats. Near 1, the gap of float32 is about 0.0000001; near 1000 it is
# 500 times as large. A *unit in the last place* (ULP) is the gap at the exact result. It is a fair measure of
# errors: the float that is nearest to the exact result has an error of at most half a ULP, and an error below
# 1 ULP means that the result is one of the two floats around the exact one.
#
# The exact result is computed by numpy in float64, which has 29 more bits.


def ulps(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """How far float32 results are from the ``exact`` ones, in units in the last place."""
    return abs(found.astype("float64") - exact) / np.spacing(abs(exact).astype("float32"))


functions: dict[str, tuple[Any, Callable[[np.ndarray], np.ndarray], tuple[float, float]]] = {
    "exp": (te.exp, np.exp, (-20, 20)),
    "tanh": (te.tanh, np.tanh, (-6, 6)),
    "log": (te.log, np.log, (0.01, 100)),
    "sigmoid": (te.sigmoid, lambda v: 1 / (1 + np.exp(-v)), (-20, 20)),
    "erf": (te.erf, np.vectorize(math.erf), (-4, 4)),
    "sin": (te.sin, np.sin, (-20, 20)),
}
figure, grid = plt.subplots(2, 3, figsize=(7, 4.2), sharey=True)
for axes, (name, (intrinsic, exact, (low, high))) in zip(grid.flat, functions.items(), strict=True):
    x = np.linspace(low, high, samples).astype("float32")
    error = ulps(apply(intrinsic, name)(x), exact(x.astype("float64")))
    print(f"{name:8} largest error {error.max():5.2f} ULP, mean {error.mean():.2f}")
    blocks = error[: samples // 256 * 256].reshape(256, -1)
    middle = x[: samples // 256 * 256].reshape(256, -1).mean(axis=1)
    axes.fill_between(middle, blocks.max(axis=1), color=OURS, alpha=0.35, linewidth=0, label="largest")
    axes.plot(middle, blocks.mean(axis=1), color=OURS, linewidth=1, label="mean")
    axes.axhline(0.5, color=LIMIT, linestyle="--", linewidth=1, label="0.5: the best possible")
    axes.set_title(name)
    axes.set_ylim(0, 4)
grid[0, 0].set_ylabel("error in ULP")
grid[1, 0].set_ylabel("error in ULP")
grid[0, 0].legend(frameon=False, fontsize=8)

# %%
# An intrinsic of our own
# -----------------------
#
# ``softplus(x)`` is ``log(1 + exp(x))``. We declare it as an intrinsic with a *lowering rule*: a function
# that takes the call and returns the expression that replaces it. From then on it can be called by name,
# scheduled and vectorized like any other intrinsic. The first rule is the formula as found in textbooks.


@te.register_intrin_lowering("tutorial.softplus")
def by_the_book(call: Any) -> Any:
    """``log(1 + exp(x))``."""
    return te.log(te.exp(call.args[0]) + 1.0)


def softplus(value: Any) -> Any:
    """The intrinsic, computed by the rule that is registered."""
    return te.call_intrin("float32", "tutorial.softplus", value)


x = np.linspace(-20, 100, samples).astype("float32")
exact = np.logaddexp(0.0, x.astype("float64"))
errors = {"by the book": ulps(apply(softplus, "softplus")(x), exact)}
print("by the book:", "softplus(-20) =", apply(softplus, "softplus")(np.float32([-20]))[0])
print("by the book:", "softplus(100) =", apply(softplus, "softplus")(np.float32([100]))[0])

# %%
# Both results are wrong: the first should be 2.06e-9, the second 100. For very negative ``x``, ``1 + exp(x)``
# is rounded to 1, and the term ``exp(x)`` is lost. For large ``x``, ``exp(x)`` is infinite. The second rule
# avoids both. It adds the larger part, ``max(x, 0)``, separately, and uses
# ``log(1 + p) = log(u) * p / (u - 1)`` with the rounded ``u = 1 + p``, in which the two rounding errors
# cancel. A rule can be registered again; the last one is used.


@te.register_intrin_lowering("tutorial.softplus")
def with_care(call: Any) -> Any:
    """``max(x, 0) + log(1 + exp(-abs(x)))``, without loss for large numbers of either sign."""
    (value,) = call.args
    power = te.exp(-te.abs(value))
    rounded = power + 1.0
    is_lost = rounded == 1.0
    quotient = power / te.select(is_lost, te.const(1.0), rounded - 1.0)
    return te.max(value, 0.0) + te.select(is_lost, power, te.log(rounded) * quotient)


errors["with care"] = ulps(apply(softplus, "softplus")(x), exact)
figure = plt.figure(figsize=(6.5, 3))
axes = figure.gca()
for (name, error), colour in zip(errors.items(), (PLAIN, OURS), strict=True):
    is_known = np.isfinite(error)
    axes.semilogy(x[is_known], np.maximum(error[is_known], 1e-2), ".", markersize=1, color=colour)
    axes.plot([], [], color=colour, label=name)
    share = np.mean(~is_known)
    print(f"{name:12} largest error {error[is_known].max():.3g} ULP, {share:.0%} of results are infinite")
axes.axhline(0.5, color=LIMIT, linestyle="--", linewidth=1)
axes.set_xlabel("x")
axes.set_ylabel("error in ULP")
axes.set_title("softplus by two rules (no point: the result is infinite)")
axes.legend(frameon=False)
show()

# %%
# Exercises
# ---------
#
# 1. Register ``tutorial.log1p`` by the trick above, and measure it near 0.
# 2. Replace ``te.exp`` by a polynomial of degree 3 on ``-1 .. 1``. How large is its error in ULP, and how
#    fast is it? For which purposes would that be enough?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. With ``u = 1 + x``: ``log(u) * (x / (u - 1))``, and ``x`` itself where ``u`` is 1. Between 1e-12 and 1
#    its error is at most about 2 ULP; ``log(1 + x)`` loses all digits near 0.
# 2. The cubic through Chebyshev's points has an error of up to 0.0067, which is more than 150,000 ULP, and
#    takes about half the time of ``te.exp``. It is exact enough where two digits suffice, such as for shades
#    of grey in a picture.
#
# .. raw:: html
#
#     </details>
