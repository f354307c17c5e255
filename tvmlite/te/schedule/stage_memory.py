"""The schedule primitives about a stage's memory: where its elements are, and when they are accessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extend
from tvmlite.te.schedule.stage_base import Prefetch, StageBase, loops_around, put
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Tensor

MAX_ALIGNMENT = 1 << 20
"""The largest padding to request, in elements: a larger one is a mistake and would fill the memory."""


class MemoryPrimitives(StageBase):
    """The memory primitives of ``Stage``."""

    @primitive
    def set_scope(self, scope: str) -> None:
        """Set the scope of the stage's buffer: ``"global"``, ``"local"``, or another of TVM's names. CPUs
        have a single memory, in which buffers are placed by their size and lifetime: the loops do not change.

        ::

            for i in range(n):          -->    for i in range(n):
                B[i] = A[i] * 2                    B[i] = A[i] * 2     # s[B].set_scope("local")
        """
        self.change(scope=arguments.text("set_scope: scope", scope, ScheduleError))

    @primitive
    def prefetch(
        self, tensor: Tensor, var: IterVar, offset: Any = 1, share: Sequence[IterVar] | IterVar = ()
    ) -> None:
        """At each iteration of the loop ``var``, prefetch what the iteration ``offset`` later reads of
        ``tensor``, one cache line at a time.

        ::

            for i in range(n):          -->    for i in range(n):
                for j in range(32):                for line in unroll(2):
                    C[i, j] = A[i, j]                  prefetch(A[i + 1, line * 16])
                                                   for j in range(32):
                                                       C[i, j] = A[i, j]

        ``share`` spreads a large prefetch over time: it lists loops inside ``var``, the last of which is the
        stage's own, and each of their iterations prefetches a part, into the second cache. ``var`` may then
        also be a loop around the stage. With ``s[C].prefetch(B, i, share=[j, k])``::

            for i in range(n):          -->    for i in range(n):
                for j in range(32):                for j in range(32):
                    for k in range(16):                for k in range(16):
                        C[i, j] += B[i, k]                 for line in unroll(1):
                                                               prefetch(B[i + 1, (j * 16 + k) * 16])
                                                           C[i, j] += B[i, k]
        """
        given_axes = (share,) if isinstance(share, IterVar) else share
        loops = arguments.listed("prefetch: share", given_axes, "axes", ScheduleError)
        arguments.all_instances("prefetch: share", loops, IterVar, "an axis", ScheduleError)
        self.require_leaf("prefetch", loops[-1] if loops else var)
        arguments.instance("prefetch: var", var, IterVar, "an axis", ScheduleError)
        nest = [*reversed([loop for _, loop in loops_around(self)]), *self.leaf_iter_vars]
        places = [next((n for n, one in enumerate(nest) if one is loop), -1) for loop in (var, *loops)]
        for around, inside, loop in zip(places, places[1:], loops, strict=False):
            if around < 0 or inside <= around:
                raise self.error("prefetch", f"does not have {loop.var.name} inside, as share asks", var)
        given = self.current_tensor(tensor)
        if not isinstance(given, Tensor) or not self.reads(given.op):
            raise ScheduleError(
                f"prefetch: stage {self.name} does not read {getattr(tensor, 'name', tensor)}",
                Span.of_caller(),
            )
        later = e.scalar("prefetch: offset", offset)
        if not dtypes.is_int(later.dtype):
            raise self.error("prefetch", f"offset is {later.dtype}, expected an integer", var)
        if any(isinstance(one, e.Var) and not isinstance(one, e.SizeVar) for one in postorder(later)):
            raise self.error("prefetch", f"by offset {later}: expected no variable of an axis", var)
        asked = Prefetch(given, var, later, tuple(loops), Span.of_caller())
        self.change(prefetches=(*self.prefetches, asked))

    @primitive
    def storage_align(self, axis: IterVar, factor: int, offset: int = 0) -> None:
        """Pad the buffer so that the stride of ``axis``, an axis of the operation, is a multiple of
        ``factor`` plus ``offset`` elements, each at most 2**20. This avoids rows that map to the same cache
        sets.

        ::

            allocate B[16, 64]:                  -->    allocate B[16, 64], rows 72 elements apart:
                                                            # s[B].storage_align(B.op.axis[0], 16, 8)
        """
        op = self.op
        if not isinstance(op, t.ComputeOp) or not any(axis is one for one in op.axis):
            raise ScheduleError(
                f"storage_align: {axis!r} is not one of the axes that {self.name} was defined with",
                Span.of_caller(),
            )
        factor = arguments.whole("storage_align: factor", factor, ScheduleError, 1, MAX_ALIGNMENT)
        offset = arguments.whole("storage_align: offset", offset, ScheduleError, 0, MAX_ALIGNMENT)
        self.change(alignments=put(self.alignments, axis, (factor, offset)))

    @primitive
    def align_bounds(self, axis: IterVar, factor: int) -> None:
        """Compute whole groups of ``factor`` elements along ``axis``, an axis of the operation, such as all
        lanes of a vector, wherever part of a group is read. The extent must be a multiple of ``factor``, the
        stage not part of a scan, whose iterations depend on each other. Halide has a primitive of that name.

        ::

            for i in range(4):              -->    for i in range(4):
                for l in range(9):                     for l in range(16):
                    B[l] = A[i, l] * 2                     B[l] = A[i, l] * 2
                for j in range(9):                     for j in range(9):
                    C[j, i] = B[j] + 1                     C[j, i] = B[j] + 1     # s[B].align_bounds(l, 16)
        """
        op = self.op
        if not isinstance(op, t.ComputeOp) or not any(axis is one for one in op.axis):
            raise ScheduleError(
                f"align_bounds: {axis!r} is not one of the axes that {self.name} was defined with",
                Span.of_caller(),
            )
        factor = arguments.whole("align_bounds: factor", factor, ScheduleError, least=1)
        extent = axis.dom.extent if axis.dom is not None else None
        if not isinstance(extent, e.Const) or int(extent.value) % factor:
            raise ScheduleError(
                f"align_bounds: {axis!r} does not consist of whole groups of {factor}", Span.of_caller()
            )
        self.change(bound_alignments=put(self.bound_alignments, axis, factor))

    @primitive
    def double_buffer(self) -> None:
        """Compute the stage, which is in a loop of its reader, one iteration ahead, alternating between two
        buffers: its loads are in flight while the reader computes.

        ::

            for i in range(n):              -->    B[0, ...] = A[0, ...]
                B[...] = A[i, ...]                 for i in range(n):
                C[i] = f(B)                            if i + 1 < n:
                                                           B[(i + 1) % 2, ...] = A[i + 1, ...]
                                                       C[i] = f(B[i % 2])
        """
        self.require_movable("double_buffer")
        self.change(double_buffered=True)

    @primitive
    def set_store_predicate(self, predicate: Any) -> None:
        """Store elements, and update a reduction, only where ``predicate``, over the stage's axes, holds.
        Other elements stay unchanged, or as the reduction initialised them.

        ::

            for i in range(n):          -->    for i in range(n):
                C[i] = A[i]                        if i % 2 == 0:
                                                       C[i] = A[i]
        """
        if not isinstance(self.op, t.ComputeOp):
            raise ScheduleError(f"set_store_predicate: {self.name} is not a compute", Span.of_caller())
        condition = e.scalar("set_store_predicate: predicate", predicate)
        if condition.dtype != "bool":
            raise ScheduleError(
                f"set_store_predicate: the predicate of stage {self.name} is {condition.dtype}, "
                "expected bool",
                Span.of_caller(),
            )
        self.change(predicate=condition)


extend(StageBase, MemoryPrimitives)
