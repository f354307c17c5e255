"""Transposed convolutions become a convolution of all phases at once; others are unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.techniques.blocked_conv.alter_op_layout import alter_op_layout
from tvmlite.techniques.blocked_conv.decompose_conv_transpose import decompose_conv_transpose

rng = np.random.default_rng(0)
wide = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")


def const(*shape: int) -> Constant:
    return constant((rng.standard_normal(shape) / shape[0] ** 0.5).astype("float32"))


def transposed(data: Expr, outputs: int, kernel: tuple[int, ...], inputs: int = 128, **attrs: Any) -> Call:
    weight = const(inputs, outputs, *kernel)
    return make(f"nn.conv{len(kernel)}d_transpose", data, weight, **attrs)


def names(module: Module) -> list[str]:
    return [str(node.op) for node in postorder(module.main.body) if isinstance(node, Call)]


def decomposed(data: Var, body: Expr, *sizes: int) -> Module:
    """The module after the pass; checks that the results at ``sizes`` are unchanged."""
    before = Module({"main": Function((data,), body)})
    after = decompose_conv_transpose(before)
    verify(after)
    given = rng.standard_normal(sizes).astype("float32")
    wanted = interpret(before, [given])
    np.testing.assert_allclose(interpret(after, [given]), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(compile(before)(given), wanted, rtol=1e-4, atol=1e-4)
    return after


@pytest.mark.parametrize(
    ("kernel", "attrs"),
    [
        ((4, 4), {"strides": (2, 2), "padding": (1, 1)}),
        ((3, 3), {"strides": (2, 2), "padding": (1, 1), "output_padding": (1, 1)}),
        ((2, 5), {"strides": (2, 3), "padding": (0, 1, 0, 2)}),
        ((2, 2), {"strides": (3, 3)}),  # positions that no product reaches
        ((5, 4), {"strides": (1, 2), "padding": (2, 0)}),
        ((7, 7), {"strides": (2, 2), "padding": (3, 2)}),  # whole positions before the first are skipped
    ],
)
def test_phases_are_channels_of_one_convolution(kernel: tuple[int, ...], attrs: dict[str, Any]) -> None:
    image = var("x", (1, 128, "h", "w"))
    after = decomposed(image, transposed(image, 16, kernel, **attrs), 1, 128, 5, 4)
    assert names(after) == ["nn.conv2d", "nn.contrib_interleave"]


def test_one_and_three_spatial_axes_are_decomposed() -> None:
    line, volume = var("x", ("n", 128, "l")), var("x", (1, 128, 3, 2, "w"))
    sound = transposed(line, 8, (16,), strides=(8,), padding=(4,))
    solid = transposed(volume, 4, (2, 2, 2), strides=(2, 2, 2))
    assert names(decomposed(line, sound, 2, 128, 9)) == ["nn.conv1d", "nn.contrib_interleave"]
    assert names(decomposed(volume, solid, 1, 128, 3, 2, 3))[0] == "nn.conv3d"


def test_a_stride_of_one_has_one_phase() -> None:
    image = var("x", (1, 128, "h", 6))
    after = decomposed(image, transposed(image, 16, (3, 3), padding=(1, 1)), 1, 128, 4, 6)
    assert names(after) == ["nn.conv2d"]


def test_whole_blocks_of_channels_are_interleaved_in_blocks() -> None:
    image = var("x", (1, 128, "h", "w"))
    up = make("nn.relu", transposed(image, 32, (4, 4), strides=(2, 2), padding=(1, 1)))
    body = make("nn.conv2d", up, const(32, 32, 3, 3), padding=(1, 1))
    after = alter_op_layout(wide)(decompose_conv_transpose(Module({"main": Function((image,), body)})))
    (interleaved,) = (
        node
        for node in postorder(after.main.body)
        if isinstance(node, Call) and node.op == "nn.contrib_interleave"
    )
    (convolution,) = interleaved.args
    assert isinstance(convolution, Call)
    assert convolution["out_layout"] == "NCHW16c"


@pytest.mark.parametrize(
    "attrs",
    [
        {"outputs": 1, "kernel": (2, 2), "strides": (2, 2)},  # few channels
        {"outputs": 16, "kernel": (2, 2), "strides": (2, 2), "inputs": 8},  # few products
        {"outputs": 16, "kernel": (3, 3), "dilation": (2, 2)},
        {"outputs": 16, "kernel": (4, 4), "groups": 2, "strides": (2, 2)},
        {"outputs": 16, "kernel": (3, 3), "strides": (2, 2), "padding": (0, 0, 3, 3)},  # data is cropped
    ],
)
def test_other_transposed_convolutions_are_the_same_object(attrs: dict[str, Any]) -> None:
    image = var("x", (1, attrs.get("inputs", 128), "h", "w"))
    module = Module({"main": Function((image,), transposed(image, **attrs))})
    assert decompose_conv_transpose(module) is module


def test_a_convolution_with_a_variable_weight_is_unchanged() -> None:
    image, weight = var("x", (1, 128, 5, 5)), var("w", (128, 16, 4, 4))
    body = make("nn.conv2d_transpose", image, weight, strides=(2, 2))
    module = Module({"main": Function((image, weight), body)})
    assert decompose_conv_transpose(module) is module
