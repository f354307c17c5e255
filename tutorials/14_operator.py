"""Writing an operator
===================

Suppose that a model has an operator that tvmlite does not support. Here we write it: one decorated function,
with its type and a reference in numpy. Then it can be printed, parsed, fused and compiled like any other.

Run it::

    python tutorials/14_operator.py

The operator is *snake*, an activation from audio models: ``x + sin(alpha x)**2 / alpha``. After it we write a
second operator, a reduction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pictures import OURS, PLAIN, SECOND, bars, plt, show

import tvmlite
from tvmlite import relay, te
from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import FLOAT, data_type
from tvmlite.relay.ops.register import elemwise, reduction

# %%
# The three parts
# ---------------
#
# 1. The *formula* of one element. ``call`` holds the attributes, ``i`` is the index, ``x`` the tensor.
# 2. The *type relation*: it computes the type of the result from the types of the arguments. Most activations
#    use ``data_type(FLOAT)``: the argument has floats, and the result has the same type.
# 3. The *reference*: the same in plain numpy, written for clarity. It runs when a graph is interpreted, and
#    the compiled operator is compared with it.


def snake_numpy(call: Any, x: np.ndarray) -> np.ndarray:
    """The reference."""
    return x + np.sin(call["alpha"] * x) ** 2 / call["alpha"]


@elemwise("tutorial.snake", infer=data_type(FLOAT), reference=snake_numpy, attrs={"alpha": 1.0})
def snake(call: Any, i: Any, x: te.Tensor) -> Any:
    """``x + sin(alpha x)**2 / alpha``: a periodic function plus ``x``."""
    wave = te.sin(call["alpha"] * x[i])
    return x[i] + wave * wave / call["alpha"]


# %%
# That is all. The picture shows the operator: the curves are computed by the compiled operator, the dots by
# the reference.

x = relay.var("x", shape=("n",))
numbers = np.linspace(-6, 6, 401).astype("float32")
figure = plt.figure(figsize=(6, 3))
axes = figure.gca()
for alpha, colour in ((0.5, SECOND), (1.0, OURS), (3.0, PLAIN)):
    graph = relay.Function([x], relay.make("tutorial.snake", x, alpha=alpha))
    lib = tvmlite.compile(graph)
    exact = numbers + np.sin(alpha * numbers) ** 2 / alpha
    axes.plot(numbers, lib(numbers), color=colour, label=f"alpha = {alpha}")
    axes.plot(numbers[::20], exact[::20], "o", color=colour, markersize=3)
    np.testing.assert_allclose(lib(numbers), exact, rtol=1e-5, atol=1e-6)
axes.set_xlabel("x")
axes.set_ylabel("snake(x)")
axes.legend(frameon=False)

# %%
# The operator can be printed as text, and parsed again:

module = relay.Module.from_expr(
    relay.Function([x], relay.nn.relu(relay.make("tutorial.snake", x, alpha=2.0)))
)
print(module)
assert str(relay.parse(str(module))) == str(module)

# %%
# Fusion
# ------
#
# ``@elemwise`` does not only say how to compute the operator. It also says that element ``i`` of the result
# reads only element ``i`` of the arguments. So the operator can be fused with its neighbours. Here a dense
# layer, a bias, snake and a sum become one kernel.

random = np.random.default_rng(0)
data = relay.var("data", shape=(64, 256))
weights = relay.const(random.standard_normal((256, 256), "float32") / np.float32(16))
bias = relay.const(random.standard_normal(256, "float32"))
hidden = relay.make("tutorial.snake", relay.add(relay.nn.dense(data, weights), bias), alpha=1.5)
fused = tvmlite.compile(relay.Function([data], relay.add(hidden, data)))
print(fused.report)

# %%
# At optimization level 0, each operator is a kernel of its own, and every value between two kernels is
# written to memory and read again. The picture shows how much time fusion saves. Both versions compute the
# same.

apart = tvmlite.compile(relay.Function([data], relay.add(hidden, data)), opt_level=0)
array = random.standard_normal((64, 256), "float32")
np.testing.assert_allclose(fused(array), apart(array), rtol=1e-4, atol=1e-4)
times = {}
for name, lib in (("level 0", apart), ("fused", fused)):
    kernels = len(lib.report.rows)
    label = f"{kernels} kernel{'s' * (kernels > 1)}, {name}"
    times[label] = min(lib.time(array, budget=0.2).runs) * 1e6
bars(times, "microseconds", "dense, bias, snake and a sum", colours=[PLAIN, OURS])
for name, time in times.items():
    print(f"{name:22} {time:8.1f} microseconds")

# %%
# A type relation of one's own
# ----------------------------
#
# The second operator is a reduction: the mean of ``abs(x)**p`` over the last axis, to the power ``1 / p``.
# Its result has one axis less, so it needs its own type relation. For a wrong argument it raises an error
# that says what was given, what was expected, and, through ``call.span``, the line of the user's program.


def power_mean_type(call: Any, x: TensorType) -> TensorType:
    """``(..., n)`` of floats gives ``(...)``."""
    if not x.dtype.startswith("float") or not x.shape:
        raise TypeInferError(f"tutorial.power_mean: x is {x}, expected floats with an axis", call.span)
    return TensorType(x.shape[:-1], x.dtype)


def power_mean_numpy(call: Any, x: np.ndarray) -> np.ndarray:
    """The reference."""
    return np.mean(np.abs(x) ** call["p"], axis=-1) ** (1 / call["p"])


@reduction("tutorial.power_mean", infer=power_mean_type, reference=power_mean_numpy, attrs={"p": 2.0})
def power_mean(call: Any, x: te.Tensor) -> te.Tensor:
    """The power mean of the last axis."""
    k = te.reduce_axis((0, x.shape[-1]), name="k")
    total = te.compute(
        x.shape[:-1], lambda *i: te.sum(te.power(te.abs(x[(*i, k)]), call["p"]), axis=k), name="total"
    )
    count = te.cast(x.dtype, x.shape[-1])
    return te.compute(x.shape[:-1], lambda *i: te.power(total[i] / count, 1 / call["p"]), name="mean")


try:
    whole = relay.var("whole", shape=(3, 4), dtype="int32")
    type_of(relay.make("tutorial.power_mean", whole))
except tvmlite.TvmliteError as error:
    print(error)

# %%
# Test it
# -------
#
# Every operator should have three tests. The first compares the compiled operator with the reference on
# random inputs of several shapes. The second compares it with an independent implementation (here p = 1 is a
# mean, and p = 2 a root mean square). The third checks its errors, as above. ``verify=True`` does the first:
# it evaluates the graph with the references after each pass, and compares the results with each other and
# with those of the library.

for shape in ((5,), (3, 7), (2, 3, 33)):
    for p in (1.0, 2.0, 3.0):
        x = relay.var("x", shape=shape)
        lib = tvmlite.compile(relay.Function([x], relay.make("tutorial.power_mean", x, p=p)), verify=True)
        array = random.standard_normal(shape, "float32")
        independent = {1.0: np.abs(array).mean(-1), 2.0: np.sqrt(np.square(array).mean(-1))}
        if p in independent:
            np.testing.assert_allclose(lib(array), independent[p], rtol=1e-5)
        print(f"power_mean of {shape!s:11} with p = {p}: right")
show()

# %%
# To use the operator in a model, ``@converter("Snake", domain="com.example")`` declares which node of an ONNX
# file becomes the operator. `The page on operators <../adding_an_operator.html>`_ explains this, and the
# arguments of all decorators.
#
# Exercises
# ---------
#
# 1. Write ``tutorial.hard_snake``, with a triangle wave instead of the sine. Is it faster?
# 2. Give ``power_mean`` an attribute ``axis``. Which values must the type relation reject?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Use ``abs(t - floor(t + 0.5))`` with ``t = alpha * x / pi`` for the wave. It is faster where ``sin`` is a
#    call of the C library for each lane, because ``floor`` and ``abs`` are instructions.
# 2. An axis that is not an integer, or that the tensor does not have. Negative axes count from the end.
#
# .. raw:: html
#
#     </details>
