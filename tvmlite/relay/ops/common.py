"""What operator families share: their errors, axes, dtype rules, and the edges of arithmetic in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import Dim, Shape, TensorType, same_dim
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.loop.scalars import to_narrow
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor

Reference = Callable[..., Any]


def fault(call: Call, message: str, hint: str | None = None) -> TypeInferError:
    """The error of ``call``: ``message`` after the operator's name, and where the call was written."""
    return TypeInferError(f"{call.op}: {message}", call.span, hint)


Dtypes = tuple[str, Callable[[str], bool]]
"""A set of dtypes: what errors call it, and whether a dtype is in it."""

ANY: Dtypes = "any dtype", lambda dtype: True
FLOAT: Dtypes = "a float", dtypes.is_float
NUMBERS: Dtypes = "numbers", lambda dtype: dtype != "bool"
INTEGERS: Dtypes = "integers", dtypes.is_int
_OF_BOOLS = "cast makes numbers of bools; logical_and, logical_or and logical_xor take them"
NO_FLOATS: Dtypes = "integers or bools", lambda dtype: not dtypes.is_float(dtype)


def expect(call: Call, given: str, dtype: str, wanted: Dtypes) -> None:
    """Refuse a ``dtype`` that is not one of ``wanted``; ``given`` begins the message: "data is"."""
    name, holds = wanted
    if not holds(dtype):
        raise fault(call, f"{given} {dtype}, expected {name}", _OF_BOOLS if dtype == "bool" else None)


def same_as_first(call: Call, data: TensorType, *others: TensorType) -> TensorType:
    """The type of the first argument."""
    return data


def data_type(
    wanted: Dtypes, axes: Callable[..., Any] | None = None, dtype: str = ""
) -> Callable[..., TensorType]:
    """The type relation of results that have the type of the data, but for a ``dtype`` if there is one.

    The data must be one of ``wanted``, and have what the attribute ``axis`` names: one axis, ``axis_of``, or
    several, ``axes_of``.
    """

    def infer(call: Call, data: TensorType) -> TensorType:
        expect(call, "data is", data.dtype, wanted)
        if axes is not None:
            axes(call, call["axis"], data.ndim)
        return TensorType(data.shape, dtype or data.dtype)

    return infer


def one_dtype(call: Call, *types: TensorType) -> str:
    """The dtype that all of ``types`` share."""
    given = [t.dtype for t in types]
    if len(set(given)) > 1:
        raise fault(call, f"dtypes are {' and '.join(given)}, expected one dtype")
    return given[0]


def axis_of(call: Call, axis: Any, rank: int, name: str = "axis") -> int:
    """``axis`` counted from the front, of a tensor with ``rank`` axes."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise fault(call, f"{name} is {axis}, expected one of the {rank} axes of the data")
    return axis % rank


def axes_of(call: Call, axes: Any, rank: int, name: str = "axis") -> tuple[int, ...]:
    """``axes`` (one, several, or None for all) counted from the front, sorted; none may repeat."""
    if axes is None:
        return tuple(range(rank))
    several = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = sorted(axis_of(call, axis, rank, name) for axis in several)
    if len(set(found)) != len(found):
        raise fault(call, f"{name} is {axes}, which names an axis twice")
    return tuple(found)


def along_axis(values: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """A vector shaped so that it broadcasts along ``axis`` of ``rank``."""
    return values.reshape([-1 if k == axis % rank else 1 for k in range(rank)])


def replaced(at: Sequence[Any], axis: int, *values: Any) -> tuple[Any, ...]:
    """``at``, indices or extents, with ``values`` in place of the one of ``axis``."""
    return (*at[:axis], *values, *at[axis + 1 :])


def is_one(extent: Dim) -> bool:
    """Whether ``extent`` is the number 1."""
    return isinstance(extent, int) and extent == 1


def broadcast_indices(shape: Sequence[Any], result: Shape, indices: Sequence[e.Expr]) -> tuple[Any, ...]:
    """Where a tensor of ``shape`` is read for element ``indices`` of the ``result`` it is broadcast to."""
    skip = len(result) - len(shape)
    return tuple(
        0 if is_one(own) and not is_one(extent) else index
        for own, extent, index in zip(shape, result[skip:], indices[skip:], strict=True)
    )


def elementwise(data: Tensor, formula: Callable[[e.Expr], Any], name: str, tag: str = "elemwise") -> Tensor:
    """``formula`` of each element of ``data``."""

    def element(*i: e.Expr) -> Any:
        return formula(data[i])

    return compute(data.shape, element, name=name, tag=tag)


def short_name(call: Call) -> str:
    """The operator's name without its family: what its te stage is called."""
    return str(call.op).rsplit(".", 1)[-1]


def intrinsic(name: str, *args: e.Expr) -> e.Expr:
    """The intrinsic ``name`` in the dtype of ``args``; 16-bit and narrower floats compute in float32."""
    dtype = args[0].dtype
    if dtypes.is_float(dtype) and dtypes.bits(dtype) <= 16:
        return e.cast(dtype, e.Call(name, tuple(e.cast("float32", a) for a in args), "float32"))
    return e.Call(name, args, dtype)


def as_bool(value: e.Expr) -> e.Expr:
    """Whether ``value`` is not zero (NaN is not)."""
    return value if value.dtype == "bool" else e.NotEqual(*e.match(value, 0))


def scalar_of(value: Any, dtype: str) -> e.Expr:
    """An attribute, a number or a dimension, as a value of ``dtype``."""
    return e.cast(dtype, value) if isinstance(value, e.Expr) else e.const(value, dtype)


