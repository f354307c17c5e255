"""A stage: the loops of one operation, and the schedule primitives that apply to a single stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage_base import (
    AT,
    GUARD,
    INLINE,
    PARALLEL,
    ROOT,
    SHRINK,
    UNROLL,
    VECTORIZE,
    Fuse,
    Singleton,
    Split,
    StageBase,
    put,
)
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import Extent, IterVar

if TYPE_CHECKING:
    from tvmlite.te.schedule.epilogue import EpiloguePrimitives
    from tvmlite.te.schedule.layout import LayoutPrimitive
    from tvmlite.te.schedule.stage_memory import MemoryPrimitives
    from tvmlite.te.schedule.stage_order import OrderPrimitives
    from tvmlite.te.schedule.tensor_intrin import TensorizePrimitive

    class MorePrimitives(
        EpiloguePrimitives, LayoutPrimitive, MemoryPrimitives, OrderPrimitives, TensorizePrimitive
    ):
        """The primitives that are added to ``Stage`` when one of them is first called."""
else:
    MorePrimitives = StageBase


class Stage(MorePrimitives):
    """One operation of a schedule and its loops; created by ``te.create_schedule``.

    ``leaf_iter_vars`` are the loops, outermost first; ``relations`` derive them from the operation's axes.
    ``attach_type`` says where the stage is computed: "root", "inline", or "at", which means in the loop
    ``attach_ivar`` of ``attach_stage``. The examples below show the loops before and after a primitive.
    """

    @primitive
    def split(
        self,
        parent: IterVar,
        factor: Extent | None = None,
        nparts: Extent | None = None,
        tail: str = GUARD,
        ratio: int = 2,
    ) -> tuple[IterVar, IterVar]:
        """Split a loop in two, with ``factor`` as the inner extent or ``nparts`` as the outer.

        ::

            for i in range(n):       -->    for i.outer in range(ceil(n / 4)):
                C[i] = ...                      for i.inner in range(4):
                                                    if i.outer * 4 + i.inner < n:
                                                        C[i.outer * 4 + i.inner] = ...

        The guard is omitted where 4 is known to divide n. Returns ``(outer, inner)``.

        ``tail="shrink"`` avoids the guard by further loops over the remainder. If n is known, that is one
        smaller tile; otherwise tiles of half the size, of a quarter, and so on down to 1::

            for i in range(n):       -->    for i.outer in range(n // 4):
                C[i] = ...                      for i.inner in range(4):
                                                    C[i.outer * 4 + i.inner] = ...
                                            for i.outer in range((n - n // 4 * 4) // 2):
                                                for i.inner in range(2):
                                                    C[n // 4 * 4 + i.outer * 2 + i.inner] = ...
                                            for i.outer in range(n - n // 2 * 2):
                                                C[n // 2 * 2 + i.outer] = ...

        Stages computed at these loops are computed in each of them; ``i.outer`` must stay a loop. With
        ``ratio=4``, each tile is a quarter of the size of the one before where 4 divides that: less code,
        more iterations.
        """
        position = self.require_leaf("split", parent)
        if (factor is None) == (nparts is None):
            raise self.error("split", "needs either factor= or nparts=", parent)
        for label, value in (("factor", factor), ("nparts", nparts)):
            if value is not None and not _is_extent(value):
                raise self.error("split", f"by {label} {value!r}: expected an int of at least 1", parent)
            if isinstance(value, e.Expr) and {one.var for one in self.all_iter_vars} & {*postorder(value)}:
                raise self.error("split", f"by {label} {value}: expected no variable of an axis", parent)
        if not isinstance(tail, str) or tail not in (GUARD, SHRINK):
            raise self.error("split", f'with tail {tail!r}: expected "guard" or "shrink"', parent)
        if tail == SHRINK and not isinstance(factor, (int, np.integer, e.Const)):
            given = f"nparts={nparts}" if factor is None else f"factor={factor}"
            raise self.error("split", f'with tail="shrink" and {given}: expected an int as factor', parent)
        arguments.whole("split: ratio", ratio, ScheduleError, least=2)
        outer = IterVar(None, e.Var(f"{parent.var.name}.outer", parent.var.dtype), parent.kind)
        inner = IterVar(None, e.Var(f"{parent.var.name}.inner", parent.var.dtype), parent.kind)
        made = Split(parent, outer, inner, factor, nparts, tail, int(ratio), span=Span.of_caller())
        self.replace_leaves(made, position, position + 1, (outer, inner))
        return outer, inner

    @primitive
    def fuse(self, *axes: IterVar) -> IterVar:
        """Fuse adjacent loops into one and return it; without ``axes``, add an outermost loop that runs once.

        ::

            for i in range(n):          -->    for i.j.fused in range(n * m):
                for j in range(m):                 C[i.j.fused // m, i.j.fused % m] = ...
                    C[i, j] = ...
        """
        if not axes:
            return self._fuse_nothing()
        fused = axes[0]
        self.require_leaf("fuse", fused)
        for one in axes[1:]:
            fused = self._fuse_two(fused, one)
        return fused

    def _fuse_nothing(self) -> IterVar:
        single = IterVar(None, e.Var("singleton", "int32"))
        self.replace_leaves(Singleton(single), 0, 0, (single,))
        return single

    def _fuse_two(self, outer: IterVar, inner: IterVar) -> IterVar:
        first, second = self.require_leaf("fuse", outer), self.require_leaf("fuse", inner)
        if second + 1 == first:
            outer, inner, first, second = inner, outer, second, first
        if first + 1 != second:
            raise self.error("fuse", f"is not next to {outer.var.name}: only neighbouring loops fuse", inner)
        kind = "reduce" if "reduce" in (outer.kind, inner.kind) else outer.kind
        wide = "int64" if "int64" in (outer.var.dtype, inner.var.dtype) else "int32"
        fused = IterVar(None, e.Var(f"{outer.var.name}.{inner.var.name}.fused", wide), kind)
        self.replace_leaves(Fuse(outer, inner, fused), first, second + 1, (fused,))
        return fused

    @primitive
    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Extent, y_factor: Extent
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split both loops and reorder the results into blocks of ``x_factor`` by ``y_factor``.

        ::

            for x in range(n):          -->    for x.outer in range(n / x_factor):
                for y in range(m):                 for y.outer in range(m / y_factor):
                    C[x, y] = ...                      for x.inner in range(x_factor):
                                                           for y.inner in range(y_factor):
                                                               C[...] = ...

        Returns ``(x_outer, y_outer, x_inner, y_inner)``.
        """
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    @primitive
    def reorder(self, *axes: IterVar) -> None:
        """Put the loops ``axes`` into the given order, in the positions that they occupy together.

        ::

            for i in range(n):          -->    for j in range(m):
                for j in range(m):                 for i in range(n):
                    C[i, j] = ...                      C[i, j] = ...
        """
        positions = [self.require_leaf("reorder", axis) for axis in axes]
        for axis, position in zip(axes, positions, strict=True):
            if positions.count(position) > 1:
                raise self.error("reorder", "is given twice", axis)
        leaves = list(self.leaf_iter_vars)
        for axis, position in zip(axes, sorted(positions), strict=True):
            leaves[position] = axis
        self.change(leaf_iter_vars=tuple(leaves))

    @primitive
    def vectorize(self, var: IterVar) -> None:
        """Execute the loop's iterations as lanes of vectors; its extent must be a constant.

        ::

            for i in range(16):      -->    C[0:16] = A[0:16] + B[0:16]
                C[i] = A[i] + B[i]

        A reduce axis cannot be vectorized, because its iterations depend on each other.
        """
        self._annotate("vectorize", var, VECTORIZE)

    @primitive
    def unroll(self, var: IterVar) -> None:
        """Repeat the loop's body for each iteration; its extent must be a constant.

        ::

            for i in range(2):       -->    C[0] = ...
                C[i] = ...                  C[1] = ...
        """
        self._annotate("unroll", var, UNROLL)

    @primitive
    def parallel(self, var: IterVar) -> None:
        """Divide the loop's iterations among the threads.

        ::

            for i in range(n):       -->    for i in parallel(n):
                C[i] = ...                      C[i] = ...

        A reduce axis cannot be parallel, because all iterations would write the same elements.
        """
        self._annotate("parallel", var, PARALLEL)

    @primitive
    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Annotate the loop ``var`` for later passes, with effect on the loops inside it.

        ``"sweep"``, for a parallel loop: in every second run of a model, each thread executes its iterations
        from the last to the first: if the data exceed the cache, it still holds what was read last.

        ``"auto_unroll_max_step", n`` unrolls loops inside, from the innermost outwards, that have at most n
        stores once unrolled; ``"unroll_explicit", False`` leaves unrolling to LLVM or the C compiler.

        ::

            for i in range(n):                        -->    for i in range(n):
                for j in range(4):                               C[i, 0] = ...
                    C[i, j] = ...                                C[i, 1] = ...
                                                                 C[i, 2] = ...
            # s[C].pragma(i, "auto_unroll_max_step", 16)         C[i, 3] = ...

        Other annotations are kept with the loop and have no effect.
        """
        self.require_leaf("pragma", var)
        arguments.text("pragma: pragma_type", pragma_type, ScheduleError)
        value = pragma_value.value if isinstance(pragma_value, e.Const) else pragma_value
        if pragma_type == "auto_unroll_max_step" and not (isinstance(value, int) and value >= 0):
            raise self.error(
                "pragma", f"has auto_unroll_max_step {value!r}, expected a number of stores", var
            )
        notes = (*self.pragmas.get(var, ()), (pragma_type, value))
        self.change(pragmas=put(self.pragmas, var, notes))

    @primitive
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute this stage inside the loop ``scope`` of the stage ``parent``, which reads its result. Each
        iteration computes the region that it needs, in a buffer of that size. All readers of the result must
        be inside that loop; the stage is computed once for all of them, before the first.

        ::

            for j in range(n):          -->    for i in range(n):
                B[j] = A[j] * 2                    B[0] = A[i] * 2
            for i in range(n):                     C[i] = B[0] + 1
                C[i] = B[i] + 1
        """
        self.check_compute_at(parent, scope)
        self.attach(AT, parent, scope)

    def check_compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Raise a ScheduleError if ``compute_at`` does not allow this."""
        self.require_movable("compute_at")
        if parent is self:
            raise ScheduleError(f"compute_at: stage {self.name} cannot be in its own loop", Span.of_caller())
        if not isinstance(parent, Stage):
            raise ScheduleError(f"compute_at: {parent!r} is not a stage", Span.of_caller(), "pass s[tensor]")
        parent.require_leaf("compute_at", scope)
        if not parent.reads(self.op):
            raise ScheduleError(
                f"compute_at: stage {parent.name} does not read {self.name}, so {self.name} cannot be "
                f"computed at its axis {scope.var.name}",
                Span.of_caller(),
            )

    @primitive
    def compute_inline(self) -> None:
        """Inline the stage: every read of its elements is replaced by its formula.

        ::

            for i in range(n):          -->    for i in range(n):
                B[i] = A[i] * 2                    C[i] = A[i] * 2 + 1
            for i in range(n):
                C[i] = B[i] + 1
        """
        self.require_movable("compute_inline")
        if not isinstance(self.op, t.ComputeOp):
            raise ScheduleError(
                f"compute_inline: stage {self.name} has no formula to inline", Span.of_caller()
            )
        if self.op.reduce_axis:
            raise ScheduleError(
                f"compute_inline: stage {self.name} is a reduction over "
                f"{', '.join(a.var.name for a in self.op.reduce_axis)}, which cannot be inlined",
                Span.of_caller(),
            )
        self.attach(INLINE)

    @primitive
    def compute_root(self) -> None:
        """Compute the stage in loops of its own, before the stages that read it. This is the default.

        ::

            for i in range(n):          -->    for i in range(n):
                B[0] = A[i] * 2                    B[i] = A[i] * 2
                C[i] = B[0] + 1                for i in range(n):
                                                   C[i] = B[i] + 1
        """
        self.attach(ROOT)

    def _annotate(self, primitive: str, axis: IterVar, kind: str) -> None:
        self.require_leaf(primitive, axis)
        if kind != UNROLL and axis.kind != "data":
            raise self.error(
                primitive,
                f"is a {axis.kind} axis, expected a data axis",
                axis,
                "s.rfactor makes a data axis of a reduce axis",
            )
        self.change(loop_kinds=put(self.loop_kinds, axis, kind))


def _is_extent(value: Any) -> bool:
    """Whether ``value`` is an integer of at least 1, or an expression that may be one."""
    if isinstance(value, e.Expr):
        return dtypes.is_int(value.dtype) and not (isinstance(value, e.Const) and value.value < 1)
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)
