"""Matching of a stage's inner loops with an intrinsic's computation, whose statement replaces them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.alike import alike
from tvmlite.core.node import postorder, substitute
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.lowering.building import Building
from tvmlite.te.lowering.extensions.intrinsic_windows import (
    FlatWindow,
    Matching,
    Mismatch,
    Statements,
    Window,
    bind_windows,
    equal,
    strides_of,
)
from tvmlite.te.lowering.intervals import at_least, simplify
from tvmlite.te.lowering.widen import Widening
from tvmlite.te.schedule.relations import Interval, Number, intervals_up
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.inline import Bodies
from tvmlite.te.tensor.tensor import IterVar, TensorRead

_COMMUTE = (e.Add, e.Mul, e.Min, e.Max, e.And, e.Or, e.Equal, e.NotEqual)


def intrinsic_statements(
    stage: Stage, building: Building, inner: Sequence[IterVar], risky: set[IterVar]
) -> Statements:
    """The statements of the stage's intrinsic, on the buffers that the loops ``inner`` access.

    A ScheduleError says how the stage's computation differs from the intrinsic's.
    """
    assert stage.tensorized is not None
    _, intrin = stage.tensorized
    matching = Matching(stage, intrin, building)
    with building.bounds.inside(stage, own=True):
        lows = _axis_starts(matching, inner, risky)
        matching.outside.update(_outer_values(matching, inner, lows))
        try:
            _match_computation(matching, lows)
            _match_outputs(matching, lows)
            return bind_windows(matching)
        except Mismatch as difference:
            raise matching.fail(str(difference)) from None


def _axis_starts(
    matching: Matching, inner: Sequence[IterVar], risky: set[IterVar]
) -> dict[IterVar, tuple[Number, int]]:
    """For each axis of the operation, the first value and the number of values in the inner loops."""
    stage, bounds = matching.stage, matching.building.bounds
    found = {leaf: Interval(bounds.position(leaf), 0) for leaf in stage.leaf_iter_vars}
    for leaf in inner:
        first, extent = bounds.ranges[leaf]
        found[leaf] = Interval(first, extent - 1)
    intervals_up(stage.relations, bounds.ranges, found)
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    analyzer = bounds.analyzer
    result: dict[IterVar, tuple[Number, int]] = {}
    for axis in stage.all_iter_vars:
        own = axis in op.axis or axis in op.reduce_axis
        if not own and axis not in risky:
            continue
        low, width = (simplify(analyzer, x) for x in found[axis])
        if not isinstance(width, int):
            raise matching.fail(f"axis {axis.var.name} runs over {width + 1} values, which is no constant")
        first, extent = bounds.whole[axis] if own else bounds.ranges[axis]
        room = (low - first, first + extent - 1 - width - low)
        if width and not all(at_least(simplify(analyzer, x), 0, analyzer) for x in room):
            raise matching.fail(
                f"axis {axis.var.name} has {extent} values, of which the loops take {width + 1} at a time: "
                "cannot prove that they cover each value exactly once"
            )
        result[axis] = low, width + 1
    return {axis: result[axis] for axis in (*op.axis, *op.reduce_axis)}


def _outer_values(
    matching: Matching, inner: Sequence[IterVar], lows: dict[IterVar, tuple[Number, int]]
) -> dict[e.Var, Expr]:
    """The values of the stage's axes and loops outside the intrinsic, which its formula may use."""
    stage, bounds = matching.stage, matching.building.bounds
    found = {axis.var: low for axis, (low, count) in lows.items() if count == 1}
    found |= {leaf.var: bounds.position(leaf) for leaf in stage.leaf_iter_vars if leaf not in inner}
    own = {axis.var for axis in (*matching.intrin.op.axis, *matching.intrin.op.reduce_axis)}
    return {var: _expr(value) for var, value in found.items() if var not in own}


def _match_computation(matching: Matching, lows: dict[IterVar, tuple[Number, int]]) -> None:
    """Match the axes, and the formulas node by node."""
    stage, intrin, building = matching.stage, matching.intrin, matching.building
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    widening, analyzer = Widening(), building.bounds.analyzer
    mapping = {building.bounds.variable(axis): _expr(lows[axis][0]) for axis in lows}
    for ours, theirs, kind in (
        (op.axis, intrin.op.axis, "data"),
        (op.reduce_axis, intrin.op.reduce_axis, "reduce"),
    ):
        for axis, other in _paired(ours, theirs, kind, lows):
            assert other.dom is not None
            var, begin = widening.variable(other.var), widening.index(other.dom.min)
            analyzer.bind(var, begin, widening.index(other.dom.extent))
            matching.inside[var] = axis
            mapping[building.bounds.variable(axis)] = _expr(lows[axis][0]) + var - begin
    for axis in (*intrin.op.axis, *intrin.op.reduce_axis):
        assert axis.dom is not None
        var = widening.variable(axis.var)
        if var not in matching.inside:
            analyzer.bind(var, widening.index(axis.dom.min), 1)
    formula = substitute(Bodies(building.formulas[op].body), mapping).body
    outside: dict[Any, Any] = {widening.variable(var): value for var, value in matching.outside.items()}
    declared = Bodies(tuple(widening.value(one) for one in intrin.op.body))
    other_formula = substitute(declared, outside).body
    if len(formula) != len(other_formula):
        raise Mismatch(f"it has {len(formula)} outputs, the intrinsic {len(other_formula)}")
    for a, b in zip(formula, other_formula, strict=True):
        _match(matching, a, b)


