"""Operators that ask and choose: comparisons, logic of bools, where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, broadcast_shapes
from tvmlite.relay.ops.binary import broadcast_type, register_binary
from tvmlite.relay.ops.common import as_bool, broadcast_indices, one_dtype
from tvmlite.relay.ops.register import Indices, broadcast
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _bool_type(call: Call, lhs: TensorType, rhs: TensorType) -> TensorType:
    return TensorType(broadcast_type(call, lhs, rhs).shape, "bool")


def _comparison(make: type[e.Compare], swapped: bool = False) -> Callable[[e.Expr, e.Expr], e.Expr]:
    def formula(a: e.Expr, b: e.Expr) -> e.Expr:
        if a.dtype == "bool":
            a, b = e.cast("int32", a), e.cast("int32", b)
        return make(b, a) if swapped else make(a, b)

    return formula


def _answer(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def reference(call: Call, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        return np.asarray(function(lhs, rhs))

    return reference


def _of_bools(make: Callable[[e.Expr, e.Expr], e.Expr]) -> Callable[[e.Expr, e.Expr], e.Expr]:
    def formula(a: e.Expr, b: e.Expr) -> e.Expr:
        return make(as_bool(a), as_bool(b))

    return formula


register_binary(
    "equal", _comparison(e.Equal), _answer(np.equal), _bool_type, doc="Whether both are equal (NaN never is)."
)
register_binary(
    "not_equal", _comparison(e.NotEqual), _answer(np.not_equal), _bool_type, doc="Whether both differ."
)
register_binary(
    "less", _comparison(e.Less), _answer(np.less), _bool_type, doc="Whether ``lhs`` is below ``rhs``."
)
register_binary(
    "less_equal",
    _comparison(e.LessEqual),
    _answer(np.less_equal),
    _bool_type,
    doc="Whether ``lhs`` is not above ``rhs``.",
)
register_binary(
    "greater",
    _comparison(e.Less, swapped=True),
    _answer(np.greater),
    _bool_type,
    doc="Whether ``lhs`` is above ``rhs``.",
)
register_binary(
    "greater_equal",
    _comparison(e.LessEqual, swapped=True),
    _answer(np.greater_equal),
    _bool_type,
    doc="Whether ``lhs`` is not below ``rhs``.",
)
register_binary(
    "logical_and", _of_bools(e.And), _answer(np.logical_and), _bool_type, doc="Whether both are not 0."
)
register_binary(
    "logical_or", _of_bools(e.Or), _answer(np.logical_or), _bool_type, doc="Whether one is not 0."
)
register_binary(
    "logical_xor",
    _of_bools(e.NotEqual),
    _answer(np.logical_xor),
    _bool_type,
    doc="Whether just one is not 0.",
)


def _where_type(call: Call, condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
    dtype = one_dtype(call, x, y)
    shape = broadcast_shapes(x.shape, y.shape, str(call.op), call.span)
    return TensorType(broadcast_shapes(condition.shape, shape, str(call.op), call.span), dtype)


def _where_numpy(call: Call, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(condition != 0, x, y)


@broadcast("where", infer=_where_type, reference=_where_numpy)
def where(call: Call, i: Indices, condition: Tensor, x: Tensor, y: Tensor) -> e.Expr:
    """``x`` where ``condition`` is true (or not zero), else ``y``, broadcast together."""
    shape = broadcast_shapes(condition.shape, broadcast_shapes(x.shape, y.shape))
    asked, a, b = (t[broadcast_indices(t.shape, shape, i)] for t in (condition, x, y))
    return e.Select(as_bool(asked), a, b)
