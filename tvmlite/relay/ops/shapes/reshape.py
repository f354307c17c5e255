"""Reshape, with index arithmetic only over axes that are merged or split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Attrs, Call, canonical
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import (
    Dim,
    Shape,
    TensorType,
    normal_dim,
    num_elements,
    same_dim,
    show_shape,
)
from tvmlite.relay.ops.common import fault, is_one
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor


def resolve_shape(call: Call, shape: Shape, wanted: Sequence[Any]) -> Shape:
    """Return ``wanted`` with its codes replaced, as in TVM.

    0 copies the extent of ``shape`` at that position, one -1 is inferred, -2 copies all remaining extents, -3
    is the product of the next two, and -4 splits the next one into the two numbers that follow, one of which
    may be -1.

    With the attribute ``allowzero``, 0 is an extent of zero.
    """
    if any(map(_is_code, wanted)):
        return resolve_shape(call, shape, _expanded(call, shape, wanted))
    found: list[Dim] = []
    for position, extent in enumerate(wanted):
        if not isinstance(extent, int):
            found.append(normal_dim(extent))
        elif extent == 0 and not call.get("allowzero"):
            if position >= len(shape):
                raise fault(
                    call, f"newshape is {show_shape(wanted)}: data {show_shape(shape)} has no such axis"
                )
            found.append(shape[position])
        else:
            found.append(extent)
    open_axes = [k for k, extent in enumerate(found) if isinstance(extent, int) and extent == -1]
    if len(open_axes) > 1:
        raise fault(call, f"newshape is {show_shape(wanted)}, expected at most one -1")
    if open_axes:
        rest = [extent for k, extent in enumerate(found) if k != open_axes[0]]
        found[open_axes[0]] = _quotient(call, shape, rest, wanted)
    elif not same_num_elements(shape, found):
        raise fault(
            call,
            f"data is {show_shape(shape)}, newshape is {show_shape(wanted)}, expected as many elements",
        )
    return tuple(found)


def _is_code(extent: Any) -> bool:
    return isinstance(extent, int) and extent < -1


def has_codes(call: Call) -> bool:
    """Whether the new shape has codes other than 0 and -1; ``passes/write_out`` resolves them."""
    return any(map(_is_code, call["newshape"]))


def _expanded(call: Call, shape: Shape, wanted: Sequence[Any]) -> list[Any]:
    """Return ``wanted`` with the codes -2, -3 and -4 replaced."""
    found: list[Any] = []
    rest, codes = list(shape), list(wanted)

    def next_extent() -> Dim:
        if not rest:
            raise fault(
                call, f"newshape is {show_shape(wanted)}: data {show_shape(shape)} has no axis for each code"
            )
        return rest.pop(0)

    while codes:
        code = codes.pop(0)
        if not isinstance(code, int) or code >= -1:
            if isinstance(code, int) and code == 0:
                found.append(next_extent())
            else:
                found.append(code)
                rest = rest[1:]
        elif code == -2:
            found, rest = [*found, *rest], []
        elif code == -3:
            found.append(normal_dim(next_extent() * next_extent()))
        elif code == -4:
            found += _split_in_two(call, next_extent(), codes[:2], wanted)
            codes = codes[2:]
        else:
            raise fault(
                call,
                f"newshape is {show_shape(wanted)}: {code} is no extent and no code (0, -1, -2, -3, -4)",
            )
    return found


def _split_in_two(call: Call, extent: Dim, parts: list[Any], wanted: Sequence[Any]) -> list[Any]:
    """Return the two extents into which the code -4 splits ``extent``."""
    unknown = [k for k, part in enumerate(parts) if isinstance(part, int) and part == -1]
    if len(parts) != 2 or len(unknown) > 1:
        raise fault(call, f"newshape is {show_shape(wanted)}: two numbers follow -4, of which one may be -1")
    if unknown:
        other = parts[1 - unknown[0]]
        parts[unknown[0]] = normal_dim(extent // other)
    if not same_dim(normal_dim(parts[0] * parts[1]), extent):
        raise fault(
            call,
            f"newshape is {show_shape(wanted)}: -4 splits {extent}, expected numbers whose product it is",
        )
    return parts


def _quotient(call: Call, shape: Shape, rest: Sequence[Dim], wanted: Sequence[Any]) -> Dim:
    """Return the extent that, times those of ``rest``, gives the number of elements of ``shape``."""
    number, symbols, divisor, divisor_symbols = _cancelled(shape, rest)
    if divisor == 0:
        raise fault(call, f"newshape is {show_shape(wanted)}: -1 is ambiguous beside an extent of 0")
    quotient = num_elements([number, *symbols])
    if divisor == 1 and not divisor_symbols:
        return quotient
    below = num_elements([divisor, *divisor_symbols])
    if isinstance(quotient, int) and isinstance(below, int) and quotient % below:
        raise fault(
            call,
            f"data is {show_shape(shape)}, newshape is {show_shape(wanted)}: "
            f"{quotient} elements do not divide by {below}",
        )
    return normal_dim(quotient // below)


def same_num_elements(shape: Sequence[Dim], other: Sequence[Dim]) -> bool:
    """Whether two shapes provably have the same number of elements."""
    number, symbols, other_number, other_symbols = _cancelled(shape, other)
    return same_dim(num_elements([number, *symbols]), num_elements([other_number, *other_symbols]))


def _factors(shape: Sequence[Dim]) -> tuple[int, list[e.Expr]]:
    """Return the number and the symbolic factors of the product of ``shape``."""
    number, symbols = 1, []
    stack = list(reversed(shape))
    while stack:
        one = stack.pop()
        if isinstance(one, e.Mul):
            stack.extend((one.b, one.a))
        elif isinstance(one, e.Const):
            number *= int(one.value)
        elif isinstance(one, e.Expr):
            symbols.append(one)
        else:
            number *= int(one)
    return number, symbols


def _cancelled(left: Sequence[Dim], right: Sequence[Dim]) -> tuple[int, list[e.Expr], int, list[e.Expr]]:
    """Return the factors of two products, without those that both have."""
    number, symbols = _factors(left)
    other_number, others = _factors(right)
    kept = []
    for symbol in symbols:
        match = next((k for k, other in enumerate(others) if same_dim(symbol, other)), None)
        if match is None:
            kept.append(symbol)
        else:
            del others[match]
    common = math.gcd(number, other_number) or 1
    return number // common, kept, other_number // common, others


def regroup(shape: Shape, result: Shape) -> list[tuple[list[int], list[int]]]:
    """Group axes of ``shape`` and ``result``, in order, into the smallest groups of equal size.

    Axes of extent 1 belong to no group.
    """
    left = [k for k, extent in enumerate(shape) if not is_one(extent)]
    right = [k for k, extent in enumerate(result) if not is_one(extent)]
    groups: list[tuple[list[int], list[int]]] = []
    while left and right:
        ours, theirs = [left.pop(0)], [right.pop(0)]
        while True:
            a, a_symbols, b, b_symbols = _cancelled([shape[k] for k in ours], [result[k] for k in theirs])
            if (a, b) == (1, 1) and not a_symbols and not b_symbols:
                break
            a_left, b_left = a > 1 or bool(a_symbols), b > 1 or bool(b_symbols)
            grow_ours = b_left and (not a_left or a < b)
            if left and (grow_ours or not right):
                ours.append(left.pop(0))
            elif right:
                theirs.append(right.pop(0))
            else:
                break
        groups.append((ours, theirs))
    if groups:
        groups[-1][0].extend(left)
        groups[-1][1].extend(right)
    return groups


def reshaped_indices(shape: Shape, result: Shape, indices: Sequence[e.Expr]) -> tuple[Any, ...]:
    """Return where data of ``shape`` holds the element that a reshape to ``result`` moves to ``indices``."""
    found: list[Any] = [0] * len(shape)
    if any(isinstance(extent, int) and extent == 0 for extent in (*shape, *result)):
        return tuple(found)
    for ours, theirs in regroup(shape, result):
        flat: Any = indices[theirs[0]]
        for k in theirs[1:]:
            flat = flat * result[k] + indices[k]
        for k in reversed(ours[1:]):
            found[k] = flat % shape[k]
            flat = flat // shape[k]
        found[ours[0]] = flat
    return tuple(found)


def reshaped(data: Tensor, shape: Shape, name: str) -> Tensor:
    """Reshape ``data``, in row-major order, to a shape with as many elements."""

    def element(*i: e.Expr) -> e.Expr:
        return data[reshaped_indices(data.shape, shape, i)]

    return compute(shape, element, name=name, tag="injective")


def _reshape_type(call: Call, data: TensorType) -> TensorType:
    return TensorType(resolve_shape(call, data.shape, call["newshape"]), data.dtype)


def _reshape_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    wanted = call["newshape"]
    if min(wanted, default=0) < -1:
        wanted = _codes_numpy(data.shape, list(wanted))
    elif not call["allowzero"]:
        wanted = tuple(data.shape[k] if extent == 0 else extent for k, extent in enumerate(wanted))
    return data.reshape(wanted)


def _codes_numpy(shape: tuple[int, ...], codes: list[int]) -> list[int]:
    """The extents that TVM's codes stand for; -1 is left for numpy."""
    found: list[int] = []
    at = 0
    while codes:
        code = codes.pop(0)
        if code == -2:
            found.extend(shape[at:])
            at = len(shape)
        elif code == -3:
            found.append(shape[at] * shape[at + 1])
            at += 2
        elif code == -4:
            first, second = codes.pop(0), codes.pop(0)
            first = shape[at] // second if first == -1 else first
            found.extend((first, shape[at] // first))
            at += 1
        else:
            found.append(shape[at] if code == 0 else code)
            at += 1
    return found


def _evaluated(call: Call, attrs: dict[str, Any], shape: tuple[int, ...]) -> Attrs:
    """Return the evaluated ``attrs`` of a reshape of ``shape``, in which zeros are extents.

    The code 0, a number, copies the extent of ``shape``; an expression that evaluates to 0 does not.
    """
    newshape = list(attrs["newshape"])
    if has_codes(call):
        return canonical(attrs | {"newshape": resolve_shape(call, shape, newshape), "allowzero": True})
    for k, given in enumerate(call["newshape"]):
        if isinstance(given, int) and given == 0 and not call["allowzero"]:
            newshape[k] = shape[k]
    return canonical(attrs | {"newshape": tuple(newshape), "allowzero": True})


@injective(
    "reshape",
    infer=_reshape_type,
    reference=_reshape_numpy,
    attrs={"newshape": REQUIRED, "allowzero": False},
    open_attrs=("newshape",),
    view=True,
    evaluated=_evaluated,
)
def reshape(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``data`` in the shape ``newshape``, in row-major order; it may have codes (``resolve_shape``)."""
    return data[reshaped_indices(data.shape, resolve_shape(call, data.shape, call["newshape"]), i)]
