"""Where the quantizer puts marks, and what stays in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from quantizable_networks import conv, images, module_of, relu, residual, weights

from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Loop, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.quantize.annotate import MARK, quantize_annotate


def marks(module: Module) -> list[tuple[str, str, str]]:
    """Return layer, tensor and dtype of each mark, in order."""
    calls = [one for one in postorder(module.main.body) if isinstance(one, Call) and one.op == MARK]
    return [(one["layer"], one["tensor"], one["dtype"]) for one in calls]


def mark(data: Expr, layer: str, tensor: str, dtype: str = "uint8", channel_axis: int | None = None) -> Call:
    return make(MARK, data, layer=layer, tensor=tensor, dtype=dtype, channel_axis=channel_axis)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("nn.max_pool2d", {"pool_size": (2, 2)}),
        ("transpose", {"axes": (0, 1, 3, 2)}),
        ("nn.depth_to_space", {"block_size": 2}),
        ("reverse", {"axis": 3}),
        ("max", {"axis": (3,), "keepdims": True}),
    ],
)
def test_operators_that_select_elements_share_the_range_of_their_data(op: str, attrs: dict[str, Any]) -> None:
    x = var("x", (1, 3, 16, 16))
    first = conv(x, weights(8, 3, 3, 3), padding=(1, 1, 1, 1))
    moved = make(op, first, **attrs)
    module = module_of(conv(moved, weights(4, tensor_type_of(moved).shape[1], 1, 1)), x)  # type: ignore[arg-type]

    calls = [one for one in postorder(quantize_annotate(module).main.body) if isinstance(one, Call)]
    tensors = {one["layer"]: one["tensor"] for one in calls if one.op == MARK and one["dtype"] == "uint8"}
    assert list(tensors.values()) == ["x", "conv2d_1", "conv2d_1"]
    assert f"{op.removeprefix('nn.')}_2" in tensors


def test_a_product_reads_marked_operands_and_its_result_has_no_mark() -> None:
    x, w, b = var("x", (1, 3, 8, 8)), weights(4, 3, 3, 3), weights(4, 1, 1)
    before = module_of(relu(make("add", conv(x, w), b)), x)
    data = mark(x, "conv2d_1", "x")
    weight = mark(w, "conv2d_1", "conv2d_1.weight", "int8", 0)

    after = quantize_annotate(before)

    assert alike(after, module_of(relu(make("add", conv(data, weight), b)), x))


def test_values_stored_between_products_are_marked() -> None:
    assert marks(quantize_annotate(residual())) == [
        ("conv2d_1", "x", "uint8"),
        ("conv2d_1", "conv2d_1.weight", "int8"),
        ("max_pool2d_4", "relu_3", "uint8"),
        ("conv2d_5", "relu_3", "uint8"),  # the maximum of some elements is in their range
        ("conv2d_5", "conv2d_5.weight", "int8"),
        ("add_6", "relu_3", "uint8"),  # not the product, whose kernel computes the sum
        ("conv2d_8", "relu_7", "uint8"),
        ("conv2d_8", "conv2d_8.weight", "int8"),
    ]


def test_an_activation_that_reads_a_product_twice_stays_in_its_kernel() -> None:
    x = var("x", (1, 3, 8, 8))
    y = conv(x, weights(4, 3, 1, 1))
    silu = make("multiply", y, make("sigmoid", y))

    found = marks(quantize_annotate(module_of(conv(silu, weights(2, 4, 1, 1)), x)))

    assert [layer for layer, _, dtype in found if dtype == "uint8"] == ["conv2d_1", "conv2d_4"]


def test_the_second_of_two_added_products_is_marked() -> None:
    x = var("x", (1, 4, 8, 8))
    first, second = conv(x, weights(4, 4, 1, 1)), conv(x, weights(4, 4, 3, 3), padding=(1, 1, 1, 1))
    after = quantize_annotate(module_of(conv(make("add", first, second), weights(2, 4, 1, 1)), x))

    assert ("add_3", "conv2d_1", "uint8") not in marks(after)
    assert ("add_3", "conv2d_2", "uint8") in marks(after)


def test_each_operand_of_a_concatenation_is_marked() -> None:
    x = var("x", (1, 4, 8, 8))
    parts = Tuple((relu(conv(x, weights(4, 4, 1, 1))), relu(conv(x, weights(2, 4, 1, 1)))))
    joined = make("concatenate", parts, axis=1)
    after = quantize_annotate(module_of(conv(joined, weights(2, 6, 1, 1)), x))

    assert [tensor for layer, tensor, _ in marks(after) if layer == "concatenate_5"] == ["relu_2", "relu_4"]
    verify(after)


def test_marks_are_put_before_views() -> None:
    x = var("x", (2, 3, 4))
    after = quantize_annotate(
        module_of(make("nn.dense", make("reshape", x, newshape=(6, 4)), weights(5, 4)), x)
    )

    data = after.main.body.args[0]  # type: ignore[attr-defined]
    assert data.op == "reshape"
    assert data.args[0].op == MARK


def test_second_operand_of_a_weightless_product_is_int8() -> None:
    a, b = var("a", (2, 3, 4)), var("b", (2, 5, 4))
    after = quantize_annotate(module_of(make("nn.batch_matmul", a, b), a, b))

    assert marks(after) == [("batch_matmul_1", "a", "uint8"), ("batch_matmul_1", "b", "int8")]


def test_layers_kept_in_float_have_no_marks() -> None:
    module = residual()

    assert quantize_annotate(module, operators=()) is module
    assert all(layer != "conv2d_5" for layer, _, _ in marks(quantize_annotate(module, ["conv2d_5"])))


def test_a_module_without_products_is_left_unchanged() -> None:
    x = var("x", (2, 3))
    module = module_of(make("nn.softmax", x), x)

    assert quantize_annotate(module) is module


def test_loops_have_no_marks() -> None:
    x, index, state = var("x", (2, 4)), var("i", (), "int64"), var("s", (2, 4))
    body = Tuple((constant(True, "bool"), make("nn.dense", state, weights(4, 4))))
    loop = Loop(index, (state,), 3, None, (x,), body)
    module = module_of(loop, x)

    assert quantize_annotate(module) is module


def test_marks_do_not_change_results() -> None:
    module, (inputs, *_) = residual(), images(1)

    np.testing.assert_array_equal(
        interpret(quantize_annotate(module), inputs),  # type: ignore[arg-type]
        interpret(module, inputs),  # type: ignore[arg-type]
    )
