"""Access patterns of formulas: the strides of their reads along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tvmlite.core.node import postorder, substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import INLINE
from tvmlite.te.templates.group import Group, extent_of, nodes_of, number, product
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor, TensorRead

ABSENT, UNIT, NEAR, STRIDED = "absent", "unit", "near", "strided"
"""A read does not depend on an axis; has stride 1 along it; a stride of a few elements; or another stride."""

CACHED_PATTERNS = 1024
"""The number of cached results of ``access_pattern``, for later schedules of the same computation."""

MOST_NEAR_STRIDE = 4
"""The largest stride that counts as ``NEAR``."""


def reads_of(op: ComputeOp) -> list[TensorRead]:
    """The distinct reads in the formula of ``op``."""
    return [node for node in nodes_of(op) if isinstance(node, TensorRead)]


def reads_by_formula(group: Group, op: ComputeOp) -> list[TensorRead]:
    """The reads of ``op`` after inlining, as reads of the schedule's current tensors."""
    return group.cached((reads_by_formula, op), lambda: _reads_by_formula(group, op))


def _reads_by_formula(group: Group, op: ComputeOp) -> list[TensorRead]:
    made = group.inlined()
    present = {made[stage.op].op: stage.op for stage in group.schedule.stages if stage.attach_type != INLINE}
    formula = made[op].op
    assert isinstance(formula, ComputeOp)
    reads = [read for read in reads_of(formula) if read.indices]
    return [TensorRead(present[r.tensor.op].output(r.tensor.value_index), r.indices) for r in reads]


@lru_cache(maxsize=CACHED_PATTERNS)
def access_pattern(read: TensorRead, axis: IterVar, lanes: int) -> str:
    """The access pattern of ``read`` along ``axis``: ``ABSENT``, ``UNIT``, ``NEAR`` or ``STRIDED``.

    If quotients or remainders make the stride vary, it is the one within a vector of ``lanes`` that begins at
    a multiple of ``lanes``.
    """
    if not any(mentions(index, axis.var) for index in read.indices):
        return ABSENT
    place, known = _address(read)
    analyzer = Analyzer()
    if (extent := extent_of(axis)) is not None:
        analyzer.bind(axis.var, 0, extent)
    stride = coefficient(analyzer.simplify(place), axis.var)
    if stride is None:
        stride = _within_a_vector(place, axis, lanes)
    if not known and any(mentions(index, axis.var) for index in read.indices[:-1]):
        return STRIDED
    if stride is None or not 1 <= stride <= MOST_NEAR_STRIDE:
        return STRIDED
    return UNIT if stride == 1 else NEAR


def _address(read: TensorRead) -> tuple[e.Expr, bool]:
    """The offset of the element that is read, in elements, and whether it is complete: dimensions outside one
    of unknown extent are left out."""
    place: e.Expr = e.const(0, "int64")
    step = 1
    for index, extent in zip(reversed(read.indices), reversed(read.tensor.shape), strict=True):
        place = place + e.cast("int64", index) * step
        count = number(extent)
        if count is None:
            return place, index is read.indices[0]
        step *= count
    return place, True


def mentions(index: e.Expr, var: e.Var) -> bool:
    """Whether ``var`` occurs in ``index``."""
    return any(node is var for node in postorder(index))


def have_one_stride(op: ComputeOp, outer: IterVar, inner: IterVar) -> bool:
    """Whether the two axes can be fused: each read of ``op`` has one stride over both, and they occur only in
    indices of reads."""
    extent = extent_of(inner)
    if extent is None or extent_of(outer) is None or _used_outside_reads(op, {outer.var, inner.var}):
        return False
    for read in reads_of(op):
        steps = [_stride(read, axis) for axis in (outer, inner)]
        if None in steps or steps[0] != steps[1] * extent:  # type: ignore[operator]
            return False
    return True


def _stride(read: TensorRead, axis: IterVar) -> int | None:
    """The stride of ``read`` along ``axis``, in elements; None if not known."""
    stride, rest = 0, 1
    for index, extent in zip(reversed(read.indices), reversed(read.tensor.shape), strict=True):
        factor, known = coefficient(index, axis.var), number(extent)
        if factor is None or known is None:
            return None
        stride, rest = stride + factor * rest, rest * known
    return stride


def _used_outside_reads(op: ComputeOp, variables: set[e.Expr]) -> bool:
    """Whether the formula of ``op`` uses one of ``variables`` outside the indices of its reads."""
    todo: list[Any] = list(op.body)
    while todo:
        node = todo.pop()
        if node in variables:
            return True
        if not isinstance(node, TensorRead):
            todo.extend(node.children())
    return False


def coefficient(index: e.Expr, var: e.Var) -> int | None:
    """The coefficient of ``var`` in ``index``; None if ``index`` is not affine in it."""
    match index:
        case e.Var():
            return int(index is var)
        case e.Add(a, b) | e.Sub(a, b):
            first, second = coefficient(a, var), coefficient(b, var)
            if first is None or second is None:
                return None
            return first + second if isinstance(index, e.Add) else first - second
        case e.Mul(a, e.Const(value)) | e.Mul(e.Const(value), a):
            inner = coefficient(a, var)
            return None if inner is None else inner * int(value)
        case e.Cast(value=a):
            return coefficient(a, var)
        case _:
            return None if mentions(index, var) else 0


