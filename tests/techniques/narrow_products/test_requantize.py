"""Requantization: scales are folded, and codes stay codes."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.machine.target import Target
from tvmlite.relay.entry.kernels import fused_groups, operator_names
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes import pipeline
from tvmlite.techniques.narrow_products.requantize import requantize

QUADS = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
rng = np.random.default_rng(0)
q, p = (var(name, (1, 8, 6, 6), "uint8") for name in "qp")
sums = var("sums", (1, 8, 6, 6), "int32")


def dequantized(codes: Expr, scale: float = 0.05, zero: int = 12) -> Expr:
    return make("qnn.dequantize", codes, constant(scale, "float32"), constant(zero, "int32"))


def quantized(data: Expr, scale: float = 0.05, zero: int = 12, dtype: str = "uint8") -> Expr:
    return make("qnn.quantize", data, constant(scale, "float32"), constant(zero, "int32"), out_dtype=dtype)


def scaled(factor: float = 0.003) -> Expr:
    return make("multiply", make("cast", sums, dtype="float32"), constant(factor, "float32"))


def after(body: Expr) -> Expr:
    return requantize(QUADS)(Module({"main": Function((q, p, sums), body)})).main.body


def operators(body: Expr) -> str:
    """The operators from ``body`` along first arguments."""
    names = []
    while isinstance(body, Call):
        names.append(str(body.op))
        body = body.args[0].fields[0] if isinstance(body.args[0], Tuple) else body.args[0]
    return " ".join(names)


def assert_a_step_apart(before: Expr, made: Expr) -> None:
    """Check that random codes give equal results except for one step in few elements (ties)."""
    given = [
        rng.integers(0, 256, (1, 8, 6, 6)).astype("uint8"),
        rng.integers(0, 256, (1, 8, 6, 6)).astype("uint8"),
        rng.integers(-5000, 5000, (1, 8, 6, 6)).astype("int32"),
    ]
    one, other = (
        interpret(Module({"main": Function((q, p, sums), x)}), given).astype(int) for x in (before, made)
    )
    assert np.abs(one - other).max() <= 1
    assert (one != other).mean() < 0.02


def test_sums_are_scaled_only_once() -> None:
    before = quantized(scaled(0.003), 0.05)
    made = after(before)

    assert isinstance(made, Call)
    assert operators(made) == "qnn.quantize multiply cast"
    assert made.args[1].data == 1  # type: ignore[attr-defined]
    factor = made.args[0].args[1].data  # type: ignore[attr-defined]
    assert factor == np.float32(0.003) / np.float32(0.05)
    assert_a_step_apart(before, made)


@pytest.mark.parametrize(
    "inner",
    [
        make("add", dequantized(q), dequantized(p, 0.04, 128)),
        make("nn.relu", make("subtract", dequantized(q), scaled())),
        make("clip", scaled(), a_min=0.0, a_max=6.0),
        make("nn.avg_pool2d", dequantized(q), pool_size=(2, 2), strides=(1, 1)),
        make("mean", make("maximum", dequantized(q), constant(0.5, "float32")), axis=(2, 3), keepdims=True),
    ],
    ids=["add", "relu", "clip", "avg_pool", "mean"],
)
def test_formulas_that_scale_with_their_arguments_need_no_division(inner: Expr) -> None:
    before = quantized(inner, 0.07, 30)
    made = after(before)

    assert isinstance(made, Call)
    assert made.args[1].data == 1  # type: ignore[attr-defined]
    assert_a_step_apart(before, made)


@pytest.mark.parametrize(
    "inner", [make("sigmoid", dequantized(q)), make("multiply", dequantized(q), dequantized(p))]
)
def test_other_formulas_are_unchanged(inner: Expr) -> None:
    before = quantized(inner)

    assert after(before) is before


def test_values_with_other_readers_are_not_rescaled() -> None:
    total = make("add", dequantized(q), dequantized(p))
    before = Tuple((quantized(total, 0.3), total))

    assert after(before) is before


def test_codes_dequantized_and_requantized_stay_the_same_codes() -> None:
    assert after(quantized(dequantized(q))) is q
    assert after(quantized(dequantized(q), zero=13)) is not q
    assert after(quantized(dequantized(q), dtype="int8")) is not q
    viewed = after(quantized(make("reshape", dequantized(q), newshape=(8, 36))))
    assert operators(viewed) == "reshape"
    assert tensor_type_of(viewed).shape == (8, 36)


@pytest.mark.parametrize(
    "select",
    [
        lambda x: make("nn.max_pool2d", x, pool_size=(3, 3), padding=(1, 1, 1, 1)),
        lambda x: make("transpose", x, axes=(0, 2, 3, 1)),
        lambda x: make("max", x, axis=(2, 3), keepdims=True),
        lambda x: make("strided_slice", x, begin=(1,), end=(7,), strides=(2,), axes=(1,)),
    ],
    ids=["max_pool", "transpose", "max", "slice"],
)
def test_selecting_elements_is_done_on_codes(select) -> None:
    before = quantized(select(dequantized(q)))
    made = after(before)

    assert made.args[0] is q  # type: ignore[attr-defined]
    given = [rng.integers(0, 256, (1, 8, 6, 6)).astype(t) for t in ("uint8", "uint8", "int32")]
    one, other = (interpret(Module({"main": Function((q, p, sums), x)}), given) for x in (before, made))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scale", [0.0, -0.05, np.inf, np.nan])
def test_unusual_scales_are_computed_as_written(scale: float) -> None:
    before = quantized(make("max", dequantized(q, scale), axis=(2, 3), keepdims=True), scale)

    assert after(before) is before


@pytest.mark.parametrize(
    "inner",
    [
        make("nn.pad", dequantized(q), pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=3.0),
        make("trilu", dequantized(q)),
        make("sequence_mask", dequantized(q), constant([3] * 8, "int32"), mask_value=1.0, axis=0),
    ],
    ids=["pad", "trilu", "sequence_mask"],
)
def test_operators_that_fill_in_elements_are_not_moved_to_codes(inner: Expr) -> None:
    before = quantized(inner)
    made = after(before)

    assert operators(made).startswith(operators(before))
    assert_a_step_apart(before, made)


def test_concatenated_tensors_are_quantized_before() -> None:
    before = quantized(make("concatenate", Tuple((dequantized(q), scaled())), axis=1))
    made = after(before)

    assert isinstance(made, Call)
    assert made.op == "concatenate"
    assert made.args[0].fields[0] is q  # type: ignore[attr-defined]
    assert_a_step_apart(before, made)


def test_targets_without_byte_products_keep_their_graph() -> None:
    before = Module({"main": Function((q, p, sums), quantized(scaled()))})

    assert requantize(Target.parse("c"))(before) is before


def test_deep_formulas_are_handled() -> None:
    inner, total = dequantized(q), dequantized(q)
    for _ in range(3000):
        inner = make("transpose", inner, axes=(0, 1, 3, 2))
        total = make("add", total, dequantized(p))

    made = after(quantized(make("reshape", inner, newshape=(-1,))))
    assert operators(made).startswith("reshape transpose transpose")
    assert "qnn" not in operators(made)
    assert after(before := quantized(total, 0.3)) is before


@pytest.mark.parametrize("second", [False, True])
def test_the_second_of_two_added_products_is_stored_as_codes(second: bool) -> None:
    weight = constant(rng.integers(-9, 9, (32, 32, 1, 1)), "int8")
    images = [var(name, (1, 32, 6, 6), "uint8") for name in "ab"]
    products = [make("nn.conv2d", x, weight, out_dtype="int32") for x in images]
    floats = [make("multiply", make("cast", x, dtype="float32"), constant(0.1, "float32")) for x in products]
    floats[second] = dequantized(quantized(floats[second]))
    module = Module({"main": Function(tuple(images), quantized(make("add", *floats)))})

    (group,) = (one for one in fused_groups(pipeline(3, QUADS).run(module)) if "add" in operator_names(one))

    stored = {tensor_type_of(param).dtype for param in group.params if tensor_type_of(param).ndim == 5}
    assert ("uint8" in stored, "float32" in stored) == (True, not second)
    assert ("round" in operator_names(group)) is not second  # in the kernel of the first nothing is stored
