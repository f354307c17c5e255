"""``relay.transform.Legalize`` without user-defined rules, and lookup tables in place of functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.qnn.op import canonicalizations
from tvmlite.tvm.relay.qnn.op.legalizations import hardswish_func
from tvmlite.tvm.relay.testing import run_infer_type, run_opt_pass

ONE, ZERO = relay.const(1.0), relay.const(0)


def legalized(expr: Any) -> Any:
    return run_opt_pass(expr, relay.transform.Legalize())


@pytest.mark.parametrize(
    ("dtype", "bounds", "goes"),
    [
        ("int8", (-128, 127), True),
        ("int8", (-127, 127), False),
        ("uint8", (0, 255), True),
        ("int16", (-128, 127), False),
    ],
)
def test_a_clip_to_the_limits_of_a_requantized_dtype_is_removed(
    dtype: str, bounds: tuple[int, int], goes: bool
) -> None:
    x = relay.var("x", shape=(4,), dtype="int32")
    given = relay.qnn.op.requantize(x, ONE, ZERO, ONE, ZERO, out_dtype=dtype)
    clipped = relay.clip(given, *bounds)

    tvm.ir.assert_structural_equal(legalized(clipped), run_infer_type(given if goes else clipped))


def test_another_clip_is_kept() -> None:
    clipped = relay.clip(relay.var("x", shape=(4,), dtype="int8"), -128, 127)

    tvm.ir.assert_structural_equal(legalized(clipped), run_infer_type(clipped))


def test_a_user_defined_rule_legalizes_a_quantized_operator() -> None:
    def wider(attrs: Any, args: list[Any], types: list[Any]) -> Any:
        return relay.cast(relay.qnn.op.requantize(*args, **{**attrs, "out_dtype": "int32"}), types[-1].dtype)

    x = relay.var("x", shape=(4,), dtype="int32")
    call = relay.qnn.op.requantize(x, ONE, ZERO, ONE, ZERO)
    relay.qnn.op.register_qnn_legalize("qnn.requantize", wider)
    try:
        made = run_opt_pass(call, relay.qnn.transform.Legalize())
    finally:
        relay.op.get("qnn.requantize").reset_attr("FTVMQnnLegalize")

    wanted = relay.cast(relay.qnn.op.requantize(x, ONE, ZERO, ONE, ZERO, out_dtype="int32"), "int8")
    tvm.ir.assert_structural_equal(made, run_infer_type(wanted))


def test_hardswish_func_matches_values_by_hand() -> None:
    assert hardswish_func(np.array([-4.0, -3, 0, 1, 3, 4])).tolist() == [0, 0, 0, 4 / 6, 3, 4]


@pytest.mark.parametrize(("taken", "given"), [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8")])
def test_a_function_becomes_an_integer_lookup_table(taken: str, given: str) -> None:
    integers = np.arange(256, dtype="uint8").view(taken).reshape(2, 128)
    zero, out = (0 if dtype == "int8" else 128 for dtype in (taken, given))
    parameters = (relay.const(1 / 64), relay.const(zero), relay.const(1 / 100), relay.const(out))
    x = relay.var("x", shape=(2, 128), dtype=taken)

    made = canonicalizations.create_integer_lookup_op(
        x, np.tanh, *parameters, in_dtype=taken, out_dtype=given
    )

    found = relay.create_executor("debug", mod=tvm.IRModule.from_expr(made)).evaluate()(integers).numpy()
    expected = np.rint(np.tanh((integers.astype(float) - zero) / 64) * 100) + out
    np.testing.assert_array_equal(found, expected.astype(given))


@pytest.mark.parametrize(
    ("scale", "dtype", "text"),
    [
        (relay.const([1.0, 2.0]), "int8", "a scale or zero point is no constant of one number"),
        (relay.var("scale", shape=()), "int8", "a scale or zero point is no constant of one number"),
        (ONE, "int32", "dtype int32, expected an int's of 16 bits at most"),
        (ONE, "float32", "dtype float32, expected an int's of 16 bits at most"),
    ],
)
def test_an_unsupported_lookup_table_is_an_error(scale: Any, dtype: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        canonicalizations.create_integer_lookup_op(
            relay.var("x", shape=(2,), dtype="int8"), np.exp, scale, ZERO, ONE, ZERO, in_dtype=dtype
        )