def _within_a_vector(index: e.Expr, axis: IterVar, lanes: int) -> int | None:
    """The coefficient of ``lane`` in ``index`` with the axis as ``vector * lanes + lane``."""
    analyzer = Analyzer()
    vector, lane = e.Var("vector", axis.var.dtype), e.Var("lane", axis.var.dtype)
    analyzer.bind(lane, 0, lanes)
    extent = extent_of(axis)
    if extent is not None:
        analyzer.bind(vector, 0, -(-extent // lanes))
    return coefficient(analyzer.simplify(substitute(index, {axis.var: vector * lanes + lane})), lane)


# --- correspondence of the axes of an anchor and its host ---------------------------------------


@dataclass(frozen=True)
class Digit:
    """``axis // step % base``; without the remainder if ``base`` is None."""

    axis: IterVar
    step: int
    base: int | None


@dataclass(frozen=True)
class Fused:
    """Neighbouring axes, fused."""

    axes: tuple[IterVar, ...]


def correspondence(group: Group, anchor: ComputeOp, host: Tensor) -> list[Digit | Fused] | None:
    """For each data axis of ``anchor``, the part of the axes of ``host`` that it corresponds to, if ``host``
    reads each element once for one element of its own; else None."""
    return group.cached((correspondence, anchor, host), lambda: _correspondence(group, anchor, host))


def _correspondence(group: Group, anchor: ComputeOp, host: Tensor) -> list[Digit | Fused] | None:
    schedule = group.inlined()
    made = schedule[anchor].op
    reader = schedule[host].op
    assert isinstance(reader, ComputeOp)
    if reader is made:
        return [Digit(axis, 1, None) for axis in anchor.axis]
    reads = [read for read in reads_of(reader) if read.tensor.op is made]
    if not reads or reader.reduce_axis or any(read.indices != reads[0].indices for read in reads[1:]):
        return None
    analyzer = Analyzer()
    for axis in reader.axis:
        extent = extent_of(axis)
        if extent is not None and extent > 1:  # else the axis would be simplified to 0
            analyzer.bind(axis.var, 0, extent)
    found: list[Digit | Fused] = []
    for index, axis in zip(reads[0].indices, anchor.axis, strict=True):
        one = _part(analyzer.simplify(index), reader.axis, extent_of(axis))
        if one is None:
            return None
        found.append(one)
    return found if _covers_once(found, reader.axis) else None


def _part(index: e.Expr, axes: Sequence[IterVar], extent: int | None) -> Digit | Fused | None:
    """``index`` as one of ``axes``, a digit of one, or several of them fused; None if it is neither."""
    by_var = {axis.var: axis for axis in axes}
    match index:
        case e.Const(0) if extent == 1:
            return Fused(())
        case e.Var() if index in by_var:
            return Digit(by_var[index], 1, None)
        case e.FloorDiv(e.Var() as var, e.Const(step)) if var in by_var:
            return Digit(by_var[var], int(step), None)
        case e.FloorMod(e.Var() as var, e.Const(base)) if var in by_var:
            return Digit(by_var[var], 1, int(base))
        case e.FloorMod(e.FloorDiv(e.Var() as var, e.Const(step)), e.Const(base)) if var in by_var:
            return Digit(by_var[var], int(step), int(base))
    return _fused(index, axes)


def _fused(index: e.Expr, axes: Sequence[IterVar]) -> Fused | None:
    """The neighbouring ``axes`` over which ``index`` is a row-major element number; None for others."""
    inside = [axis for axis in axes if mentions(index, axis.var)]
    step = 1
    for axis in reversed(inside):
        extent = extent_of(axis)
        if extent is None or coefficient(index, axis.var) != step:
            return None
        step *= extent
    neighbours = [n for n, axis in enumerate(axes) if axis in inside]
    together = neighbours == list(range(neighbours[0], neighbours[0] + len(inside))) if inside else False
    return Fused(tuple(inside)) if together else None


def _covers_once(parts: Sequence[Digit | Fused], axes: Sequence[IterVar]) -> bool:
    """Whether ``parts`` cover each of ``axes`` exactly once."""
    digits: dict[IterVar, list[Digit]] = {axis: [] for axis in axes}
    for part in parts:
        if isinstance(part, Digit):
            digits[part.axis].append(part)
    for axis, own in digits.items():
        fused = [part for part in parts if isinstance(part, Fused) and axis in part.axes]
        if len(fused) + bool(own) != 1:
            if fused or own or extent_of(axis) != 1:
                return False
            continue
        step = 1
        for place, digit in enumerate(sorted(own, key=lambda d: d.step)):
            if digit.step != step or (digit.base is None) != (place == len(own) - 1):
                return False
            step *= digit.base or 1
    return True


def loops_of(stage: Stage, parts: Sequence[Digit | Fused]) -> list[IterVar | None]:
    """The loops of ``stage`` for ``parts``, made by splits and fuses; None for a part without axes."""
    loops: dict[int, IterVar | None] = {}
    digits = sorted(
        ((n, p) for n, p in enumerate(parts) if isinstance(p, Digit)), key=lambda pair: pair[1].step
    )
    rest: dict[IterVar, IterVar] = {}
    for place, digit in digits:
        whole = rest.get(digit.axis, digit.axis)
        if digit.base is None:
            loops[place] = whole
        else:
            rest[digit.axis], loops[place] = stage.split(whole, factor=digit.base)
    for place, part in enumerate(parts):
        if isinstance(part, Fused):
            loops[place] = stage.fuse(*part.axes) if part.axes else None
    return [loops[place] for place in range(len(parts))]


def elements(tensor: Tensor) -> int | None:
    """The number of elements of ``tensor``; None if not known."""
    return product(number(extent) for extent in tensor.shape)
