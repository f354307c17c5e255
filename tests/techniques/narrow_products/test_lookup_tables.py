"""Functions of one quantized tensor become lookup tables with the reference results for all codes."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.narrow_products.lookup_tables import lookup_tables

rng = np.random.default_rng(0)
q, p = var("q", (2, "n", 8), "uint8"), var("p", (2, "n", 8), "uint8")
signed = var("signed", (4, 5), "int8")


def dequantized(codes: Expr, scale: float = 0.03, zero: int = 120) -> Expr:
    return make("qnn.dequantize", codes, constant(scale, "float32"), constant(zero, "int32"))


def quantized(data: Expr, scale: float = 0.02, zero: int = 10, dtype: str = "uint8") -> Expr:
    return make("qnn.quantize", data, constant(scale, "float32"), constant(zero, "int32"), out_dtype=dtype)


def gelu(x: Expr) -> Expr:
    """GELU as written by onnxruntime's quantizer: quantized after each operator."""
    y = dequantized(
        quantized(make("erf", make("divide", x, constant(1.41421356, "float32"))), 0.008, 128), 0.008, 128
    )
    y = dequantized(quantized(make("add", y, constant(1.0, "float32"))))
    return quantized(make("multiply", make("multiply", x, y), constant([0.5], "float32")), 0.015, 17)


def module(body: Expr, *params: Var) -> Module:
    return Module({"main": Function(params, body)})


def lookups(after: Module) -> list[Call]:
    nodes = postorder(after.main.body)
    return [one for one in nodes if isinstance(one, Call) and one.op == "nn.contrib_lookup"]


def test_a_chain_of_quantized_operators_becomes_one_table() -> None:
    before = module(gelu(dequantized(q)), q)
    after = lookup_tables(before)

    (made,) = lookups(after)
    assert made.args[0].args[0] is q  # type: ignore[attr-defined]
    every = np.tile(np.arange(256, dtype="uint8").reshape(1, 32, 8), (2, 1, 1))
    np.testing.assert_array_equal(interpret(after, [every]), interpret(before, [every]))
    np.testing.assert_array_equal(compile(after)(every), interpret(before, [every]))


def test_tables_of_signed_codes_begin_at_minus_128() -> None:
    before = module(quantized(make("tanh", dequantized(signed, 0.02, 3)), 0.01, -5, "int8"), signed)
    after = lookup_tables(before)

    assert len(lookups(after)) == 1
    given = rng.integers(-128, 128, (4, 5)).astype("int8")
    np.testing.assert_array_equal(compile(after)(given), interpret(before, [given]))


def test_an_intermediate_result_with_other_readers_has_its_own_table() -> None:
    inner = quantized(make("sigmoid", dequantized(q)), 0.004, 0)
    outer = quantized(make("exp", dequantized(inner, 0.004, 0)), 0.02, 0)
    before = module(Tuple((make("reshape", inner, newshape=(-1,)), outer)), q)
    after = lookup_tables(before)

    assert [one.args[0].args[0] for one in lookups(after)] == [q, q]  # type: ignore[attr-defined]
    given = rng.integers(0, 256, (2, 3, 8)).astype("uint8")
    for one, other in zip(interpret(after, [given]), interpret(before, [given]), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "body",
    [
        quantized(make("nn.relu", dequantized(q))),
        quantized(make("sigmoid", make("add", dequantized(q), dequantized(p)))),
        quantized(make("sigmoid", make("multiply", dequantized(q), constant(np.ones(8, "float32"))))),
        make("sigmoid", dequantized(q)),
        quantized(make("sigmoid", make("cast", p, dtype="float32")), dtype="int16"),
    ],
    ids=["arithmetic alone", "two tensors", "a vector", "no bytes", "wider codes"],
)
def test_other_chains_are_unchanged(body: Expr) -> None:
    before = module(body, q, p)

    assert lookup_tables(before) is before


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64", "c"])
@pytest.mark.parametrize(("codes", "values"), [("uint8", "int8"), ("int8", "uint8")])
@pytest.mark.parametrize("count", [0, 5, 64, 1000])
def test_tables_are_looked_up_on_every_target(target: str, codes: str, values: str, count: int) -> None:
    data = var("data", ("n",), codes)
    table = rng.integers(0, 256, 256).astype("uint8").view(values)
    given = rng.integers(0, 256, count).astype("uint8").view(codes)
    lib = compile(module(make("nn.contrib_lookup", data, constant(table)), data), target=target)

    least = -128 if codes == "int8" else 0
    np.testing.assert_array_equal(lib(given), table[given.astype(int) - least])


def test_invalid_tables_are_refused() -> None:
    data = var("data", (8,), "uint8")
    with pytest.raises(TypeInferError, match="the extent of the table is 255, expected 256"):
        type_of(make("nn.contrib_lookup", data, constant(np.zeros(255, "uint8"))))
    with pytest.raises(TypeInferError, match="the table is float32, expected int8 or uint8"):
        type_of(make("nn.contrib_lookup", data, constant(np.zeros(256, "float32"))))
    with pytest.raises(TypeInferError, match="data is of 2 axes, expected one"):
        type_of(make("nn.contrib_lookup", var("x", (2, 4), "uint8"), constant(np.zeros(256, "uint8"))))
