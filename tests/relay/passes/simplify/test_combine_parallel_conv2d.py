"""Convolutions of the same data become one, if slicing its result needs no copy."""

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.simplify.combine_parallel_conv2d import combine_parallel_conv2d

rng = np.random.default_rng(0)
image = var("image", (1, 3, 8, 7))


def conv(channels: int, size: int = 3, bias: bool = False, **attrs) -> Expr:
    weight = constant(rng.standard_normal((channels, 3, size, size)).astype("float32"))
    made = make("nn.conv2d", image, weight, **{"padding": (1, 1, 1, 1), **attrs})
    shift = constant(rng.standard_normal((channels, 1, 1)).astype("float32"))
    return make("add", made, shift) if bias else made


def names(module: Module) -> list:
    return [node.op for node in postorder(module.main.body) if isinstance(node, Call)]


@pytest.mark.parametrize("bias", [True, False])
def test_convolutions_of_one_image_become_one_and_slices(bias: bool) -> None:
    body = make("multiply", make("sigmoid", conv(5, bias=bias)), make("nn.relu", conv(5, bias=bias)))
    before = Module({"main": Function((image,), body)})
    after = combine_parallel_conv2d(before)
    verify(after)
    data = rng.standard_normal((1, 3, 8, 7)).astype("float32")
    wanted = interpret(before, [data])

    assert names(after).count("nn.conv2d") == 1
    assert names(after).count("strided_slice") == 2
    np.testing.assert_allclose(interpret(after, [data]), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(compile(after)(data), wanted, rtol=1e-4, atol=1e-4)


def test_different_convolutions_and_those_read_by_an_anchor_are_unchanged() -> None:
    pointwise = constant(rng.standard_normal((5, 5, 1, 1)).astype("float32"))
    cases = [
        make("add", make("nn.relu", conv(5)), make("nn.relu", conv(5, size=1, padding=(0, 0, 0, 0)))),
        make(
            "add", make("nn.relu", conv(5)), make("nn.relu", conv(5, dilation=(2, 2), padding=(2, 2, 2, 2)))
        ),
        make("add", make("nn.conv2d", conv(5), pointwise), make("nn.relu", conv(5))),
        make("nn.relu", conv(5)),
    ]
    for body in cases:
        module = Module({"main": Function((image,), body)})
        assert combine_parallel_conv2d(module) is module
