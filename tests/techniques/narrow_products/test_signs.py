"""Bytes get the signedness that the target can multiply."""

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.narrow_products.signs import signs

TARGETS = {
    "uint8": Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"),
    "int8": Target.parse("llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod"),
}
OTHER = {"uint8": "int8", "int8": "uint8"}
rng = np.random.default_rng(0)


def product(dtype: str, window: int = 0, **attrs: object) -> Module:
    """A product of ``dtype`` by int8, a convolution if there is a ``window``."""
    shape = (2, 5, 6, 7) if window else (6, 9)
    x = var("x", shape, dtype)
    weight = constant(rng.integers(-128, 128, (4, shape[1], *(window,) * (2 * bool(window)))).astype("int8"))
    name = "nn.conv2d" if window else "nn.dense"
    return Module({"main": Function((x,), make(name, x, weight, out_dtype="int32", **attrs))})


def data_of(module: Module) -> np.ndarray:
    type_ = tensor_type_of(module.main.params[0])
    limits = np.iinfo(type_.dtype)
    return rng.integers(limits.min, limits.max, type_.shape, type_.dtype, endpoint=True)


def read(module: Module) -> set[str]:
    """The dtypes of the data that products read."""
    names = ("nn.dense", "nn.conv2d")
    calls = [n for n in postorder(module.main.body) if isinstance(n, Call) and n.op in names]
    return {tensor_type_of(call.args[0]).dtype for call in calls}


PRODUCTS = [
    {},
    {"window": 1},
    {"window": 3, "padding": (1, 1, 1, 1)},
    {"window": 3, "padding": (0, 1, 2, 0), "strides": (2, 1)},
]


@pytest.mark.parametrize("sign", TARGETS)
@pytest.mark.parametrize("attrs", PRODUCTS)
def test_products_read_bytes_of_the_targets_signedness(attrs: dict, sign: str) -> None:
    before = product(OTHER[sign], **attrs)
    after = signs(TARGETS[sign])(before)

    assert read(after) == {sign}
    data = data_of(before)
    np.testing.assert_array_equal(interpret(after, [data]), interpret(before, [data]))


@pytest.mark.parametrize("sign", TARGETS)
def test_products_of_that_signedness_are_unchanged(sign: str) -> None:
    before = product(sign, window=3)

    assert signs(TARGETS[sign])(before) is before


def test_targets_without_byte_products_are_unchanged() -> None:
    before = product("int8")

    assert signs(Target.parse("c"))(before) is before


def rounded(dtype: str) -> Expr:
    point = constant(3 if dtype == "uint8" else -125, "int32")
    codes = make("qnn.quantize", var("x", (7, 9)), constant(np.float32(0.02)), point, out_dtype=dtype)
    return make("qnn.dequantize", codes, constant(np.float32(0.02)), point)


def module_of(body: Expr) -> Module:
    return Module({"main": Function((body.args[0].args[0],), body)})


@pytest.mark.parametrize("sign", TARGETS)
def test_codes_are_quantized_with_the_targets_signedness(sign: str) -> None:
    after = signs(TARGETS[sign])(module_of(rounded(OTHER[sign])))

    assert tensor_type_of(after.main.body.args[0]).dtype == sign


@pytest.mark.parametrize("sign", TARGETS)
def test_results_stay_the_same(sign: str, assert_same_meaning) -> None:
    before = module_of(rounded(OTHER[sign]))

    assert_same_meaning(before, signs(TARGETS[sign])(before))


@pytest.mark.parametrize("attrs", PRODUCTS)
def test_compiled_products_of_int8_are_exact(attrs: dict) -> None:
    before = product("int8", **attrs)
    data = data_of(before)

    np.testing.assert_array_equal(compile(before)(data), interpret(before, [data]))
