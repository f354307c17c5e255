"""The memory windows that a stage's intrinsic works on, and the intrinsic's statements on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import rewrite
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.lowering.building import Building
from tvmlite.te.lowering.intervals import simplify
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.tensor_intrin import DeclaredBuffer, TensorIntrin
from tvmlite.te.tensor.tensor import Tensor


@dataclass
class Window:
    """The part of ``tensor`` that one of the intrinsic's tensors represents: ``base`` is its first element,
    ``axes`` the axis of ``tensor`` for each axis of the intrinsic's, None where that has extent 1."""

    tensor: Tensor
    base: tuple[Expr, ...]
    axes: tuple[int | None, ...]


@dataclass
class FlatWindow:
    """A window that is not a box of ``tensor``: the flat index of its first element, and the stride in memory
    along each of the intrinsic's axes."""

    tensor: Tensor
    offset: Expr
    steps: tuple[Expr, ...]


class Mismatch(Exception):
    """The stage and the intrinsic compute different things."""


@dataclass
class Matching:
    """The match of a stage with its intrinsic so far: the values of loops ``outside`` the intrinsic, the axes
    that its variables ``inside`` represent, and the windows of its tensors."""

    stage: Stage
    intrin: TensorIntrin
    building: Building
    inside: dict[e.Var, Any] = field(default_factory=dict)
    outside: dict[e.Var, Expr] = field(default_factory=dict)
    windows: dict[Tensor, Window | FlatWindow] = field(default_factory=dict)

    def fail(self, reason: str) -> ScheduleError:
        """The error that says how the computations differ."""
        axis = self.stage.tensorized[0].var.name  # type: ignore[index]
        return ScheduleError(
            f"tensorize: stage {self.stage.name} from axis {axis} on does not compute what the intrinsic "
            f"{self.intrin.name} does: {reason}",
            self.stage.span_of("tensorize"),
        )


@dataclass(frozen=True)
class Statements:
    """The statements of an intrinsic for a stage; see ``TensorIntrin``."""

    body: ir.Stmt
    reset: ir.Stmt | None
    update: ir.Stmt | None
    finish: ir.Stmt | None


def bind_windows(matching: Matching) -> Statements:
    """The intrinsic's statements, on the buffers of the matched windows."""
    intrin = matching.intrin
    variables: dict[e.Var, Expr] = {}
    places: dict[ir.Buffer, _Place] = {}
    tensors = (*intrin.op.inputs, *intrin.op.outputs)
    for tensor, declared in zip(tensors, (*intrin.input_buffers, *intrin.output_buffers), strict=True):
        places[declared] = _place(matching, matching.windows[tensor], declared, variables)
    known = {**matching.outside, **variables}
    mapping: dict[Any, Any] = {var: e.cast(var.dtype, value) for var, value in known.items()}

    def rule(node: Any) -> Any:
        match node:
            case ir.Load(buffer, indices, predicate) if buffer in places:
                place = places[buffer]
                return ir.Load(place.buffer, place.index(indices), predicate)
            case ir.Store(buffer, indices, value, predicate) if buffer in places:
                place = places[buffer]
                return ir.Store(place.buffer, place.index(indices), value, predicate)
            case _:
                return mapping.get(node, node)

    def here(stmt: ir.Stmt | None) -> Any:
        return None if stmt is None else rewrite(stmt, rule)

    return Statements(here(intrin.body), here(intrin.reset), here(intrin.update), here(intrin.finish))


@dataclass
class _Place:
    """A window in memory: the flat index in ``buffer`` of its first element, and its strides."""

    buffer: ir.Buffer
    offset: Expr
    strides: tuple[Expr, ...]

    def index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The flat index in the buffer of the window's element, or vector of elements, at ``indices``."""
        if not self.buffer.shape:
            return ()
        flat = len(indices) == 1 != len(self.strides)
        steps = (e.const(1, e.INDEX),) if flat else self.strides
        total, vector = self.offset, None
        for index, step in zip(indices, steps, strict=True):
            if isinstance(index, e.Ramp):
                vector = e.Ramp(index.base * step, index.stride * step, index.lanes)
                continue
            total = total + e.cast(e.INDEX, index) * step
        return (total if vector is None else e.Ramp(total + vector.base, vector.stride, vector.lanes),)


