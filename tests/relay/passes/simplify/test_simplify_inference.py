import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.infer import infer
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Function, Module, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.relay.passes.simplify.simplify_inference import simplify_inference

rng = np.random.default_rng(0)


def parameters(count: int, dtype: str = "float32"):
    return [constant(rng.uniform(0.5, 2, count).astype(dtype)) for _ in range(4)]


def operators(module: Module) -> list:
    return [n.op for n in postorder(module.main.body) if isinstance(n, Call)]


@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 4, 4), 1), ((2, 4, 3), -1), ((5, 3), 1), ((3,), 0)])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_batch_norm_becomes_a_scale_and_a_shift(shape, axis: int, scale: bool, center: bool) -> None:
    x = var("x", shape)
    call = make("nn.batch_norm", x, *parameters(3), axis=axis, scale=scale, center=center)
    before = Module({"main": Function((x,), TupleGetItem(call, 0))})
    after = fold_constant(simplify_inference(before))
    data = rng.standard_normal(shape).astype("float32")

    assert operators(after) == ["multiply", "add"]
    assert all(isinstance(n.args[1], Constant) for n in postorder(after.main.body) if isinstance(n, Call))
    np.testing.assert_allclose(interpret(after, [data]), interpret(before, [data]), rtol=1e-5, atol=1e-6)


def test_the_statistics_returned_by_batch_norm_are_its_arguments() -> None:
    x, params = var("x", (2, 3)), parameters(3)
    call = make("nn.batch_norm", x, *params)

    for index, param in ((1, params[2]), (2, params[3])):
        after = simplify_inference(Module({"main": Function((x,), TupleGetItem(call, index))}))
        assert after.main.body is param


def test_a_batch_norm_whose_tuple_is_returned_keeps_all_fields() -> None:
    x = var("x", ("n", 3, "h"))
    before = Module({"main": Function((x,), make("nn.batch_norm", x, *parameters(3)))})
    after = infer(simplify_inference(before))
    data = rng.standard_normal((2, 3, 5)).astype("float32")

    for a, b in zip(interpret(before, [data]), interpret(after, [data]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_dropout_is_removed() -> None:
    x = var("x", (2, dim("h")))
    call = make("nn.dropout", x)

    assert simplify_inference(Module({"main": Function((x,), TupleGetItem(call, 0))})).main.body is x
    mask = simplify_inference(Module({"main": Function((x,), TupleGetItem(call, 1))}))
    np.testing.assert_array_equal(interpret(mask, [np.zeros((2, 4), "float32")]), np.ones((2, 4), "float32"))


def test_float16_and_other_operators_are_left_unchanged() -> None:
    x = var("x", (2, 3), "float16")
    call = make("nn.batch_norm", x, *parameters(3, "float16"))
    module = Module({"main": Function((x,), make("exp", TupleGetItem(call, 0)))})

    assert simplify_inference(module) is module
