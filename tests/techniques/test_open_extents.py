"""Templates choose tiles of constant size for extents that are sums, products and minima."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.entry import lower
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim, evaluate_shape
from tvmlite.te import expr as te
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret as interpret_loops

TARGETS = [Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") for cpu in ("znver4", "haswell")]

a, b = dim("a"), dim("b")
few = te.Min(a, te.const(5, "int64"))
data = np.random.default_rng(0)


def random(*shape: int) -> Expr:
    return constant(data.standard_normal(shape).astype("float32"))


def dense(*rows) -> Function:
    x, sizes = var("x", (*rows, 4)), var("sizes", (a, b))
    packed = make("nn.contrib_dense_pack", x, random(2, 4, 16), units=20)
    return Function((x, sizes), make("nn.relu", packed))


def attention() -> Function:
    q, k, sizes = var("q", (1, 2, few, 8)), var("k", (1, 2, a * (b + 1), 8)), var("sizes", (a, b))
    return Function((q, k, sizes), make("nn.attention", q, k, k, random(), scale=0.5))


def depthwise() -> Function:
    x, sizes = var("x", (1, 1, 6, few + 2, 16)), var("sizes", (a, b))
    weight = random(1, 1, 3, 3, 1, 16)
    return Function(
        (x, sizes), make("nn.contrib_depthwise_conv2d_NCHWc", x, weight, groups=16, padding=(1, 1))
    )


def pool_of_an_open_window() -> Function:
    x, sizes = var("x", (1, 2, b + 4, 6)), var("sizes", (a, b))
    return Function(
        (x, sizes), make("nn.max_pool2d", x, pool_size=(2, te.Min(b, te.const(3, "int64"))), padding=(1, 1))
    )


GRAPHS = {
    "a product with a sum": dense(a * (b + 1)),
    "three factors": dense(a, b + 1, b + 2),
    "at most five": dense(few),
    "a sum": dense(a + b),
    "attention of few queries": attention(),
    "a depthwise convolution of few columns": depthwise(),
    "a pooling of an open window": pool_of_an_open_window(),
}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=["many registers", "few registers"])
@pytest.mark.parametrize("name", GRAPHS)
def test_tiles_have_constant_size_and_results_are_correct(name: str, target: Target) -> None:
    group = GRAPHS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function = lower.lower_group(group, target, "kernel")

    unrolled = [
        n for n in postorder(function.body) if isinstance(n, ir.For) and n.kind in (ir.UNROLL, ir.VECTORIZE)
    ]
    assert all(isinstance(loop.extent, te.Const) for loop in unrolled)
    _compare(group, function, {a: 6 if few in _extents(group) else 2, b: 1})


def _extents(group: Function) -> set[te.Expr]:
    return {n for p in group.params for d in p.type.shape for n in postorder(te.convert(d))}  # type: ignore


def _compare(group: Function, function: ir.Function, sizes: dict) -> None:
    shapes = [evaluate_shape(p.type.shape, sizes) for p in group.params]  # type: ignore[union-attr]
    args = [data.standard_normal(shape).astype("float32") for shape in shapes]
    wanted = interpret(Module({"main": group}), args)
    made = np.full(wanted.shape, np.nan, "float32")
    interpret_loops(function, [*args, made, *(sizes[s] for s in lower.dimensions(group))])
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-4)


def test_a_template_that_does_not_fit_falls_back_to_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args, **kwargs):
        raise ScheduleError("unroll: axis row of stage dense has n iterations")

    group = GRAPHS["a sum"]
    monkeypatch.setattr(lower.schedules, "schedule_and_template", refuse)
    with pytest.warns(
        UserWarning, match=r"kernel k: the default schedule does not fit .*axis row of stage dense"
    ):
        function = lower.lower_group(group, TARGETS[0], "k")
    _compare(group, function, {a: 3, b: 2})
    with pytest.raises(ScheduleError):
        lower.lower_group(group, TARGETS[0], "k", object())  # type: ignore[arg-type]
