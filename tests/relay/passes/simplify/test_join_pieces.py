"""Operators on pieces of an array that are concatenated become operators on the whole array."""

from collections.abc import Callable

import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, TupleGetItem, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.simplify.join_pieces import MOST_STEPS, join_pieces

rng = np.random.default_rng(0)
x, w, b = var("x", (6, 4)), var("w", (3, 4)), var("b", (3,))


def after(body: Expr, *params: Var) -> Expr:
    """Return the body after the pass, and check that it is well formed with the same results."""
    params = params or (x, w, b)
    before = Module({"main": Function(params, body)})
    made = join_pieces(before)
    verify(made)
    data = [rng.standard_normal([5 if not isinstance(n, int) else n for n in p.type.shape]) for p in params]
    data = [one.astype("float32") for one in data]
    np.testing.assert_allclose(interpret(made, data), interpret(before, data), rtol=1e-6)
    return made.main.body if made is not before else body


def rows(value: Expr, begin: int, end: int) -> Call:
    return make("strided_slice", value, begin=(begin,), end=(end,), strides=(1,), axes=(0,))


def layer(value: Expr) -> Call:
    return make("nn.relu", make("add", make("nn.dense", value, w), b))


def joined(*pieces: Expr, axis: int = 0) -> Call:
    return make("concatenate", Tuple(pieces), axis=axis)


def test_layers_on_all_slices_become_one_layer_on_the_whole() -> None:
    pieces = [layer(rows(x, begin, begin + 2)) for begin in (0, 2, 4)]

    assert alike(after(joined(*pieces)), layer(x))


def test_layers_on_some_rows_become_one_layer_on_one_slice() -> None:
    assert alike(after(joined(layer(rows(x, 1, 3)), layer(rows(x, 3, 5)))), layer(rows(x, 1, 5)))


def test_layers_on_the_outputs_of_a_split_become_one_layer() -> None:
    split = make("split", x, indices_or_sections=3, axis=0)
    pieces = [layer(TupleGetItem(split, k)) for k in range(3)]

    assert alike(after(joined(*pieces)), layer(x))


def test_steps_reshaped_without_and_with_their_axis_become_one_layer() -> None:
    n = dim("n")
    steps = var("steps", (3, n, 4))
    pieces: list[Expr] = []
    for k in range(3):
        step = make("reshape", rows(steps, k, k + 1), newshape=(n, 4), allowzero=True)
        pieces.append(make("reshape", layer(step), newshape=(1, n, 3), allowzero=True))
    made = after(joined(*pieces), steps, w, b)

    assert [node.op for node in postorder(made) if isinstance(node, Call)] == [
        *("reshape", "nn.dense", "add", "nn.relu", "reshape")
    ]


def test_operands_sliced_in_the_same_way_are_joined() -> None:
    y = var("y", (6, 4))
    pieces = [make("multiply", rows(x, k, k + 3), make("exp", rows(y, k, k + 3))) for k in (0, 3)]

    assert alike(after(joined(*pieces), x, y), make("multiply", x, make("exp", y)))


def left_alone() -> dict[str, Callable[[], Expr]]:
    first, second = rows(x, 0, 3), rows(x, 3, 6)
    apart, many = make("exp", first), first
    for _ in range(MOST_STEPS + 1):
        many = make("exp", many)
    long = [many, second]
    for _ in range(MOST_STEPS + 1):
        long[1] = make("exp", long[1])
    per_row = constant(np.ones((3, 1)), "float32")
    return {
        "another order": lambda: joined(layer(second), layer(first)),
        "a gap": lambda: joined(layer(rows(x, 0, 2)), layer(rows(x, 4, 6))),
        "rows twice": lambda: joined(layer(rows(x, 0, 3)), layer(rows(x, 2, 5))),
        "along another axis": lambda: joined(layer(first), layer(second), axis=1),
        "other operators": lambda: joined(make("exp", first), make("nn.relu", second)),
        "other settings": lambda: joined(
            *(make("clip", one, a_min=0.0, a_max=top) for one, top in ((first, 1.0), (second, 2.0)))
        ),
        "a number a row": lambda: joined(make("add", first, per_row), make("add", second, per_row)),
        "a sum over rows": lambda: joined(
            *(make("sum", one, axis=(0,), keepdims=True) for one in (first, second))
        ),
        "weights that differ": lambda: joined(
            make("nn.dense", first, w), make("nn.dense", second, make("exp", w))
        ),
        "read elsewhere": lambda: make("add", joined(apart, make("exp", second)), make("sum", apart)),
        "a long way back": lambda: joined(*long),
    }


@pytest.mark.parametrize("name", left_alone())
def test_other_concatenations_are_left_unchanged(name) -> None:
    body = left_alone()[name]()

    assert after(body) is body
