"""Helpers for all operator families: errors, axes, dtype rules, and te's corner cases in numpy."""

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
    """Return a type error for ``call``: the operator's name and ``message``, with the span of the call."""
    return TypeInferError(f"{call.op}: {message}", call.span, hint)


Dtypes = tuple[str, Callable[[str], bool]]
"""A set of dtypes: its name in error messages, and a predicate for whether a dtype is in it."""

ANY: Dtypes = "any dtype", lambda dtype: True
FLOAT: Dtypes = "a float", dtypes.is_float
NUMBERS: Dtypes = "numbers", lambda dtype: dtype != "bool"
INTEGERS: Dtypes = "integers", dtypes.is_int
_BOOL_HINT = "cast makes numbers of bools; logical_and, logical_or and logical_xor take them"
NO_FLOATS: Dtypes = "integers or bools", lambda dtype: not dtypes.is_float(dtype)


def expect(call: Call, given: str, dtype: str, wanted: Dtypes) -> None:
    """Raise a type error unless ``dtype`` is in ``wanted``; ``given`` starts the message: "data is"."""
    name, holds = wanted
    if not holds(dtype):
        raise fault(call, f"{given} {dtype}, expected {name}", _BOOL_HINT if dtype == "bool" else None)


def same_as_first(call: Call, data: TensorType, *others: TensorType) -> TensorType:
    """The type of the first argument."""
    return data


def data_type(
    wanted: Dtypes, axes: Callable[..., Any] | None = None, dtype: str = ""
) -> Callable[..., TensorType]:
    """Return the type relation of results with the type of the data, or with ``dtype`` if it is given.

    The data's dtype must be in ``wanted``. ``axes`` checks the attribute ``axis``: ``axis_of`` if it names
    one axis, ``axes_of`` if it names several.
    """

    def infer(call: Call, data: TensorType) -> TensorType:
        expect(call, "data is", data.dtype, wanted)
        if axes is not None:
            axes(call, call["axis"], data.ndim)
        return TensorType(data.shape, dtype or data.dtype)

    return infer


def one_dtype(call: Call, *types: TensorType) -> str:
    """Return the dtype that all of ``types`` share; raise a type error if they differ."""
    given = [t.dtype for t in types]
    if len(set(given)) > 1:
        raise fault(call, f"dtypes are {' and '.join(given)}, expected one dtype")
    return given[0]


def axis_of(call: Call, axis: Any, rank: int, name: str = "axis") -> int:
    """Return ``axis`` as a non-negative axis of a tensor with ``rank`` axes."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise fault(call, f"{name} is {axis}, expected one of the {rank} axes of the data")
    return axis % rank


def axes_of(call: Call, axes: Any, rank: int, name: str = "axis") -> tuple[int, ...]:
    """Return ``axes`` (one, several, or None for all) sorted and non-negative; none may repeat."""
    if axes is None:
        return tuple(range(rank))
    several = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = sorted(axis_of(call, axis, rank, name) for axis in several)
    if len(set(found)) != len(found):
        raise fault(call, f"{name} is {axes}, which names an axis twice")
    return tuple(found)


def along_axis(values: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """Reshape the vector ``values`` to broadcast along ``axis`` of a tensor with ``rank`` axes."""
    return values.reshape([-1 if k == axis % rank else 1 for k in range(rank)])


def replaced(at: Sequence[Any], axis: int, *values: Any) -> tuple[Any, ...]:
    """Return the indices or extents ``at`` with ``values`` in place of the entry for ``axis``."""
    return (*at[:axis], *values, *at[axis + 1 :])


def is_one(extent: Dim) -> bool:
    """Whether ``extent`` is the number 1."""
    return isinstance(extent, int) and extent == 1


def broadcast_indices(shape: Sequence[Any], result: Shape, indices: Sequence[e.Expr]) -> tuple[Any, ...]:
    """Return where a tensor of ``shape``, broadcast to ``result``, is read for the element at ``indices``."""
    skip = len(result) - len(shape)
    return tuple(
        0 if is_one(own) and not is_one(extent) else index
        for own, extent, index in zip(shape, result[skip:], indices[skip:], strict=True)
    )


def elementwise(data: Tensor, formula: Callable[[e.Expr], Any], name: str, tag: str = "elemwise") -> Tensor:
    """Apply ``formula`` to each element of ``data``."""

    def element(*i: e.Expr) -> Any:
        return formula(data[i])

    return compute(data.shape, element, name=name, tag=tag)


def short_name(call: Call) -> str:
    """Return the operator's name without its family, which is the name of its te stage."""
    return str(call.op).rsplit(".", 1)[-1]


def intrinsic(name: str, *args: e.Expr) -> e.Expr:
    """Call the intrinsic ``name`` in the dtype of ``args``; 16-bit and narrower floats compute in float32."""
    dtype = args[0].dtype
    if dtypes.is_float(dtype) and dtypes.bits(dtype) <= 16:
        return e.cast(dtype, e.Call(name, tuple(e.cast("float32", a) for a in args), "float32"))
    return e.Call(name, args, dtype)


def as_bool(value: e.Expr) -> e.Expr:
    """Whether ``value`` is not zero; true for NaN."""
    return value if value.dtype == "bool" else e.NotEqual(*e.match(value, 0))