def _place(
    matching: Matching, window: Window | FlatWindow, declared: ir.Buffer, variables: dict[e.Var, Expr]
) -> _Place:
    """The memory of ``window``; binds the stride and offset variables of ``declared`` in ``variables``."""
    building = matching.building
    if isinstance(window, FlatWindow):
        return _flat_place(matching, window, declared, variables)
    analyzer = building.bounds.analyzer
    buffer = building.buffers[window.tensor]
    if window.tensor.op in building.layouts and any(axis is not None for axis in window.axes):
        raise Mismatch(
            f"the layout of {window.tensor.name} is transformed, so that no window of it is strided"
        )
    steps = strides_of(buffer)
    strides: list[Expr] = [e.const(1, e.INDEX) if axis is None else steps[axis] for axis in window.axes]
    wanted = declared.strides or strides_of(declared)
    for axis, (have, want) in enumerate(zip(strides, wanted, strict=True)):
        if window.axes[axis] is None:
            strides[axis] = e.cast(e.INDEX, want) if not isinstance(want, e.Var) else have
        if isinstance(want, e.Var):
            known = variables.setdefault(want, strides[axis])
            if not equal(matching, known, strides[axis]):
                raise Mismatch(f"the stride {want.name} would have to be both {known} and {strides[axis]}")
        elif window.axes[axis] is not None and not equal(matching, have, e.cast(e.INDEX, want)):
            raise Mismatch(
                f"elements along axis {axis} of {declared.name} are {have} apart in {buffer.name}, the "
                f"intrinsic wants {want}; te.decl_buffer(strides=[te.var(...), ...]) takes any"
            )
    at = building.place(window.tensor, window.base)
    offset: Expr = e.const(0, e.INDEX)
    for index, step in zip(at, steps, strict=True):
        offset = offset + index * step
    offset = e.convert(simplify(analyzer, offset), e.INDEX)
    if isinstance(declared, DeclaredBuffer):
        _bind_offset(matching, declared, offset, variables)
    if len(at) == 1:  # the index along a buffer's only axis is used as it is, whatever the stride
        offset, strides = at[0], [e.const(1, e.INDEX)] * len(strides)
    return _Place(buffer, offset, tuple(strides))


def _flat_place(
    matching: Matching, window: FlatWindow, declared: ir.Buffer, variables: dict[e.Var, Expr]
) -> _Place:
    buffer = matching.building.buffers[window.tensor]
    for have, want in zip(window.steps, declared.strides or strides_of(declared), strict=True):
        if isinstance(want, e.Var):
            known = variables.setdefault(want, have)
            want = known
        if not equal(matching, have, e.cast(e.INDEX, want)):
            raise Mismatch(
                f"elements of {declared.name} are {have} apart in {buffer.name}, the intrinsic wants {want}"
            )
    if isinstance(declared, DeclaredBuffer):
        _bind_offset(matching, declared, window.offset, variables)
    return _Place(buffer, window.offset, window.steps)


def _bind_offset(
    matching: Matching, declared: DeclaredBuffer, offset: Expr, variables: dict[e.Var, Expr]
) -> None:
    if isinstance(declared.elem_offset, e.Var):
        variables[declared.elem_offset] = offset
    factor = declared.offset_factor
    if factor > 1 and not equal(matching, offset % factor, e.const(0, e.INDEX)):
        raise Mismatch(
            f"{declared.name} starts {offset} elements into its buffer, which is not known to be a "
            f"multiple of {factor}"
        )


def strides_of(buffer: ir.Buffer) -> tuple[Expr, ...]:
    """The strides of ``buffer`` in elements; row-major unless it has its own."""
    if buffer.strides:
        return buffer.strides
    step: Expr = e.const(1, e.INDEX)
    backwards = []
    for extent in reversed(buffer.shape):
        backwards.append(step)
        step = step * extent
    return tuple(reversed(backwards))


def equal(matching: Matching, a: Expr, b: Expr) -> bool:
    """Whether both indices are known to be equal where the intrinsic is called."""
    return e.is_const(simplify(matching.building.bounds.analyzer, a - b), 0)