def clamp(index: e.Expr, extent: Any) -> e.Expr:
    """``index``, or the nearest of ``0 .. extent - 1``; never outside a tensor that has elements."""
    top = e.convert(extent) - 1 if isinstance(extent, e.Expr) else e.const(extent - 1, index.dtype)
    return e.Max(*e.match(e.Min(*e.match(index, top)), 0))


def unless_empty(extents: Sequence[Any], value: e.Expr) -> e.Expr:
    """``value``, which reads along axes of ``extents``; 0, without a read, if one of them is 0."""
    for extent in extents:
        some = e.convert(extent) >= 1
        if isinstance(some, bool) or arith.Analyzer().prove(some):
            continue
        value = e.Call("if_then_else", (some, value, e.const(0, value.dtype)), value.dtype)
    return value


def as_index(value: e.Expr, extent: Any) -> e.Expr:
    """``value``, an integer of any width, as one that can be compared with ``extent`` without wrapping."""
    small = isinstance(extent, int) and extent < 2**31 and dtypes.bits(value.dtype) <= 32
    return e.cast("int32" if small and value.dtype != "uint32" else "int64", value)


def from_end(index: e.Expr, extent: Any) -> e.Expr:
    """``index`` into an axis of ``extent``, negative ones counted from the end."""
    wide = as_index(index, extent)
    return wide if dtypes.is_unsigned(index.dtype) else e.Select(wide < 0, wide + extent, wide)


def agree(call: Call, what: str, given: Dim, expected: Dim) -> None:
    """Refuse an extent that is not known to be the one ``expected``."""
    if not same_dim(given, expected):
        raise fault(call, f"{what} is {given}, expected {expected}")


def along_axis_type(what: str) -> Callable[[Call, TensorType, TensorType], TensorType]:
    """The type of data with a vector along the call's ``axis``: the data's. Errors call that ``what``."""

    def infer(call: Call, data: TensorType, vector: TensorType) -> TensorType:
        axis = axis_of(call, call["axis"], data.ndim)
        one_dtype(call, data, vector)
        if vector.ndim != 1:
            raise fault(call, f"{what} has {vector.ndim} axes, expected 1")
        agree(call, f"{what}'s extent", vector.shape[0], data.shape[axis])
        return data

    return infer


def product_of(extents: Shape) -> Dim:
    """How many elements an array of ``extents`` has."""
    total: Dim = 1
    for extent in extents:
        total = total * extent
    return total


def ravelled(at: Sequence[Any], extents: Shape) -> Any:
    """The number of the element at ``at`` in an array of ``extents``."""
    flat: Any = 0
    for index, extent in zip(at, extents, strict=True):
        flat = flat * extent + index
    return flat


def unravelled(flat: Any, extents: Shape) -> list[Any]:
    """The place in an array of ``extents`` of its element number ``flat``."""
    if not extents:
        return []
    places: list[Any] = []
    for extent in reversed(extents[1:]):
        places.append(flat % extent)
        flat = flat // extent
    return [flat, *reversed(places)]


# --- the edges of te's arithmetic (``te/expr``), in numpy ----------------------------------------


def quietly(function: Callable[..., Any], *attributes: str) -> Reference:
    """``function`` of the arrays of a call and of these ``attributes``, in the dtype of the first array."""

    def reference(call: Call, data: np.ndarray, *others: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            made = function(data, *others, *(call[name] for name in attributes))
            return np.asarray(made).astype(data.dtype, copy=False)

    return reference


def truncating_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division rounded towards zero; by zero it gives 0."""
    quotient = floor_divide(a, b)
    inexact = quotient * b != a
    return np.where((b != 0) & inexact & ((a < 0) != (b < 0)), quotient + 1, quotient).astype(a.dtype)


def truncating_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The remainder of ``truncating_divide``, with the sign of ``a``; by zero it gives 0."""
    return np.where(b == 0, 0, a - truncating_divide(a, b) * b).astype(a.dtype)


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division rounded towards minus infinity; by zero it gives 0."""
    with np.errstate(all="ignore"):
        return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b).astype(b.dtype))).astype(a.dtype)


def floor_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The remainder of ``floor_divide``, with the sign of ``b``; by zero it gives 0."""
    return np.where(b == 0, 0, a - floor_divide(a, b) * b).astype(a.dtype)


def convert_numpy(array: np.ndarray, dtype: str) -> np.ndarray:
    """``array`` in ``dtype``: from float to int truncating and saturating, NaN to 0; to bool ``!= 0``.

    Narrow dtypes are as ``core.dtype`` says.
    """
    target = dtypes.numpy_of(dtype)
    source = dtypes.check(array.dtype)
    with np.errstate(all="ignore"):
        if source == dtype:
            return array
        if dtypes.is_narrow(dtype):
            return to_narrow(array, dtype)
        if not (dtypes.is_float(source) and dtypes.is_int(dtype)):
            return array.astype(target)
        low, high = dtypes.limits(dtype)
        wide = np.trunc(array.astype(np.float64))
        inside = np.where((wide > float(low)) & (wide < float(high)), wide, 0).astype(target)
        capped = np.where(wide >= float(high), np.array(high, target), inside)
        return np.where(wide <= float(low), np.array(low, target), capped).astype(target)


def horner(x: e.Expr, coefficients: Sequence[float]) -> e.Expr:
    """The polynomial of ``coefficients``, lowest power first, at ``x``."""
    value: e.Expr = e.const(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        value = e.ContractedAdd(value * x, e.const(coefficient, x.dtype))
    return value