def _paired(
    ours: Sequence[IterVar],
    theirs: Sequence[IterVar],
    kind: str,
    lows: dict[IterVar, tuple[Number, int]],
) -> list[tuple[IterVar, IterVar]]:
    """The axes with more than one value, paired in order."""
    mine = [(axis, lows[axis][1]) for axis in ours if lows[axis][1] != 1]
    other = [(axis, _extent(axis)) for axis in theirs if _extent(axis) != 1]
    if [n for _, n in mine] != [n for _, n in other]:
        texts = [", ".join(f"{axis.var.name}: {n}" for axis, n in side) or "none" for side in (mine, other)]
        raise Mismatch(f"its {kind} axes there are ({texts[0]}), the intrinsic's ({texts[1]})")
    return [(a, b) for (a, _), (b, _) in zip(mine, other, strict=True)]


def _match(matching: Matching, a: Expr, b: Expr) -> None:
    """Raise an error unless ``a``, of the stage, and ``b``, of the intrinsic, are the same computation. A
    guard of ``a`` that always holds is ignored."""
    if isinstance(a, e.Call) and a.name == "if_then_else":
        condition, guarded, _ = a.args
        if matching.building.bounds.analyzer.prove(condition):
            a = guarded
    difference = f"it computes {a}, the intrinsic {b}"
    if isinstance(a, TensorRead) and isinstance(b, TensorRead):
        _match_read(matching, a, b)
        return
    if isinstance(a, t.Reduce) and isinstance(b, t.Reduce):
        _match_reduce(matching, a, b)
        return
    if _is_arithmetic(a) and _is_arithmetic(b):
        if not e.is_const(simplify(matching.building.bounds.analyzer, a - b), 0):
            raise Mismatch(difference)
        return
    if (mine := _choice(a)) and (other := _choice(b)):
        for x, y in zip(mine, other, strict=True):
            _match(matching, x, y)
        return
    if type(a) is not type(b) or (a.dtype, a.lanes) != (b.dtype, b.lanes):
        raise Mismatch(difference)
    if isinstance(a, e.Const) and isinstance(b, e.Const):
        if not alike(a, b):
            raise Mismatch(difference)
        return
    named = isinstance(a, (e.Call, e.Foreign)) and isinstance(b, (e.Call, e.Foreign))
    left, right = list(a.children()), list(b.children())
    if (named and a.name != b.name) or len(left) != len(right) or (not left and a is not b):  # type: ignore[union-attr]
        raise Mismatch(difference)
    orders = [right, right[::-1]] if isinstance(a, _COMMUTE) else [right]
    found: Mismatch | None = None
    for order in orders:
        kept = dict(matching.windows)
        try:
            for x, y in zip(left, order, strict=True):
                _match(matching, x, y)  # type: ignore[arg-type]
            return
        except Mismatch as one:
            matching.windows, found = kept, found or one
    assert found is not None
    raise found


def _choice(expr: Expr) -> tuple[Expr, ...]:
    """The condition and both values of a conditional, lazy or not; empty for other expressions."""
    match expr:
        case e.Call(name="if_then_else", args=args):
            return args
        case e.Select(condition, a, b):
            return condition, a, b
        case _:
            return ()


def _match_reduce(matching: Matching, a: t.Reduce, b: t.Reduce) -> None:
    if len(a.source) != len(b.source) or a.value_index != b.value_index:
        raise Mismatch(f"it reduces {len(a.source)} values, the intrinsic {len(b.source)}")
    if not alike(a.combiner, b.combiner):
        mine, other = (f"{one.combiner.name} of {one.dtype}" for one in (a, b))
        raise Mismatch(f"it reduces by {mine}, the intrinsic by {other}")
    if a.init or b.init:
        raise Mismatch("a reduction that starts from init= cannot be tensorized")
    ours, theirs = ((*one.source, *one.free_values, one.condition) for one in (a, b))
    for x, y in zip(ours, theirs, strict=True):
        _match(matching, x, y)


