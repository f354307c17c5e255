"""The static memory plan of a fused graph: where in one workspace each intermediate value lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tvmlite.core import abi
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay.infer import type_of
from tvmlite.relay.ir import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from tvmlite.relay.types import Dim, TensorType, TupleType, normal_dim, show_dim
from tvmlite.te import expr as te

SMALL_NUMBER = 512
"""A size of so many bytes times dimensions is aligned by rounding up the number; below, that would waste
more than rounding up the dimensions."""

VIEWS = ("reshape", "expand_dims", "squeeze")
"""Operators that give the same bytes another shape: outside a group they take no kernel and no memory."""

Slot: TypeAlias = tuple[Expr, int]
"""A value: the node that makes it, and which of its results it is."""


@dataclass(frozen=True)
class MemoryPlan:
    """Byte offsets, multiples of 64, of the intermediate values of a function, in a workspace of ``size``.

    Values whose lives overlap do not overlap in memory. Parameters, constants, the function's results and
    views have no place in it. Offsets and size are ints, or int64 expressions over named dimensions.
    """

    offsets: dict[Slot, Dim]
    size: Dim


@dataclass(frozen=True)
class Lifetime:
    """A value needs memory from the call that makes it to the last that reads it, both included."""

    slot: Slot
    type: TensorType
    first: int
    last: int


def plan(function: Function) -> MemoryPlan:
    """The plan of ``function``, whose calls run in ``postorder`` of its body.

    Values of sizes with one symbolic part (``4 * h * w`` and ``16 * h * w``) share memory among
    themselves; those of different symbolic parts, which nothing orders, do not.
    """
    families: dict[tuple[str, bool], _Family] = {}
    for lifetime in lifetimes(function):
        number, symbolic = _factors(lifetime.type)
        symbolic.sort(key=show_dim)
        small = bool(symbolic) and number % abi.WORKSPACE_ALIGNMENT != 0 and number < SMALL_NUMBER
        key = " * ".join(map(show_dim, symbolic)), small
        family = families.setdefault(key, _Family(_unit(symbolic, small)))
        family.members.append(lifetime)
        family.sizes.append(number if small else abi.align(number))
    offsets: dict[Slot, Dim] = {}
    total: Dim = 0
    for key in sorted(families):
        family = families[key]
        places, extent = _place([(m.first, m.last) for m in family.members], family.sizes)
        for lifetime, place in zip(family.members, places, strict=True):
            offsets[lifetime.slot] = _sum(total, place, family.unit)
        total = _sum(total, extent, family.unit)
    return MemoryPlan(offsets, total)


@dataclass
class _Family:
    """Values whose sizes are multiples of one ``unit`` of bytes (None: a byte), and so share memory."""

    unit: te.Expr | None
    members: list[Lifetime] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


def lifetimes(function: Function) -> list[Lifetime]:
    """The intermediate values of ``function``, in the order they are made."""
    calls: dict[Expr, int] = {}
    last: dict[Slot, int] = {}
    for node in postorder(function.body):
        if is_view(node):
            continue
        if isinstance(node, Call):
            calls[node] = len(calls)
            for arg in node.args:
                last.update((slot, calls[node]) for slot in slots_of(arg))
        elif not isinstance(node, (Var, Constant, Tuple, TupleGetItem)):
            raise UnsupportedError(
                f"a {type(node).__name__} in a graph to plan, which may hold calls, tuples and projections",
                getattr(node, "span", None),
            )
    results = set(slots_of(function.body))
    found: list[Lifetime] = []
    for call, position in calls.items():
        for slot, type_ in zip(slots_of(call), _tensors(call), strict=True):
            if slot not in results:
                found.append(Lifetime(slot, type_, position, last.get(slot, position)))
    return found


def is_view(node: object) -> bool:
    """Whether ``node``, outside a group, is its argument in another shape."""
    return isinstance(node, Call) and node.op in VIEWS


def slots_of(value: Expr) -> list[Slot]:
    """The tensors that make up ``value``, seen through views, tuples and projections."""
    path: list[int] = []
    while is_view(value) or isinstance(value, TupleGetItem) or (isinstance(value, Tuple) and path):
        if isinstance(value, TupleGetItem):
            path.append(value.index)
            value = value.value
        elif isinstance(value, Tuple):
            value = value.fields[path.pop()]
        else:
            (value,) = value.args  # type: ignore[union-attr]
    if isinstance(value, Tuple):
        return [slot for field in value.fields for slot in slots_of(field)]
    if path:
        return [(value, path[-1])]
    type_ = type_of(value)
    return [(value, index) for index in range(len(type_.fields) if isinstance(type_, TupleType) else 1)]


def _tensors(call: Expr) -> tuple[TensorType, ...]:
    type_ = type_of(call)
    fields = type_.fields if isinstance(type_, TupleType) else (type_,)
    assert all(isinstance(t, TensorType) for t in fields), "a call gives a tensor or a tuple of tensors"
    return fields  # type: ignore[return-value]


def _factors(type_: TensorType) -> tuple[int, list[te.Expr]]:
    """The bytes of ``type_`` as a number times named or composite dimensions."""
    number, symbolic = dtypes.bytes_of(type_.dtype), []
    stack: list[Dim] = list(type_.shape)
    while stack:
        match stack.pop():
            case int(extent) | te.Const(value=int(extent)):
                number *= extent
            case te.Mul(a=a, b=b):
                stack.extend((b, a))
            case extent:
                symbolic.append(extent)
    return number, symbolic


def _unit(symbolic: Sequence[te.Expr], small: bool) -> te.Expr | None:
    """The symbolic part of a family's sizes; for small numbers of it, rounded up to a multiple of 64."""
    if not symbolic:
        return None
    product = symbolic[0]
    for factor in symbolic[1:]:
        product = product * factor
    if not small:
        return product
    return (product + (abi.WORKSPACE_ALIGNMENT - 1)) // abi.WORKSPACE_ALIGNMENT * abi.WORKSPACE_ALIGNMENT


def _sum(start: Dim, count: int, unit: te.Expr | None) -> Dim:
    return normal_dim(start + (count if unit is None else unit * count))


def _place(lives: Sequence[tuple[int, int]], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Offsets of intervals in time with ``sizes``, and the room they need: largest first, lowest gap."""
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], lives[i]))
    offsets = [0] * len(sizes)
    placed: list[int] = []
    for index in order:
        first, last = lives[index]
        taken = sorted(
            (offsets[other], offsets[other] + sizes[other])
            for other in placed
            if lives[other][0] <= last and first <= lives[other][1]
        )
        start = 0
        for low, high in taken:
            if low - start >= sizes[index]:
                break
            start = max(start, high)
        offsets[index] = start
        placed.append(index)
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)
