import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, TupleGetItem, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.relay.passes.simplify.fold_scale_axis import fold_scale_axis
from tvmlite.relay.passes.simplify.simplify_inference import simplify_inference

rng = np.random.default_rng(0)


def const(*shape: int, dtype: str = "float32"):
    return constant(rng.standard_normal(shape).astype(dtype))


image = var("x", (1, 4, 5, 5))
rows = var("x", (3, 6))


def conv(groups: int = 1) -> Call:
    return make("nn.conv2d", image, const(8, 4 // groups, 3, 3), padding=(1, 1, 1, 1), groups=groups)


def run(param, body: Expr) -> tuple[list, Module]:
    before = Module({"main": Function((param,), body)})
    after = fold_scale_axis(before)
    data = rng.standard_normal(param.type.shape).astype(param.type.dtype)
    wanted, got = interpret(before, [data]), interpret(after, [data])
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    return [n.op for n in postorder(after.main.body) if isinstance(n, Call)], after


@pytest.mark.parametrize("scale", [(8, 1, 1), (1, 8, 1, 1), (1,), ()])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_scale_after_a_convolution_is_folded_into_its_weights(scale, groups: int) -> None:
    assert run(image, make("multiply", conv(groups), const(*scale)))[0] == ["nn.conv2d"]
    assert run(image, make("multiply", const(*scale), conv(groups)))[0] == ["nn.conv2d"]


def test_a_bias_before_the_scale_is_scaled() -> None:
    biased = make("add", const(8, 1, 1), make("nn.bias_add", conv(), const(8)))

    assert run(image, make("multiply", biased, const(8, 1, 1)))[0] == ["nn.conv2d", "nn.bias_add", "add"]


def test_consecutive_scales_are_all_folded() -> None:
    body = make(
        "multiply", make("add", make("multiply", conv(), const(8, 1, 1)), const(8, 1, 1)), const(8, 1, 1)
    )

    assert run(image, body)[0] == ["nn.conv2d", "add"]


def test_scales_of_columns_are_folded_into_dense_and_matmul() -> None:
    assert run(rows, make("multiply", make("nn.dense", rows, const(4, 6)), const(4)))[0] == ["nn.dense"]
    for transposed, shape in ((True, (4, 6)), (False, (6, 4))):
        product = make("nn.matmul", rows, const(*shape), transpose_b=transposed)
        assert run(rows, make("multiply", product, const(1, 4)))[0] == ["nn.matmul"]


def test_a_scale_is_folded_into_a_transposed_convolution() -> None:
    body = make("nn.conv2d_transpose", image, const(4, 8, 3, 3))
    assert run(image, make("multiply", body, const(8, 1, 1)))[0] == ["nn.conv2d_transpose"]
    grouped = make("nn.conv2d_transpose", image, const(4, 2, 3, 3), groups=2)
    assert run(image, make("multiply", grouped, const(4, 1, 1)))[0] == ["nn.conv2d_transpose", "multiply"]


def test_batch_norm_after_a_convolution_leaves_only_a_bias() -> None:
    params = [constant(rng.uniform(0.5, 2, 8).astype("float32")) for _ in range(4)]
    body = TupleGetItem(make("nn.batch_norm", conv(), *params), 0)
    module = fold_scale_axis(fold_constant(simplify_inference(Module({"main": Function((image,), body)}))))

    assert [n.op for n in postorder(module.main.body) if isinstance(n, Call)] == ["nn.conv2d", "add"]


shared = conv()


@pytest.mark.parametrize(
    "body",
    [
        make("multiply", conv(), const(5)),
        make("multiply", conv(), const(8, 5, 1)),
        make("multiply", conv(), constant(np.array([[[np.inf]]], np.float32))),
        make("multiply", conv(), const(3, 8, 5, 5)),
        make("multiply", make("add", conv(), const(5)), const(8, 1, 1)),
        make("multiply", make("exp", conv()), const(8, 1, 1)),
        Tuple((make("multiply", shared, const(8, 1, 1)), shared)),
        make("multiply", make("add", shared, shared), const(8, 1, 1)),
    ],
)
def test_scales_that_cannot_be_folded_are_left_unchanged(body: Expr) -> None:
    module = Module({"main": Function((image,), body)})

    assert fold_scale_axis(module) is module


def large_conv(weight: np.ndarray) -> Call:
    return make("nn.conv2d", var("x", (1, 64, 5, 5)), constant(weight), padding=(1, 1, 1, 1))


def test_scaling_of_large_weights_is_deferred() -> None:
    weight, scale = rng.standard_normal((64, 64, 3, 3)).astype("float32"), const(64, 1, 1)
    body = make("multiply", large_conv(weight), scale)

    (conv,) = (n for n in postorder(fold_scale_axis(module_of(body)).main.body) if isinstance(n, Call))

    assert isinstance(conv.args[1], DeferredConstant)
    np.testing.assert_array_equal(conv.args[1].data, weight * scale.data[:, None])


@pytest.mark.parametrize("element", [3e38, -3e38, np.inf, np.nan])
@pytest.mark.parametrize("factor", [2.0, -2.0])
def test_a_scale_that_makes_a_weight_non_finite_is_not_folded(element: float, factor: float) -> None:
    weight = np.ones((64, 64, 3, 3), "float32")
    weight[5, 7, 1, 2] = element
    body = make("multiply", large_conv(weight), constant(np.full((64, 1, 1), factor, "float32")))
    module = module_of(body)

    assert fold_scale_axis(module) is module


def test_finiteness_is_checked_with_the_scale_of_the_weights_own_channel() -> None:
    weight, scale = np.ones((64, 64, 3, 3), "float32"), np.full((64, 1, 1), 1e10, "float32")
    weight[5], scale[5] = -3e38, 0.5
    body = make("multiply", large_conv(weight), constant(scale))

    ops = [n.op for n in postorder(fold_scale_axis(module_of(body)).main.body) if isinstance(n, Call)]

    assert ops == ["nn.conv2d"]


def module_of(body: Expr) -> Module:
    (param,) = (n for n in postorder(body) if isinstance(n, Var))
    return Module({"main": Function((param,), body)})
