"""Convolutions along a column are convolutions along a row; the others stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.core.target import Target
from tvmlite.driver import compile
from tvmlite.relay.infer import tensor_type_of
from tvmlite.relay.interpret import interpret
from tvmlite.relay.ir import Call, Constant, Expr, Function, Module, constant, var
from tvmlite.relay.op import make
from tvmlite.relay.passes.alter_op_layout import alter_op_layout
from tvmlite.relay.passes.columns_to_rows import columns_to_rows
from tvmlite.relay.types import Dim
from tvmlite.relay.verify import verify

rng = np.random.default_rng(0)
wide = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")


def const(*shape: int) -> Constant:
    return constant(rng.standard_normal(shape).astype("float32"))


def laid_out(width: Dim, kernel: tuple[int, int], groups: int = 1, **attrs: Any) -> Module:
    """Two convolutions with channels in blocks between them."""
    x = var("x", ("n", 32, "h", width))
    first = make("nn.conv2d", x, const(32, 32, 1, 1))
    body: Expr = make("nn.conv2d", first, const(32, 32 // groups, *kernel), groups=groups, **attrs)
    return alter_op_layout(wide)(Module({"main": Function((x,), make("nn.max_pool2d", body, pool_size=1))}))


def heights(module: Module) -> list[Dim]:
    """The heights of the results of convolutions."""
    found = [node for node in postorder(module.main.body) if isinstance(node, Call)]
    return [tensor_type_of(one).shape[2] for one in found if str(one.op).startswith("nn.contrib_")]


@pytest.mark.parametrize("groups", [1, 32])
@pytest.mark.parametrize(
    "attrs",
    [{}, {"strides": (2, 1), "padding": (3, 0, 1, 0)}, {"dilation": (2, 1), "padding": (1, 0)}],
)
def test_a_column_is_a_row(groups: int, attrs: dict[str, Any]) -> None:
    before = laid_out(1, (3, 1), groups, **attrs)
    after = columns_to_rows(before)
    verify(after)

    assert heights(after) == [1, 1]
    data = rng.standard_normal((2, 32, 9, 1)).astype("float32")
    wanted = interpret(before, [data])
    np.testing.assert_allclose(interpret(after, [data]), wanted, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(compile(after)(data), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("width", "kernel", "padding"),
    [
        (4, (3, 1), (1, 0)),
        ("w", (3, 1), (1, 0)),
        (1, (3, 3), (1, 1)),  # a window that hangs over the column
    ],
)
def test_wider_images_and_windows_are_the_same_object(
    width: Dim, kernel: tuple[int, int], padding: tuple[int, int]
) -> None:
    x = var("x", (1, 32, "h", width))
    body = make("nn.conv2d", x, const(32, 32, *kernel), padding=padding)
    module = alter_op_layout(wide)(Module({"main": Function((x,), body)}))
    assert columns_to_rows(module) is module


def test_a_pixel_is_the_same_object() -> None:
    x = var("x", (1, 32, 1, 1))
    body = make("nn.conv2d", x, const(32, 32, 1, 1))
    module = alter_op_layout(wide)(Module({"main": Function((x,), body)}))
    assert columns_to_rows(module) is module
