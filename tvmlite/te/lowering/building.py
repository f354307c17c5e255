"""The data that the loop nests of all stages are built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds, Formula
from tvmlite.te.schedule.relations import Number
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor.tensor import IterVar, Operation, Tensor

if TYPE_CHECKING:
    from tvmlite.te.schedule.layout import IndexMap


@dataclass
class Building:
    """The inputs and the result of building loop nests. ``attached`` holds the stages computed in each loop,
    ``current`` gives the tensor that replaces one, ``shared`` tensors use the memory of others, and
    ``after_loop`` holds statements that follow a loop. ``loops`` is filled with loops as they are built."""

    bounds: Bounds
    formulas: dict[Operation, Formula]
    buffers: dict[Tensor, ir.Buffer]
    given: frozenset[Operation]
    attached: dict[IterVar, list[Stage]]
    current: Callable[[Tensor], Tensor]
    layouts: dict[Operation, IndexMap]
    shared: frozenset[Tensor]
    after_loop: dict[IterVar, list[ir.Stmt]]
    loops: dict[IterVar, ir.Stmt] = field(default_factory=dict)

    def first(self, op: Operation) -> tuple[Number, ...]:
        """The indices of the element of ``op``'s tensors that is first in their buffers."""
        region = None if op in self.given else self.bounds.region(op)
        return () if region is None else tuple(extent.min for extent in region)

    def place(self, tensor: Tensor, indices: Sequence[Number]) -> tuple[Expr, ...]:
        """The indices in its buffer of the element of ``tensor`` at ``indices``."""
        first = self.first(tensor.op) or (0,) * len(indices)
        here: Sequence[Number] = [i - f for i, f in zip(indices, first, strict=True)]
        if tensor.op in self.layouts:
            here = self.layouts[tensor.op].indices(here)
        return tuple(index_of(i) for i in here)


def index_of(value: Number) -> Expr:
    """``value`` as an int64 expression."""
    return e.const(value, e.INDEX) if isinstance(value, int) else value
