"""Axes of extent 1 are removed after the element-wise epilogues of convolutions; other reshapes stay."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.simplify.sink_reshapes import sink_reshapes

rng = np.random.default_rng(0)
x = var("x", ("n", 4, "l"))
n, _, l = tensor_type_of(x).shape  # noqa: E741


def const(*shape: int) -> Constant:
    return constant(rng.standard_normal(shape).astype("float32"))


def reshape(value: Expr, *shape: Dim) -> Call:
    return make("reshape", value, newshape=shape, allowzero=True)


def conv(value: Expr, outputs: int = 4, wide: int = 3) -> Call:
    """Return a convolution along one axis as exporters write it: an axis is inserted and removed."""
    weight = const(outputs, 4, 1, wide)
    made = make("nn.conv2d", reshape(value, n, 4, 1, l), weight, padding=(0, wide // 2, 0, wide // 2))
    return reshape(made, n, outputs, l)


def sunk(body: Expr) -> Expr:
    """Return the body after the pass, and check that its results are unchanged."""
    before = Module({"main": Function((x,), body)})
    after = sink_reshapes(before)
    verify(after)
    data = rng.standard_normal((2, 4, 7)).astype("float32")
    wanted = interpret(before, [data])
    np.testing.assert_allclose(interpret(after, [data]), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(compile(after)(data), wanted, rtol=1e-4, atol=1e-4)
    return after.main.body


def names(body: Expr) -> list[str]:
    """Return the operators in order, except reshapes of constants."""
    return [
        str(node.op)
        for node in postorder(body)
        if isinstance(node, Call) and not isinstance(node.args[0], Constant)
    ]


def test_a_chain_of_1d_convolutions_is_reshaped_at_its_ends_only() -> None:
    value: Expr = x
    for _ in range(3):
        value = make("nn.relu", make("add", conv(value), const(4, 1)))

    assert names(sunk(value)) == ["reshape", *["nn.conv2d", "add", "nn.relu"] * 3, "reshape"]


def test_branches_are_added_before_the_reshape() -> None:
    first = make("nn.relu", make("multiply", const(1, 4, 1), conv(x)))
    second = make("clip", conv(first), a_min=-1.0, a_max=1.0)

    found = names(sunk(make("add", first, second)))
    assert found.count("reshape") == 2
    assert found[-2:] == ["add", "reshape"]


def test_constants_are_broadcast_along_the_same_axes_as_before() -> None:
    along = constant(rng.standard_normal((4, 7)).astype("float32"))
    fixed = reshape(conv(x), n, 4, l)
    body = sunk(make("add", make("multiply", fixed, constant(np.float32(2))), const(4, 1)))
    assert names(body)[-1] == "reshape"

    y = var("y", (2, 4, 1, 7))
    squeezed = reshape(make("nn.conv2d", y, const(4, 4, 1, 1)), 2, 4, 7)
    module = Module({"main": Function((y,), make("add", squeezed, along))})
    data = rng.standard_normal((2, 4, 1, 7)).astype("float32")
    after = sink_reshapes(module)
    assert names(after.main.body)[-2:] == ["add", "reshape"]
    np.testing.assert_allclose(interpret(after, [data]), interpret(module, [data]), rtol=1e-6)


def _rows_and_pixels() -> Expr:
    made = make("nn.conv2d", reshape(x, n, 4, 1, l), const(4, 4, 1, 1))
    return make("nn.relu", reshape(made, n * 4, l))  # more than an axis of extent 1 is removed


@pytest.mark.parametrize(
    "body",
    [
        make("nn.relu", reshape(x, n, 4, 1, l)),  # not after a convolution
        make("add", conv(x), x),  # not known to have had the axis
        make("tanh", make("transpose", conv(x))),
        make("nn.softmax", conv(x), axis=1),  # along a single axis
        _rows_and_pixels(),
    ],
)
def test_other_graphs_are_left_unchanged(body: Expr) -> None:
    module = Module({"main": Function((x,), Tuple((body,)))})
    assert sink_reshapes(module) is module


def test_a_constant_that_broadcasts_the_result_keeps_the_reshape_first() -> None:
    y = var("y", (1, 4, 1, 7))
    squeezed = reshape(make("nn.conv2d", y, const(4, 4, 1, 1)), 1, 4, 7)
    module = Module({"main": Function((y,), make("add", squeezed, const(2, 1, 1)))})
    assert sink_reshapes(module) is module
