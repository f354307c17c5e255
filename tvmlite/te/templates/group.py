"""A fused group as schedule templates see it: its anchor, its host stage, the stages around them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import INLINE
from tvmlite.te.space.choices import OptionChoice, SplitChoice
from tvmlite.te.space.config import Config
from tvmlite.te.tensor.tensor import ComputeOp, Extent, IterVar, Operation, Tensor, TensorRead

_COSTLY = frozenset(
    "exp log log2 tanh sigmoid erf pow sin cos tan asin acos atan sinh cosh asinh acosh atanh".split()
)


Found = TypeVar("Found")

State: TypeAlias = tuple[tuple[Operation, bool], ...]
"""The operations of a schedule's stages, and whether they are inlined."""

FORMULAS = 32
"""The number of states whose formulas are cached: a search schedules one computation thousands of times."""


@dataclass(frozen=True)
class _Formulas:
    """A schedule without inlined stages, and cached results about its formulas."""

    schedule: Schedule
    found: dict[Hashable, Any]


_formulas: OrderedDict[State, _Formulas] = OrderedDict()
"""The formulas of the most recently used states."""


@dataclass(frozen=True)
class Group:
    """The schedule of a fused group while a template builds it; ``config`` holds the template's knobs."""

    schedule: Schedule
    outputs: tuple[Tensor, ...]
    target: Target
    config: Config

    def stage(self, tensor: Tensor | Operation) -> Stage:
        """The stage that computes ``tensor``."""
        return self.schedule[tensor]

    def knob(self, name: str, values: Sequence[Any], default: Any = None) -> Any:
        """The setting of the knob ``name``, one of ``values``; the default is ``default``, or the first."""
        self.config.define_knob(name, values)
        if default is not None:
            self.config.suggest(name, OptionChoice(default))
        return self.config[name].val

    def tile(
        self, extent: int | None, sizes: Sequence[tuple[int, ...]], default: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The setting of the knob ``tile``, one of ``sizes`` or by default ``default``: the extents, from the
        second outermost on, of the loops that a loop of ``extent`` and others are split into."""
        count = len(default)
        self.config.define_split(
            "tile", extent or 1, num_outputs=count, policy="candidate", candidate=list(sizes)
        )
        self.config.suggest("tile", SplitChoice(default))
        return tuple(self.config["tile"].size[1:])

    def axes(self, tensor: Tensor | Operation) -> list[IterVar]:
        """The data axes of the operation that computes ``tensor`` now."""
        op = self.schedule[tensor].op
        return list(op.axis) if isinstance(op, ComputeOp) else []

    def tagged(self, *tags: str) -> list[ComputeOp]:
        """The operations with one of ``tags``, producers first."""
        ops = (stage.op for stage in self.schedule.stages)
        return [op for op in ops if isinstance(op, ComputeOp) and op.tag in tags]

    def schedule_tagged(self, by_tag: Mapping[str, Callable[[Group, ComputeOp], object]]) -> bool:
        """Whether an operation has one of the tags ``by_tag``. If so, the function of the first such tag
        schedules the group around the last such operation."""
        for tag, arrange in by_tag.items():
            if ops := self.tagged(tag):
                arrange(self, ops[-1])
                return True
        return False

    def readers(self, tensor: Tensor) -> list[Operation]:
        """The operations that read ``tensor``."""
        return [stage.op for stage in self.schedule.stages if tensor in stage.op.inputs]

    def host(self, tensor: Tensor) -> Tensor:
        """The output in whose loops ``tensor`` is best computed; ``tensor`` itself if there is none.

        It is the only output that depends on ``tensor``, if it has the same shape: its element-wise epilogue.
        """
        if tensor in self.outputs:
            return tensor
        found: dict[Tensor, None] = {}
        todo = [tensor]
        while todo:
            for op in self.readers(todo.pop()):
                made = [t for t in op.outputs if t in self.outputs]
                found.update(dict.fromkeys(made))
                if not made:
                    todo.extend(op.outputs)
        if len(found) == 1 and same_shape(next(iter(found)).shape, tensor.shape):
            return next(iter(found))
        return tensor

    def inline_all_but(self, kept: Iterable[Operation]) -> None:
        """Inline every stage without a reduction that is neither an output nor in ``kept``."""
        keep = set(kept)
        for stage in self.schedule.stages:
            op = stage.op
            if isinstance(op, ComputeOp) and not op.reduce_axis and not stage.is_output and op not in keep:
                stage.compute_inline()

    def formula(self, tensor: Tensor | Operation) -> ComputeOp:
        """The operation of ``tensor``, with inlined stages substituted."""
        op = self.inlined()[tensor].op
        assert isinstance(op, ComputeOp)
        return op

    def inlined(self) -> Schedule:
        """The schedule with inlined stages substituted, for queries of formulas. It is expensive to compute,
        and cached until a stage is inlined, added or replaced."""
        return self._formulas().schedule

    def cached(self, key: Hashable, compute: Callable[[], Found]) -> Found:
        """``compute()``, which must depend on the formulas of ``inlined`` only: it is computed once for each
        ``key``, for all schedules of a computation that have the same formulas."""
        found = self._formulas().found
        if key not in found:
            found[key] = compute()
        return found[key]

    def _formulas(self) -> _Formulas:
        state = tuple([(stage.op, stage.attach_type == INLINE) for stage in self.schedule.stages])
        made = _formulas.pop(state, None) or _Formulas(self.schedule.normalize(), {})
        _formulas[state] = made
        if len(_formulas) > FORMULAS:
            _formulas.popitem(last=False)
        return made


def compute_of(stage: Stage) -> ComputeOp:
    """The operation of ``stage``, which must be a compute."""
    assert isinstance(stage.op, ComputeOp)
    return stage.op


def reduction_loops(stage: Stage) -> list[IterVar]:
    """The loops of ``stage`` over its reduction, outermost first."""
    return [leaf for leaf in stage.leaf_iter_vars if leaf.kind == "reduce"]


# --- extents and work ---------------------------------------------------------------------------


def number(extent: Extent | None) -> int | None:
    """``extent`` if it is constant, else None."""
    if isinstance(extent, e.Const):
        return int(extent.value)
    return extent if isinstance(extent, int) else None


def extent_of(axis: IterVar) -> int | None:
    """The extent of an operation's own axis if it is constant, else None."""
    return None if axis.dom is None else number(axis.dom.extent)


def product(extents: Iterable[int | None]) -> int | None:
    """The product; None if one of the extents is None."""
    total = 1
    for extent in extents:
        if extent is None:
            return None
        total *= extent
    return total


def same_extent(a: Extent, b: Extent) -> bool:
    """Whether two extents are proved equal."""
    return a is b or arith.equal(a, b)


def same_shape(a: Sequence[Extent], b: Sequence[Extent]) -> bool:
    """Whether two shapes are proved equal."""
    return len(a) == len(b) and all(same_extent(x, y) for x, y in zip(a, b, strict=True))


def work_of(op: ComputeOp) -> int | None:
    """The units of work to compute ``op``; None if its extents are not constant."""
    elements = product(extent_of(a) for a in (*op.axis, *op.reduce_axis))
    return None if elements is None else elements * cost_of(op)


def cost_of(op: ComputeOp) -> int:
    """The units of work for one element, or one step of a reduction, of ``op``."""
    cost = 1
    for node in nodes_of(op):
        if isinstance(node, e.Call):
            cost += 8 if node.name in _COSTLY else 1
        elif isinstance(node, (TensorRead, e.Binary, e.Select, e.Cast)) and not _is_index(node):
            cost += 1
    return cost


def nodes_of(op: ComputeOp) -> list[e.Expr]:
    """All expressions in the formula of ``op``, each once."""
    seen: dict[e.Expr, None] = {}
    for root in op.body:
        seen.update((node, None) for node in postorder(root) if isinstance(node, e.Expr))
    return list(seen)


def _is_index(node: e.Expr) -> bool:
    return isinstance(node, e.Binary) and dtypes.is_int(node.dtype) and node.dtype in ("int32", "int64")


def lanes_of(op: ComputeOp, target: Target) -> int:
    """The number of elements of ``op`` to compute at once: one vector of the widest dtype involved."""
    kinds = {root.dtype for root in op.body}
    for node in nodes_of(op):
        if isinstance(node, TensorRead) or (isinstance(node, e.Cast) and _is_data(node)):
            kinds.add(node.dtype)
    return min(target.lanes(kind) for kind in kinds)


def _is_data(node: e.Expr) -> bool:
    """Whether the value depends on elements of tensors; otherwise it is scalar index arithmetic."""
    return any(isinstance(one, TensorRead) for one in postorder(node))
