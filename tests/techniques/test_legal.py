"""Loops of templates in legal form: linear indices, full vectors, no needless guards."""

from __future__ import annotations

from typing import Any

import pytest

import tvmlite.relay.ops  # noqa: F401  (fills the table)
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.ir import nodes as ir
from tvmlite.relay.ir import op
from tvmlite.relay.ir.types import tensor_type
from tvmlite.te.loop.passes.pipeline import legalize
from tvmlite.te.lowering.lower import lower
from tvmlite.te.templates import anchors
from tvmlite.te.templates import templates as schedules
from tvmlite.te.tensor.declare import compute, placeholder

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")


def legal(name: str, shapes: list[Any], **attrs: Any) -> str:
    row = op.get(name)
    types = [tensor_type(shape) for shape in shapes]
    call = op.make(name, *(ir.Var(f"x{k}", t) for k, t in enumerate(types)), **attrs)
    inputs = [placeholder(t.shape, t.dtype, f"x{k}") for k, t in enumerate(types)]
    output = row.compute(call, *inputs)
    schedule = schedules.apply(row.schedule, [output], TARGET)
    return str(legalize(lower(schedule, [*inputs, output]), TARGET))


@pytest.mark.parametrize("shape", [(3, 5, 7, 9), (4, 64, 56, 56), ("n", 5, "w")])
def test_a_loop_over_a_whole_array_has_one_linear_index(shape: Any) -> None:
    text = legal("nn.relu", [shape])

    assert "// w" not in text
    assert "// 9" not in text
    assert "%" not in text


def test_the_plane_of_a_global_pooling_is_read_in_contiguous_vectors() -> None:
    text = legal("nn.global_avg_pool2d", [(1, 64, 7, 7)])

    assert "% 7" not in text
    assert "broadcast(7, 16)" not in text


def test_full_tiles_of_a_convolution_have_no_masks() -> None:
    plain = {"data_layout": "NCHW", "kernel_layout": "OIHW16o"}
    for shape, layouts in (((1, 8, 58, 58), plain), ((1, 1, 58, 58, 16), {})):
        text = legal("nn.contrib_conv2d_NCHWc", [shape, (4, 8, 3, 3, 16)], **layouts)

        assert "where" not in text
        assert "if " not in text


def test_full_tiles_of_a_product_of_symbolic_height_have_no_masks() -> None:
    text = legal("nn.contrib_dense_pack", [("n", 64), (4, 64, 16)])

    full, _, _ = text.partition("min(")
    assert ".where(" not in full


def test_the_size_of_a_chain_that_reads_each_stage_twice_is_linear() -> None:
    first = placeholder((100,), "float32", "x")
    last = first
    for _ in range(40):
        last = compute((100,), lambda i, link=last: link[i] * (link[i] + 1.0), name="link", tag="elemwise")
    schedule = schedules.apply(anchors.ELEMENTWISE, [last], TARGET)

    function = legalize(lower(schedule, [first, last]), TARGET)

    assert sum(1 for _ in postorder(function.body)) < 500
