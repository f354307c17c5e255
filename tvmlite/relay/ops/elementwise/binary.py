"""Element-wise operators of several tensors that broadcast as in numpy: arithmetic, bits, comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, Rounding, operator
from tvmlite.relay.ir.types import TensorType, broadcast_shapes, same_shape
from tvmlite.relay.ops import common
from tvmlite.relay.ops.common import (
    ANY,
    INTEGERS,
    NO_FLOATS,
    NUMBERS,
    Dtypes,
    along_axis_type,
    as_bool,
    broadcast_indices,
    expect,
    intrinsic,
    numpy_reference,
    one_dtype,
)
from tvmlite.relay.ops.register import Indices, broadcast
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor

Formula = Callable[[Any, Any], Any]


def _register(
    name: str,
    doc: str,
    formula: Formula,
    function: Callable[..., Any],
    rounding: Rounding = Rounding.MANY,
    wanted: Dtypes = NUMBERS,
    is_bool: bool = False,
    homogeneous: bool = False,
) -> None:
    """Register the operator ``name`` of two tensors of the same dtype, which must be in ``wanted``.

    ``formula`` is in te, ``function`` in numpy. The result has the operands' dtype, or bool with ``is_bool``.
    """

    def infer(call: Call, lhs: TensorType, rhs: TensorType) -> TensorType:
        dtype = one_dtype(call, lhs, rhs)
        shape = broadcast_shapes(lhs.shape, rhs.shape, str(call.op), call.span)
        expect(call, "dtypes are", dtype, wanted)
        return TensorType(shape, "bool" if is_bool else dtype)

    def answer(call: Call, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        return np.asarray(function(lhs, rhs))

    reference = answer if is_bool else numpy_reference(function)

    @operator(
        name,
        infer=infer,
        reference=reference,
        fuse=Fuse.BROADCAST,
        doc=doc,
        rounding=rounding,
        homogeneous=homogeneous,
    )
    def apply(call: Call, lhs: Tensor, rhs: Tensor) -> Tensor:
        shape = broadcast_shapes(lhs.shape, rhs.shape, name)

        def element(*i: e.Expr) -> Any:
            return formula(*(one[broadcast_indices(one.shape, shape, i)] for one in (lhs, rhs)))

        tag = "elemwise" if same_shape(lhs.shape, rhs.shape) else "broadcast"
        return compute(shape, element, name=name, tag=tag)


# --- arithmetic -------------------------------------------------------------------------------------


def _by_dtype(ints: Formula, floats: Formula) -> Formula:
    """Return a formula, or a function of arrays, that is ``ints`` for integers and ``floats`` for floats."""

    def choose(a: Any, b: Any) -> Any:
        return (floats if dtypes.is_float(dtypes.check(a.dtype)) else ints)(a, b)

    return choose


def _float_floor_divide(a: e.Expr, b: e.Expr) -> e.Expr:
    """Divide float16 in float32, where a quotient of 11-bit numbers is never rounded up to an integer."""
    if a.dtype != "float16":
        return intrinsic("floor", e.Div(a, b))
    wide = intrinsic("floor", e.Div(e.cast("float32", a), e.cast("float32", b)))
    return e.cast("float16", wide)


def _float_floor_divide_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    wide = np.float32 if a.dtype == np.float16 else a.dtype
    return np.floor(np.divide(a, b, dtype=wide)).astype(a.dtype)


def _float_floor_mod(a: e.Expr, b: e.Expr) -> e.Expr:
    remainder, zero = e.TruncMod(a, b), e.const(0, a.dtype)
    opposite = e.NotEqual(e.Less(remainder, zero), e.Less(b, zero))
    return e.Select(e.And(e.NotEqual(remainder, zero), opposite), remainder + b, remainder)


def _integer_power(a: e.Expr, b: e.Expr) -> e.Expr:
    """Compute in float64: exact below 2**53 in magnitude, and saturated to the dtype."""
    return e.cast(a.dtype, e.Call("pow", (e.cast("float64", a), e.cast("float64", b)), "float64"))


def _integer_power_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return common.convert_numpy(np.power(a.astype(np.float64), b.astype(np.float64)), dtypes.check(a.dtype))


for _name, _row in {
    "add": ("``lhs + rhs``.", lambda a, b: a + b, np.add, Rounding.ONCE),
    "subtract": ("``lhs - rhs``.", lambda a, b: a - b, np.subtract, Rounding.ONCE),
    "maximum": ("The greater of both; NaN if either is NaN.", e.Max, np.maximum, Rounding.ONCE, ANY),
    "minimum": ("The lesser of both; NaN if either is NaN.", e.Min, np.minimum, Rounding.ONCE, ANY),
}.items():
    _register(_name, *_row, homogeneous=True)

for _name, _row in {
    "multiply": ("``lhs * rhs``.", lambda a, b: a * b, np.multiply, Rounding.ONCE),
    "divide": (
        "``lhs / rhs``; for integers rounded towards 0, and 0 for division by 0.",
        _by_dtype(e.TruncDiv, e.Div),
        _by_dtype(common.truncating_divide, np.divide),
        Rounding.ONCE,
    ),
    "floor_divide": (
        "``lhs / rhs`` rounded downwards; 0 for integer division by 0.",
        _by_dtype(e.FloorDiv, _float_floor_divide),
        _by_dtype(common.floor_divide, _float_floor_divide_numpy),
    ),
    "mod": (
        "The remainder of ``divide``, with the sign of ``lhs``; 0 for integer division by 0.",
        e.TruncMod,
        _by_dtype(common.truncating_mod, np.fmod),
    ),
    "trunc_divide": (
        "``lhs / rhs`` rounded towards 0; 0 for integer division by 0.",
        _by_dtype(e.TruncDiv, lambda a, b: intrinsic("trunc", e.Div(a, b))),
        _by_dtype(common.truncating_divide, lambda a, b: np.trunc(np.divide(a, b))),
    ),
    "trunc_mod": (
        "The remainder of ``trunc_divide``, with the sign of ``lhs``; 0 for integer division by 0.",
        e.TruncMod,
        _by_dtype(common.truncating_mod, np.fmod),
    ),
    "floor_mod": (
        "The remainder of ``floor_divide``, with the sign of ``rhs``; 0 for integer division by 0.",
        _by_dtype(e.FloorMod, _float_floor_mod),
        _by_dtype(common.floor_mod, np.mod),
    ),
    "power": (
        "``lhs`` to the power of ``rhs``; for integers exact below 2**53, and saturated to the dtype.",
        _by_dtype(_integer_power, lambda a, b: intrinsic("pow", a, b)),
        _by_dtype(_integer_power_numpy, np.power),
    ),
}.items():
    _register(_name, *_row)


# --- bits -------------------------------------------------------------------------------------------


def _intrinsic(name: str, for_bools: Formula | None = None) -> Formula:
    """Return a formula that calls the intrinsic ``name``, or is ``for_bools`` for bools."""

    def formula(a: e.Expr, b: e.Expr) -> e.Expr:
        return for_bools(a, b) if for_bools and a.dtype == "bool" else e.Call(name, (a, b), a.dtype)

    return formula


def _left_shift_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = dtypes.bits(dtypes.check(a.dtype))
    return np.where(b >= width, 0, np.left_shift(a, np.where(b >= width, 0, b).astype(b.dtype)))


def _right_shift_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = dtypes.bits(dtypes.check(a.dtype))
    most = np.right_shift(a, np.array(width - 1, a.dtype)) >> np.array(1, a.dtype)
    return np.where(b >= width, most, np.right_shift(a, np.where(b >= width, 0, b).astype(b.dtype)))


for _name, _doc, _truths, _function in (
    ("bitwise_and", "The bitwise AND; the logical one for bools.", e.And, np.bitwise_and),
    ("bitwise_or", "The bitwise OR; the logical one for bools.", e.Or, np.bitwise_or),
    ("bitwise_xor", "The bitwise XOR; the logical one for bools.", e.NotEqual, np.bitwise_xor),
):
    _register(_name, _doc, _intrinsic(_name, _truths), _function, wanted=NO_FLOATS)

_left, _right = "``lhs * 2**rhs``; bits beyond the width are dropped.", "``lhs / 2**rhs`` rounded downwards."
_register("left_shift", _left, _intrinsic("shift_left"), _left_shift_numpy, wanted=INTEGERS)
_register("right_shift", _right, _intrinsic("shift_right"), _right_shift_numpy, wanted=INTEGERS)


# --- comparisons, and logic of bools ----------------------------------------------------------------


def _comparison(make: type[e.Compare], swapped: bool = False) -> Formula:
    def formula(a: e.Expr, b: e.Expr) -> e.Expr:
        if a.dtype == "bool":
            a, b = e.cast("int32", a), e.cast("int32", b)
        return make(b, a) if swapped else make(a, b)

    return formula


def _on_bools(make: Formula) -> Formula:
    return lambda a, b: make(as_bool(a), as_bool(b))


for _name, _doc, _formula, _function in (
    ("equal", "Whether ``lhs`` equals ``rhs``; false for NaN.", _comparison(e.Equal), np.equal),
    (
        "not_equal",
        "Whether ``lhs`` differs from ``rhs``; true for NaN.",
        _comparison(e.NotEqual),
        np.not_equal,
    ),
    ("less", "Whether ``lhs < rhs``.", _comparison(e.Less), np.less),
    ("less_equal", "Whether ``lhs <= rhs``.", _comparison(e.LessEqual), np.less_equal),
    ("greater", "Whether ``lhs > rhs``.", _comparison(e.Less, True), np.greater),
    (
        "greater_equal",
        "Whether ``lhs >= rhs``.",
        _comparison(e.LessEqual, True),
        np.greater_equal,
    ),
    ("logical_and", "Whether both are not 0.", _on_bools(e.And), np.logical_and),
    ("logical_or", "Whether at least one is not 0.", _on_bools(e.Or), np.logical_or),
    ("logical_xor", "Whether exactly one is not 0.", _on_bools(e.NotEqual), np.logical_xor),
):
    _register(_name, _doc, _formula, _function, wanted=ANY, is_bool=True)


def _where_type(call: Call, condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
    shape = broadcast_shapes(x.shape, y.shape, str(call.op), call.span)
    whole = broadcast_shapes(condition.shape, shape, str(call.op), call.span)
    return TensorType(whole, one_dtype(call, x, y))


def _where_numpy(call: Call, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(condition != 0, x, y)


@broadcast("where", rounding=Rounding.ONCE, infer=_where_type, reference=_where_numpy, homogeneous=True)
def where(call: Call, i: Indices, condition: Tensor, x: Tensor, y: Tensor) -> e.Expr:
    """``x`` where ``condition`` is true or not zero, else ``y``. All three broadcast."""
    shape = broadcast_shapes(condition.shape, broadcast_shapes(x.shape, y.shape))
    condition_value, a, b = (one[broadcast_indices(one.shape, shape, i)] for one in (condition, x, y))
    return e.Select(as_bool(condition_value), a, b)


# --- a vector along an axis -------------------------------------------------------------------------


def _bias_numpy(call: Call, data: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return data + common.along_axis(bias, call["axis"], data.ndim)


@broadcast(
    "nn.bias_add",
    rounding=Rounding.ONCE,
    infer=along_axis_type("bias"),
    reference=_bias_numpy,
    attrs={"axis": 1},
    homogeneous=True,
)
def bias_add(call: Call, i: Indices, data: Tensor, bias: Tensor) -> e.Expr:
    """``data + bias[c]``, where ``c`` is the index along ``axis``."""
    return data[i] + bias[i[call["axis"] % data.ndim]]
