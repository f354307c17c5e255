"""Matrix products of quantized operands become products of bytes with exact integer sums."""

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.narrow_products.integer_products import integer_products

QUADS = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
rng = np.random.default_rng(0)
q = var("q", (2, "n", 24), "uint8")
WEIGHT = rng.integers(-120, 121, (24, 40)).astype("int8")
SCALES = rng.uniform(0.001, 0.01, 40).astype("float32")


def dequantized(values: Expr, scale: object, zero: object, axis: int = -1) -> Expr:
    given = constant(np.float32(scale) if np.isscalar(scale) else scale), constant(zero, "int32")
    return make("qnn.dequantize", values, *given, axis=axis)


def rows(scale: float = 0.02, zero: int = 131) -> Expr:
    return make("reshape", dequantized(q, scale, zero), newshape=(-1, 24))


def weights(weight: np.ndarray = WEIGHT, zero: object = 0) -> Expr:
    return dequantized(constant(weight), SCALES, np.broadcast_to(zero, 40), axis=1)


def module(body: Expr) -> Module:
    return Module({"main": Function((q,), body)})


def products(after: Module) -> list[Call]:
    nodes = postorder(after.main.body)
    return [one for one in nodes if isinstance(one, Call) and one.op in ("nn.dense", "nn.matmul")]


def assert_nearest(after: Module, weight: np.ndarray = WEIGHT, zero: int = 131) -> None:
    """Check that each result is exact up to the rounding of the scale, the sum and their product."""
    given = rng.integers(0, 256, (2, 5, 24)).astype("uint8")
    exact = (given.reshape(-1, 24).astype(np.int64) - zero) @ weight.astype(np.int64)
    wanted = exact * (SCALES.astype(np.float64) * np.float32(0.02))

    np.testing.assert_allclose(interpret(after, [given]), wanted, rtol=4 * 2.0**-24)


def test_a_product_of_dequantized_operands_becomes_a_product_of_bytes() -> None:
    after = integer_products(QUADS)(module(make("nn.matmul", rows(), weights())))

    (product,) = products(after)
    assert product.op == "nn.dense"
    assert product.args[0] is q
    assert product["out_dtype"] == "int32"
    assert isinstance(product.args[1], Constant)
    np.testing.assert_array_equal(product.args[1].data, WEIGHT.T)
    assert_nearest(after)


def test_weights_may_be_transposed_unsigned_or_have_one_scale() -> None:
    unsigned = dequantized(
        constant((WEIGHT.T.astype(int) + 128).astype("uint8")), SCALES, np.full(40, 128), 0
    )
    after = integer_products(QUADS)(module(make("nn.matmul", rows(), unsigned, transpose_b=True)))
    assert products(after)[0].op == "nn.dense"
    assert_nearest(after)

    alone = module(make("nn.matmul", rows(), dequantized(constant(WEIGHT), 0.5, 3)))
    assert products(integer_products(QUADS)(alone))[0].op == "nn.dense"


def test_results_stay_the_same(assert_same_meaning) -> None:
    before = module(make("nn.matmul", rows(zero=0), weights(WEIGHT // 2, 5)))

    assert_same_meaning(before, integer_products(QUADS)(before), n=3)


def test_compiled_results_agree_with_the_interpreter() -> None:
    quantized = make(
        "qnn.quantize",
        make("nn.matmul", rows(), weights()),
        constant(np.float32(0.03)),
        constant(7, "int32"),
        out_dtype="uint8",
    )
    given = rng.integers(0, 256, (2, 9, 24)).astype("uint8")
    after = integer_products(QUADS)(module(quantized))

    np.testing.assert_array_equal(compile(after)(given), interpret(after, [given]))


@pytest.mark.parametrize(
    ("data", "weight"),
    [
        (rows(), weights(zero=-100)),  # minus its zero point not a byte
        (make("reshape", q, newshape=(-1, 24)).astype("float32"), weights()),
        (
            rows(),
            dequantized(constant(WEIGHT), rng.uniform(1, 2, 24).astype("float32"), np.zeros(24), axis=0),
        ),
        (rows(), make("exp", weights())),
    ],
)
def test_other_products_are_unchanged(data: Expr, weight: Expr) -> None:
    before = module(make("nn.matmul", data, weight))

    assert integer_products(QUADS)(before) is before


def test_targets_without_byte_products_keep_float_products() -> None:
    before = module(make("nn.matmul", rows(), weights()))

    assert integer_products(Target.parse("c"))(before) is before


def test_sums_that_may_overflow_int32_stay_floats() -> None:
    wide = var("wide", (1, 40_000), "uint8")
    weight = dequantized(constant(np.ones((40_000, 1), "int8")), 1.0, 0)
    before = Module({"main": Function((wide,), make("nn.matmul", dequantized(wide, 1.0, 0), weight))})

    assert integer_products(QUADS)(before) is before


def bias(codes: object, scale: object) -> Expr:
    return dequantized(constant(codes, "int32"), scale, 0, 0)


@pytest.mark.parametrize(
    "made",
    [
        make("add", make("nn.matmul", rows(), weights()), bias(np.arange(40), SCALES * np.float32(0.02))),
        make("add", make("nn.matmul", rows(), weights()), bias([7], 0.01)),
        make(
            "add",
            make("reshape", make("nn.matmul", rows(), weights()), newshape=(-1, 4, 10)),
            make("reshape", bias(np.arange(4), 0.01), newshape=(4, 1)),
        ),
        make(
            "nn.matmul",
            rows(),
            make("reshape", dequantized(constant(WEIGHT.reshape(48, 20)), 0.5, 3), newshape=(24, 40)),
        ),
    ],
    ids=["its own scale", "one number", "another axis", "weights in another shape"],
)
def test_products_with_biases_and_views_keep_their_results(made: Expr, assert_same_meaning) -> None:
    before = module(made)
    after = integer_products(QUADS)(before)

    assert products(after)[0].op == "nn.dense"
    assert_same_meaning(before, after, n=3)
