"""Padded data in channel blocks is copied in vectors of adjacent pixels, with a remainder."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tvmlite import relay
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.entry import lower, tasks
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.ir.op import make

MANY_REGISTERS = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")


def convolution(rows: Any, columns: Any, padding: tuple[int, ...], images: int = 1) -> Module:
    """A 3x3 convolution of bytes from 32 to 16 channels."""
    kernel = np.random.default_rng(0).integers(-128, 128, (1, 2 * 4, 3, 3, 16, 4)).astype("int8")
    data = relay.var("x", shape=(images, 2, rows, columns, 16), dtype="uint8")
    layouts = {"data_layout": "NCHW16c", "out_layout": "NCHW16c", "kernel_layout": "OIHW16o4i"}
    sizes = {"channels": 16, "kernel_size": (3, 3), "padding": padding}
    weight = relay.const(kernel)
    made = make("nn.contrib_conv2d_NCHWc", data, weight, out_dtype="int32", **layouts, **sizes)
    return Module.from_expr(relay.Function((data,), made))


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64-v3"])
@pytest.mark.parametrize(
    ("rows", "columns", "padding", "images"),
    [
        (4, 5, (1, 1, 1, 1), 1),
        (3, 40, (1, 2, 0, 0), 2),
        (3, 37, (0, 9, 0, 6), 1),
        (5, 45, (1, -2, 1, -3), 1),
        (3, 61, (0, 0, 0, 3), 9),
        (20, 9, (-5, 30, 2, 30), 1),
    ],
)
def test_sums_agree_with_the_interpreter(
    rows: int, columns: int, padding: tuple[int, ...], images: int, target: str
) -> None:
    module = convolution(rows, columns, padding, images)
    given = np.random.default_rng(1).integers(0, 256, (images, 2, rows, columns, 16)).astype("uint8")

    np.testing.assert_array_equal(compile(module, target=target)(given), interpret(module, [given]))


def test_sums_of_a_symbolic_width_agree_with_the_interpreter() -> None:
    module, given = convolution(5, "w", (1, 1, 1, 1)), np.arange(5 * 32 * 23).astype("uint8")
    given = given.reshape(1, 2, 5, 23, 16)

    np.testing.assert_array_equal(compile(module)(given), interpret(module, [given]))


def test_interior_vectors_are_unmasked() -> None:
    text = """fn (%x: Tensor[(1, 4, 56, 56, 16), uint8], %w: Tensor[(4, 16, 3, 3, 16, 4), int8]) {
      nn.contrib_conv2d_NCHWc(%x, %w, channels=64, kernel_size=[3, 3], padding=[1, 1],
        data_layout="NCHW16c", out_layout="NCHW16c", kernel_layout="OIHW16o4i", out_dtype="int32")
    }"""
    shown = lower.lower_group(tasks.group_of(text), MANY_REGISTERS, "kernel").as_text()

    rows = shown[shown.index("for i3.outer in range(1, 14):") :].splitlines()[1:3]
    assert rows[0].strip() == "for i3.inner.i4.fused in vectorize(0, 64):"
    assert "if_then_else(0 < i0.i2.fused and i0.i2.fused < 57, x[" in rows[1]


def test_a_channels_first_conv3d_of_symbolic_width_needs_no_fallback() -> None:
    weight = np.random.default_rng(0).standard_normal((16, 3, 3, 3, 3)).astype("float32")
    x = relay.var("x", shape=(1, 3, 4, 5, "w"))
    module = Module.from_expr(
        relay.Function((x,), relay.nn.conv3d(x, relay.const(weight), padding=(1, 1, 1)))
    )
    given = np.random.default_rng(1).standard_normal((1, 3, 4, 5, 23)).astype("float32")

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a schedule that does not fit would warn
        made = compile(module)(given)
    np.testing.assert_allclose(made, interpret(module, [given]), rtol=1e-4, atol=1e-4)
