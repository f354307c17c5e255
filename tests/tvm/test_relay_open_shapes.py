"""Data with unknown extents is assumed to fit; a run in which it does not fit is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TvmliteError
from tvmlite.tvm import relay, te


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def open_var(name: str, *shape: Any) -> Any:
    return relay.var(name, shape=tuple(relay.Any() if extent is None else extent for extent in shape))


X, Y, ROWS = open_var("x", None, None), open_var("y", None, None), open_var("rows", None, 3)
SAME = relay.var("same", shape=[relay.Any()] * 2)


def results(expr: Any, *given: np.ndarray) -> list[np.ndarray]:
    expr = expr.astuple() if hasattr(expr, "astuple") else expr
    module = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr))
    found = relay.create_executor("vm", mod=module).evaluate()(*given)
    return [found.numpy()] if hasattr(found, "numpy") else [one.numpy() for one in found]


@pytest.mark.parametrize(
    ("expr", "given", "expected"),
    [
        (relay.reshape(X, (4, 4)), [numbers(2, 8)], [numbers(4, 4)]),
        (relay.reshape(X, (0, 4)), [numbers(2, 4)], [numbers(2, 4)]),
        (relay.reshape_like(X, open_var("z", None)), [numbers(2, 4), numbers(8)], [numbers(8)]),
        (relay.split(X, 2, axis=-1), [numbers(3, 4)], np.split(numbers(3, 4), 2, axis=-1)),
        (relay.split(X, (1, 3), axis=1), [numbers(2, 4)], np.split(numbers(2, 4), (1, 3), axis=1)),
        (relay.squeeze(X, [0]), [numbers(1, 4)], [numbers(4)]),
        (relay.concatenate([X, Y], 1), [numbers(2, 1), numbers(2, 2)],
         [np.array([[0, 0, 1], [1, 2, 3]], np.float32)]),
        (relay.concatenate((X, ROWS), 0), [numbers(1, 3), numbers(1, 3)], [np.tile(numbers(1, 3), (2, 1))]),
        (relay.stack([X, Y], 1), [numbers(2, 2), numbers(2, 2)], [np.stack([numbers(2, 2)] * 2, 1)]),
        (relay.nn.bias_add(X, relay.const([5.0])), [numbers(2, 3)], [numbers(2, 3) + 5]),
        (relay.nn.prelu(X, relay.const([0.5])), [numbers(2, 3) - 3],
         [np.array([[-1.5, -1, -0.5], [0, 1, 2]])]),
        (relay.slice_like(X, ROWS), [numbers(2, 4), numbers(1, 3)], [numbers(1, 3)]),
        (relay.nn.dense(X, ROWS), [numbers(1, 3), numbers(2, 3)], [np.array([[5, 14]], np.float32)]),
        (relay.topk(SAME, 3, 1, "values"), [numbers(2, 5)], [np.array([[4, 3, 2], [9, 8, 7]], np.float32)]),
        (relay.topk(SAME, 3, 0, "values"), [numbers(2, 1)], [np.array([[1], [0]], np.float32)]),
        (relay.nn.matmul(X, Y, transpose_a=True), [numbers(3, 2), numbers(3, 1)],
         [numbers(3, 2).T @ numbers(3, 1)]),
        (relay.topk(X, 2, ret_type="values"), [numbers(1, 4)], [np.array([[3, 2]], np.float32)]),
        (relay.topk(X, 2, ret_type="values"), [numbers(2, 1)], [numbers(2, 1)]),
    ],
)  # fmt: skip
def test_operators_accept_data_of_unknown_extents(expr: Any, given: Any, expected: Any) -> None:
    for found, wanted in zip(results(expr, *given), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("expr", "given", "text"),
    [
        (relay.reshape(X, (4, 4)), [numbers(2, 7)], "14"),
        (relay.reshape_like(X, open_var("z", None)), [numbers(2, 4), numbers(9)], "9"),
        (relay.split(X, 2, axis=1), [numbers(3, 5)], "5"),
        (relay.split(X, (2, 6), axis=1), [numbers(3, 5)], "5"),
        (relay.squeeze(X, [0]), [numbers(2, 4)], "2"),
        (relay.concatenate([X, Y], 1), [numbers(2, 1), numbers(3, 1)], "3"),
        (relay.slice_like(X, ROWS), [numbers(2, 2), numbers(1, 3)], "3"),
        (relay.nn.dense(X, ROWS), [numbers(1, 4), numbers(2, 3)], "4"),
        (relay.nn.matmul(X, ROWS), [numbers(2, 4), numbers(3, 3)], "4"),
    ],
)
def test_extents_that_do_not_fit_are_errors_at_run_time(expr: Any, given: Any, text: str) -> None:
    with pytest.raises(TvmliteError, match=text):
        results(expr, *given)


def test_one_any_used_twice_may_have_two_values() -> None:
    x = relay.var("x", shape=(relay.Any(),) * 2)

    assert results(relay.reshape(x, (-1,)), numbers(2, 3))[0].shape == (6,)


def test_an_any_that_sizes_are_computed_from_has_one_value() -> None:
    extent = relay.Any()
    x, y = (relay.var(name, shape=(extent,)) for name in "xy")
    ones = relay.ones(x.type_annotation.shape, "float32")

    assert [one.shape for one in results(relay.Tuple([x, y]), numbers(2), numbers(3))] == [(2,), (3,)]
    with pytest.raises(TvmliteError, match=r"one relay.Any\(\) is 2 and 3 in the arguments, and an extent"):
        results(relay.Tuple([ones, x, y]), numbers(2), numbers(3))


def test_types_of_operators_on_open_shapes_are_inferred() -> None:
    n, w = te.size_var("n"), te.size_var("w")
    x = relay.var("x", relay.TensorType((n, 2, 3, w)))

    part = relay.reshape_like(x, relay.var("y", shape=(5, 6)), lhs_end=3)
    whole = relay.reshape_like(part, relay.var("z", shape=(4,)), lhs_begin=2)
    pieces = relay.split(x, 4, axis=0).astuple()

    assert whole.checked_type == relay.TensorType((5, 6, 4))
    assert pieces.checked_type == relay.TupleType([relay.TensorType((tvm.tir.indexdiv(n, 4), 2, 3, w))] * 4)
    assert [piece.shape[1] for piece in relay.split(X, (2, 7), 1).astuple().checked_type.fields[:2]] == [2, 5]
    assert relay.concatenate([ROWS, X], 0).checked_type.shape[1] == 3
    assert relay.slice_like(x, relay.var("y", shape=(4, 1)), (0,)).checked_type == relay.TensorType(
        (4, 2, 3, w)
    )


def test_unknown_channels_are_inferred_from_the_kernel() -> None:
    image = relay.var("image", shape=[relay.Any()] * 4)
    kernel = relay.var("kernel", shape=(4, 3, 1, 1))

    made = relay.nn.conv2d(image, kernel, groups=2)

    assert made.args[0].checked_type.shape[1] == 6
    assert str(made.checked_type) == "Tensor[(?, 4, ?, ?), float32]"
    assert made.checked_type.shape[2] is not made.checked_type.shape[3]


def test_checks_are_made_at_once_where_extents_are_known() -> None:
    assert relay.reshape(X, (-1,)).op.name == "reshape"
    assert relay.reshape(ROWS, (3, -1)).args[0] is ROWS
    assert relay.concatenate([ROWS, ROWS], 0).args[0][0] is ROWS
    with pytest.raises(TvmliteError, match="concatenate: shapes are"):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.concatenate([ROWS, open_var("z", 1, 4)], 0)))