def scalar_of(value: Any, dtype: str) -> e.Expr:
    """Convert the attribute ``value``, a number or a dimension, to an expression of ``dtype``."""
    return e.cast(dtype, value) if isinstance(value, e.Expr) else e.const(value, dtype)


def clamp(index: e.Expr, extent: Any) -> e.Expr:
    """Clamp ``index`` to ``0 .. extent - 1``, which is always in range unless the extent is 0."""
    top = e.convert(extent) - 1 if isinstance(extent, e.Expr) else e.const(extent - 1, index.dtype)
    return e.Max(*e.match(e.Min(*e.match(index, top)), 0))


def unless_empty(extents: Sequence[Any], value: e.Expr) -> e.Expr:
    """Return ``value``, which reads along axes of ``extents``, or 0 without any read if an extent is 0."""
    for extent in extents:
        nonempty = e.convert(extent) >= 1
        if isinstance(nonempty, bool) or arith.Analyzer().prove(nonempty):
            continue
        value = e.Call("if_then_else", (nonempty, value, e.const(0, value.dtype)), value.dtype)
    return value


def as_index(value: e.Expr, extent: Any) -> e.Expr:
    """Convert the integer ``value`` so that comparing it with ``extent`` does not wrap."""
    small = isinstance(extent, int) and extent < 2**31 and dtypes.bits(value.dtype) <= 32
    return e.cast("int32" if small and value.dtype != "uint32" else "int64", value)


def normalize_index(index: e.Expr, extent: Any) -> e.Expr:
    """Return ``index`` into an axis of ``extent``, counted from the end if it is negative."""
    wide = as_index(index, extent)
    return wide if dtypes.is_unsigned(index.dtype) else e.Select(wide < 0, wide + extent, wide)


def expect_extent(call: Call, what: str, given: Dim, expected: Dim) -> None:
    """Raise a type error unless the extent ``given`` is known to equal ``expected``; ``what`` names it."""
    if not same_dim(given, expected):
        raise fault(call, f"{what} is {given}, expected {expected}")


def along_axis_type(what: str) -> Callable[[Call, TensorType, TensorType], TensorType]:
    """Return the type relation of data with a vector along ``axis``, which errors call ``what``."""

    def infer(call: Call, data: TensorType, vector: TensorType) -> TensorType:
        axis = axis_of(call, call["axis"], data.ndim)
        one_dtype(call, data, vector)
        if vector.ndim != 1:
            raise fault(call, f"{what} has {vector.ndim} axes, expected 1")
        expect_extent(call, f"{what}'s extent", vector.shape[0], data.shape[axis])
        return data

    return infer


def product_of(extents: Shape) -> Dim:
    """Return the number of elements of an array of ``extents``."""
    total: Dim = 1
    for extent in extents:
        total = total * extent
    return total


def ravelled(at: Sequence[Any], extents: Shape) -> Any:
    """Return the flat index of the element ``at`` in a row-major array of ``extents``."""
    flat: Any = 0
    for index, extent in zip(at, extents, strict=True):
        flat = flat * extent + index
    return flat


def unravelled(flat: Any, extents: Shape) -> list[Any]:
    """Return the indices of the element with flat index ``flat`` in a row-major array of ``extents``."""
    if not extents:
        return []
    places: list[Any] = []
    for extent in reversed(extents[1:]):
        places.append(flat % extent)
        flat = flat // extent
    return [flat, *reversed(places)]


# --- corner cases of te's arithmetic (``te/expr``), in numpy --------------------------------------


def numpy_reference(function: Callable[..., Any], *attributes: str) -> Reference:
    """Return a reference: ``function`` of a call's arrays and ``attributes``, in the first array's dtype."""

    def reference(call: Call, data: np.ndarray, *others: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            made = function(data, *others, *(call[name] for name in attributes))
            return np.asarray(made).astype(data.dtype, copy=False)

    return reference


def truncating_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide integers, rounding towards zero; division by zero gives 0."""
    quotient = floor_divide(a, b)
    inexact = quotient * b != a
    return np.where((b != 0) & inexact & ((a < 0) != (b < 0)), quotient + 1, quotient).astype(a.dtype)


def truncating_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The remainder of ``truncating_divide``, with the sign of ``a``; 0 for division by zero."""
    return np.where(b == 0, 0, a - truncating_divide(a, b) * b).astype(a.dtype)


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide integers, rounding towards minus infinity; division by zero gives 0."""
    with np.errstate(all="ignore"):
        return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b).astype(b.dtype))).astype(a.dtype)


def floor_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The remainder of ``floor_divide``, with the sign of ``b``; 0 for division by zero."""
    return np.where(b == 0, 0, a - floor_divide(a, b) * b).astype(a.dtype)


def convert_numpy(array: np.ndarray, dtype: str) -> np.ndarray:
    """Convert ``array`` to ``dtype``: floats truncate and saturate to integers, NaN to 0; bool is ``!= 0``.

    Narrow dtypes are converted as ``core.dtype`` defines.
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
    """Evaluate the polynomial with ``coefficients``, lowest power first, at ``x``."""
    value: e.Expr = e.const(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        value = e.ContractedAdd(value * x, e.const(coefficient, x.dtype))
    return value