def _match_read(matching: Matching, a: TensorRead, b: TensorRead) -> None:
    """Match two reads of the same position in the same window."""
    if a.dtype != b.dtype:
        raise Mismatch(f"it reads {a.tensor.name} of {a.dtype} where the intrinsic reads {b.dtype}")
    analyzer = matching.building.bounds.analyzer
    runs = set(matching.inside)
    a, b = (
        TensorRead(one.tensor, tuple(e.convert(simplify(analyzer, i), e.INDEX) for i in one.indices))
        for one in (a, b)
    )
    ours = [n for n, index in enumerate(a.indices) if runs & set(postorder(index))]
    theirs = [n for n, index in enumerate(b.indices) if runs & set(postorder(index))]
    difference = f"it reads {a}, the intrinsic {b}"
    if len(ours) != len(theirs):
        _match_flat(matching, a, b, difference)
        return
    base = list(a.indices)
    axes: list[int | None] = [None] * len(b.indices)
    for mine, other in zip(ours, theirs, strict=True):
        base[mine] = e.convert(simplify(analyzer, a.indices[mine] - b.indices[other]), e.INDEX)
        axes[other] = mine
        if runs & set(postorder(base[mine])):
            _match_flat(matching, a, b, difference)
            return
    window = Window(a.tensor, tuple(base), tuple(axes))
    known = matching.windows.setdefault(b.tensor, window)
    same = isinstance(known, Window) and known.tensor is a.tensor and known.axes == window.axes
    here = known.base if isinstance(known, Window) else ()
    if not same or any(not equal(matching, x, y) for x, y in zip(here, base, strict=True)):
        raise Mismatch(f"{difference}, which it has found to be {known.tensor.name} at another place")


def _match_flat(matching: Matching, a: TensorRead, b: TensorRead, difference: str) -> None:
    """Match reads of a window with constant strides in memory, which need not follow the tensor's axes."""
    building, analyzer = matching.building, matching.building.bounds.analyzer
    buffer = building.buffers[a.tensor]
    if a.tensor.op in building.layouts:
        raise Mismatch(difference)
    flat: Expr = e.const(0, e.INDEX)
    for index, step in zip(building.place(a.tensor, a.indices), strides_of(buffer), strict=True):
        flat = flat + index * step
    flat = e.convert(simplify(analyzer, flat), e.INDEX)
    runs = [node for node in dict.fromkeys(postorder(flat)) if node in matching.inside]
    zero: dict[Any, Any] = {var: e.const(0, e.INDEX) for var in matching.inside}

    def at(expr: Expr, values: dict[Any, Any]) -> Expr:
        return e.convert(simplify(analyzer, substitute(expr, values)), e.INDEX)

    offset = at(flat, zero)
    steps: list[Expr] = []
    rest = flat - offset
    for index in b.indices:
        var = next((node for node in postorder(index) if node in matching.inside), None)
        step: Expr = e.const(0, e.INDEX)
        if var is not None:
            one = {**zero, var: e.const(1, e.INDEX)}
            apart, count = at(flat - offset, one), at(index - at(index, zero), one)
            if not isinstance(apart, e.Const) or not isinstance(count, e.Const) or not count.value:
                raise Mismatch(difference)
            step = e.const(int(apart.value) // int(count.value), e.INDEX)
        steps.append(step)
        rest = rest - index * step
    if not runs or not e.is_const(simplify(analyzer, rest), 0):
        raise Mismatch(difference)
    known = matching.windows.setdefault(b.tensor, FlatWindow(a.tensor, offset, tuple(steps)))
    here = (known.offset, *known.steps) if isinstance(known, FlatWindow) else ()
    same = len(here) == 1 + len(steps) and known.tensor is a.tensor
    if not same or not all(equal(matching, x, y) for x, y in zip(here, (offset, *steps), strict=True)):
        raise Mismatch(f"{difference}, which it has found to be {known.tensor.name} at another place")


def _match_outputs(matching: Matching, lows: dict[IterVar, tuple[Number, int]]) -> None:
    op, intrin = matching.stage.op, matching.intrin
    assert isinstance(op, t.ComputeOp)
    pairs = {id(other): op.axis.index(axis) for axis, other in _paired(op.axis, intrin.op.axis, "data", lows)}
    axes = tuple(pairs.get(id(axis)) for axis in intrin.op.axis)
    base = tuple(_expr(lows[axis][0]) for axis in op.axis)
    for ours, theirs in zip(op.outputs, intrin.op.outputs, strict=True):
        matching.windows[theirs] = Window(ours, base, axes)


def _is_arithmetic(expr: Expr) -> bool:
    """Whether ``expr`` is index arithmetic without reads."""
    return expr.dtype == e.INDEX and not any(
        isinstance(node, (TensorRead, t.Reduce, e.Foreign)) for node in postorder(expr)
    )


def _expr(value: Number) -> Expr:
    return e.const(value, e.INDEX) if isinstance(value, int) else value


def _extent(axis: IterVar) -> Any:
    assert axis.dom is not None
    extent = axis.dom.extent
    return int(extent.value) if isinstance(extent, e.Const) else extent
