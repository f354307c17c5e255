"""``relay.transform.ToMixedPrecision``: which operators become narrow, and user-defined rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError, InputError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.testing import TempOpAttr
from tvmlite.tvm.relay.transform import ToMixedPrecision

X, W = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))


def half(expr: Any) -> Any:
    return relay.cast(expr, "float16")


def product(x: Any, w: Any, dtype: str) -> Any:
    return relay.nn.dense(x, w, out_dtype=dtype)


def of(expr: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(expr))


def let(value: Any, body: Callable[[Any], Any], dtype: str) -> Any:
    var = relay.var("v", shape=(2, 4), dtype=dtype)
    return relay.Let(var, value, body(var))


PRODUCT, NARROW = product(X, W, ""), product(half(X), half(W), "float16")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PRODUCT, NARROW),  # always
        (relay.nn.relu(PRODUCT), relay.nn.relu(NARROW)),  # follows
        (relay.nn.softmax(PRODUCT), relay.nn.softmax(relay.cast(NARROW, "float32"))),  # never
        (PRODUCT + relay.exp(PRODUCT), None),  # one of two operands is wide
        (relay.concatenate([PRODUCT, PRODUCT], 0), relay.concatenate([NARROW, NARROW], 0)),
        (relay.take(X, relay.const([1]), 0), relay.take(half(X), relay.const([1]), 0)),
        (relay.clip(X, -1, 1), relay.clip(half(X), -1, 1)),
        (kept := relay.clip(X, -1e5, 1e5), kept),  # beyond the largest float16
        (kept := relay.nn.softmax(X), kept),
        (let(PRODUCT, relay.tanh, "float32"), let(NARROW, relay.tanh, "float16")),
    ],
)
def test_operators_are_converted_to_float16_by_category(before: Any, after: Any) -> None:
    made = ToMixedPrecision("float16")(of(before))

    if after is None:
        wide = relay.cast(NARROW, "float32")
        after = wide + relay.exp(wide)
    tvm.ir.assert_structural_equal(made, of(after))


def test_mixed_precision_results_are_close() -> None:
    module = of(relay.nn.softmax(relay.nn.bias_add(PRODUCT, relay.const(np.ones(4, np.float32)))))
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(2, 8)), "w": rng.normal(size=(4, 8))}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}

    wide, narrow = (
        relay.create_executor("graph", one).evaluate()(**arrays).numpy()
        for one in (module, ToMixedPrecision("float16")(module))
    )

    assert wide.dtype == narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, wide, rtol=2e-2)


def test_a_user_defined_rule_may_accumulate_in_a_wider_dtype() -> None:
    with TempOpAttr(
        "nn.dense", "FTVMMixedPrecisionConversionType", lambda call, dtype: [0, "float32", dtype]
    ):
        made = ToMixedPrecision("float16")(of(PRODUCT))

    tvm.ir.assert_structural_equal(made, of(half(product(half(X), half(W), "float32"))))


def test_the_dtype_of_the_result_can_be_kept() -> None:
    with tvm.transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        made = ToMixedPrecision("bfloat16")(of(relay.Tuple([PRODUCT, X])))

    assert [one.dtype for one in made["main"].ret_type.fields] == ["float32", "float32"]


def test_mistakes_in_to_mixed_precision_are_reported() -> None:
    with pytest.raises(ConfigError, match="mixed_precision_type is 'int8', expected one of float16, "):
        ToMixedPrecision("int8")
    with pytest.raises(ConfigError, match="missing_op_mode is 3, expected 0, 1 or 2"):
        ToMixedPrecision("float16", 3)
    with pytest.raises(UnsupportedError, match=r"there is no rule for sinh \(1 times\)"):
        ToMixedPrecision("float16", 0)(of(relay.sinh(X)))
    with pytest.warns(UserWarning, match=r"there is no rule for sinh \(1 times\)"):
        ToMixedPrecision("float16")(of(relay.sinh(X)))
    bad = TempOpAttr("nn.dense", "FTVMMixedPrecisionConversionType", lambda call, dtype: [0])
    with (
        bad,
        pytest.raises(
            ConfigError, match=r"the rule of nn\.dense gives a list, expected a category and two dtypes"
        ),
    ):
        ToMixedPrecision("float16")(of(PRODUCT))


def test_unknown_arguments_of_a_function_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="evaluate: z given, which the function does not have"):
        found = relay.create_executor("debug", of(relay.exp(X))).evaluate()(
            x=np.zeros((2, 8), np.float32), z=1
        )
    assert found.numpy().max() == 1


def test_a_declared_return_type_becomes_narrow() -> None:
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(5, 8))
    function = relay.Function([x, w], relay.nn.dense(x, w), relay.TensorType((4, 5), "float32"))

    made = relay.transform.ToMixedPrecision("float16")(tvm.IRModule.from_expr(function))

    assert relay.transform.InferType()(made)["main"].ret_type == relay.TensorType((4, 5), "float16")
    given = [np.random.default_rng(seed).normal(size=shape).astype("float32")
             for seed, shape in enumerate([(4, 8), (5, 8)])]  # fmt: skip
    found = relay.create_executor("debug", mod=made).evaluate()(*given).numpy()
    np.testing.assert_allclose(found, given[0] @ given[1].T, rtol=1e-2, atol=2e-2)


def test_chosen_operators_are_recast() -> None:
    x, y = (relay.var(name, shape=(1, 4)) for name in "xy")
    w = relay.var("w", shape=(3, 8))

    def layers() -> Any:
        parts = [relay.cast(one, "int8") for one in (x, y)]
        joined = relay.cast(relay.concatenate(parts, axis=1), "float32")
        weight = relay.cast(w, "int8")
        return relay.cast(relay.nn.dense(relay.cast(joined, "int8"), weight, out_dtype="int32"), "float32")

    plain = relay.nn.dense(relay.concatenate([x, y], axis=1), w, out_dtype="float32")
    mod = tvm.IRModule.from_expr(relay.Function([x, y, w], plain))

    made = relay.transform.recast(mod, "int8", "int32", ["concatenate", "nn.dense"])
    first = relay.transform.recast(
        mod["main"], "int8", "int32", ["concatenate", "nn.dense"], skip_layers=[-1]
    )

    both = relay.Function([x, y, w], layers())
    tvm.ir.assert_structural_equal(made["main"], both)
    assert [str(arg.op) for arg in first.body.args if isinstance(arg, relay.Call)] == ["cast"]
    with pytest.raises(InputError, match=r"recast: skip_layers has 2, there are 1 calls of nn\.dense"):
        relay.transform.recast(mod, "int8", "int32", ["nn.dense"], skip_layers=[2])
