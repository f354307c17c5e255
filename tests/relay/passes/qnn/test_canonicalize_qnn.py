"""TVM's quantized operators are rewritten as plain integer operators; tests/relay/ops/test_qnn.py tests
their results."""

from __future__ import annotations

import numpy as np

from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.passes.qnn.canonicalize_qnn import canonicalize_qnn

BEFORE = """def @main(%x: Tensor[(2, 3), int32]) {
  qnn.requantize(%x, 0.5f, 4, 1.5f, 3, out_dtype="uint8")
}"""

AFTER = """def @main(%x: Tensor[(2, 3), int32]) {
  %0 = subtract(%x, 4);
  %1 = cast(%0, dtype="int64");
  %2 = multiply(%1, 1431655765i64);
  %3 = add(%2, 2147483648i64);
  %4 = right_shift(%3, 32i64);
  %5 = cast(%4, dtype="int32");
  %6 = add(%5, 3);
  %7 = clip(%6, a_min=0, a_max=255);
  cast(%7, dtype="uint8")
}"""


def test_requantize_becomes_a_product_and_a_shift() -> None:
    assert alike(canonicalize_qnn(relay.parse(BEFORE)).main, relay.parse(AFTER).main)


def test_a_module_without_quantized_operators_is_left_unchanged() -> None:
    module = relay.parse(AFTER)

    assert canonicalize_qnn(module) is module


def test_the_pass_is_available_under_tvms_name() -> None:
    module = relay.parse(BEFORE)

    assert alike(relay.transform.CanonicalizeQnnOps()(module).main, canonicalize_qnn(module).main)


def test_new_nodes_have_the_span_of_the_replaced_node() -> None:
    module = relay.parse(BEFORE)
    after = canonicalize_qnn(module).main.body

    assert {one.span for one in postorder(after) if isinstance(one, relay.Call)} == {module.main.body.span}


def test_equal_scales_need_no_multiplication() -> None:
    module = relay.parse(BEFORE.replace("1.5f", "0.5f"))

    assert "multiply" not in str(canonicalize_qnn(module))


def test_all_quantized_operators_are_replaced_and_results_are_kept() -> None:
    source = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 3, 8, 8), dtype="uint8")
    kernel = relay.const(source.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8))
    numbers = relay.const(np.float32(0.1)), relay.const(np.int32(3))
    made = relay.qnn.conv2d(
        x, kernel, numbers[1], relay.const(np.int32(0)), numbers[0], numbers[0], (3, 3), 4, padding=(1, 1)
    )
    made = relay.qnn.requantize(made, relay.const(np.float32(0.01)), relay.const(np.int32(0)), *numbers)
    made = relay.qnn.tanh(relay.qnn.add(made, made, *numbers * 3), *numbers * 2)
    module = relay.Module.from_expr(relay.Function([x], made))
    data = source.integers(0, 256, (1, 3, 8, 8)).astype(np.uint8)

    after = canonicalize_qnn(module)

    assert "qnn." not in str(after)
    np.testing.assert_array_equal(interpret(after, [data]), interpret(module, [data]))


def test_requantize_with_computed_scales_is_left_unchanged() -> None:
    text = BEFORE.replace("(2, 3), int32]", "(2, 3), int32], %s: Tensor[(), float32]").replace("0.5f", "%s")
    module = relay.parse(text)

    assert canonicalize_qnn(module) is module


def test_a_convolution_of_another_layout_is_replaced() -> None:
    data = relay.var("x", shape=(1, 5, 5, 3), dtype="uint8")
    weight = relay.const(np.arange(24, dtype=np.int8).reshape(2, 2, 3, 2))
    zeros = relay.const(3), relay.const(0), relay.const(0.5), relay.const(0.25)
    call = relay.qnn.conv2d(data, weight, *zeros, data_layout="NHWC", kernel_layout="HWIO")
    module = relay.Module.from_expr(call)
    value = np.random.default_rng(0).integers(0, 255, (1, 5, 5, 3)).astype(np.uint8)

    after = canonicalize_qnn(module)

    assert "qnn" not in str(after)
    np.testing.assert_array_equal(interpret(after, [value]), interpret(module, [value]))
