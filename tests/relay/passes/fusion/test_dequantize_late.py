"""Results that a kernel dequantizes at its end are stored as codes if element-wise kernels read them."""

import numpy as np

from tvmlite.core.node import postorder
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.fusion.dequantize_late import dequantize_late
from tvmlite.relay.passes.fusion.fuse import fuse

rng = np.random.default_rng(0)
x, y = var("x", (3, 16)), var("y", (3, 16))


def product(data: Expr) -> Expr:
    return make("nn.dense", data, constant(rng.standard_normal((16, 16)).astype("float32")))


def rounded(data: Expr) -> Expr:
    scale, zero = constant(0.1, "float32"), constant(7, "int32")
    codes = make("qnn.quantize", data, scale, zero, out_dtype="uint8")
    return make("qnn.dequantize", codes, scale, zero)


def passed(body: Expr) -> tuple[Module, Module]:
    """Return the fused module before and after the pass, and check that results are equal."""
    before = fuse(Module({"main": Function((x, y), body)}))
    after = dequantize_late(before)
    verify(after)
    data = [rng.standard_normal((3, 16)).astype("float32") for _ in range(2)]
    np.testing.assert_array_equal(interpret(after, data), interpret(before, data))
    return before, after


def stored(module: Module) -> list[str]:
    """Return the dtypes of the groups' results."""
    calls = [one for one in postorder(module.main.body) if isinstance(one, Call)]
    return sorted(tensor_type_of(one).dtype for one in calls if isinstance(one.op, Function))


def test_one_of_two_added_products_is_stored_as_codes() -> None:
    before, after = passed(make("add", rounded(product(x)), rounded(product(y))))

    assert stored(before) == ["float32", "float32"]
    assert stored(after) == ["float32", "uint8"]


def test_results_read_by_a_product_or_the_caller_are_left_unchanged() -> None:
    for body in (product(rounded(product(x))), rounded(product(x))):
        before, after = passed(body)
        assert after is before


def test_a_dequantization_without_a_producing_kernel_is_left_unchanged() -> None:
    codes = var("codes", (3, 16), "uint8")
    scale, zero = constant(0.1, "float32"), constant(7, "int32")
    real = make("qnn.dequantize", codes, scale, zero)
    body = make("add", make("nn.softmax", real), make("nn.softmax", make("exp", real)))
    before = fuse(Module({"main": Function((codes,), body)}))

    assert dequantize_late(before) is before
