import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Expr, Function, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim
from tvmlite.relay.passes.simplify.simplify_expr import simplify_expr

pytestmark = pytest.mark.usefixtures("toys")

h = dim("h")
x = var("x", (2, 3, 4))
s = var("s", (h, 6))
i = var("i", (4,), "int32")


def const(value, dtype: str = "float32"):
    return constant(np.asarray(value, dtype))


def reshaped(value: Expr, *shape) -> Expr:
    return make("reshape", value, newshape=shape)


def transposed(value: Expr, *axes: int) -> Expr:
    return make("transpose", value, axes=axes or None)


def laid_out(value: Expr, source: str, target: str) -> Expr:
    return make("layout_transform", value, src_layout=source, dst_layout=target)


def simplified(body: Expr) -> Expr:
    return simplify_expr(Module({"main": Function((x, s, i), body)})).main.body


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (make("multiply", x, const(1)), x),
        (make("multiply", const([[1] * 4]), x), x),
        (make("add", x, const(np.zeros((3, 1)))), x),
        (make("add", const(0, "int32"), i), i),
        (make("subtract", x, const(0)), x),
        (make("divide", x, const(1)), x),
        (make("multiply", make("add", make("multiply", x, const(1)), const(0)), const(1)), x),
        (make("cast", x, dtype="float32"), x),
        (make("copy", s), s),
        (make("broadcast_to", s, shape=(h, 6)), s),
        (reshaped(x, 2, 3, 4), x),
        (reshaped(s, -1, 6), s),
        (reshaped(reshaped(x, 6, 4), 2, 3, 4), x),
        (make("squeeze", make("expand_dims", x, axis=0), axis=(0,)), x),
        (transposed(x, 0, 1, 2), x),
        (transposed(transposed(x, 2, 0, 1), 1, 2, 0), x),
        (transposed(transposed(x)), x),
        (make("nn.pad", x, pad_width=((0, 0), (0, 0), (0, 0))), x),
        (make("strided_slice", s, begin=(0, 0), end=(1 << 31, 6)), s),
        (make("strided_slice", x, begin=(0,), end=(99,), strides=(1,), axes=(2,)), x),
        (TupleGetItem(Tuple((x, s)), 1), s),
        (laid_out(x, "NCW", "NCW"), x),
        (laid_out(laid_out(s, "NC", "NC3c"), "NC3c", "NC"), s),
        (laid_out(laid_out(x, "NW4w", "NW"), "NW", "NW4w"), x),
    ],
)
def test_operators_without_effect_are_removed(before: Expr, after: Expr) -> None:
    assert simplified(before) is after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (reshaped(reshaped(x, 6, 4), -1), make("reshape", x, newshape=(24,), allowzero=True)),
        (
            make("expand_dims", reshaped(x, 6, 4), axis=0),
            make("reshape", x, newshape=(1, 6, 4), allowzero=True),
        ),
        (
            transposed(make("expand_dims", x, axis=1), 0, 2, 1, 3),
            make("reshape", x, newshape=(2, 3, 1, 4), allowzero=True),
        ),
        (reshaped(reshaped(s, -1, 2), -1), make("reshape", s, newshape=(h * 6,), allowzero=True)),
        (transposed(transposed(x, 1, 0, 2)), transposed(x, 2, 0, 1)),
    ],
)
def test_nested_views_become_one(before: Expr, after: Expr) -> None:
    assert alike(simplified(before), after)


@pytest.mark.parametrize(
    "body",
    [
        make("strided_slice", x, begin=(3,), end=(-5,), strides=(-1,), axes=(2,)),  # reversed
        make("strided_slice", x, begin=(1,), end=(4,), strides=(1,), axes=(2,)),
        make("multiply", x, const(2)),
        make("multiply", x, const(np.ones((5, 1, 1, 1)))),
        make("add", x, const([0, 0, 0, 1])),
        make("subtract", const(0), x),
        make("divide", const(1), x),
        make("exp", x),
        make("cast", x, dtype="int32"),
        transposed(x, 1, 0, 2),
        reshaped(s, 6, -1),
        make("nn.pad", x, pad_width=((0, 0), (1, 0), (0, 0))),
        make("reverse", x, axis=1),
    ],
)
def test_operators_with_an_effect_are_left_unchanged(body: Expr) -> None:
    module = Module({"main": Function((x, s, i), body)})

    assert simplify_expr(module) is module


@pytest.mark.parametrize("seed", range(10))
def test_results_are_unchanged(random_graph, assert_same_meaning, seed: int) -> None:
    module = random_graph(seed, nodes=40)

    assert_same_meaning(module, simplify_expr(module))


def test_random_chains_of_views_keep_their_results() -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((2, 3, 4)).astype("float32")
    for _ in range(50):
        value: Expr = x
        for _ in range(6):
            if rng.random() < 0.5:
                value = reshaped(value, *rng.permutation([2, 3, 4]).tolist())
            else:
                value = transposed(value, *rng.permutation(3).tolist())
        before = Module({"main": Function((x,), value)})
        np.testing.assert_array_equal(interpret(before, [data]), interpret(simplify_expr(before), [data]))
