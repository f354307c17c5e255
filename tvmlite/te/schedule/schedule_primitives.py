"""The schedule primitives that add stages, or move several at once."""

from __future__ import annotations

from typing import Any

from tvmlite.te.extensions import extend
from tvmlite.te.schedule import cache, group, rfactor
from tvmlite.te.schedule.group import Group
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor.tensor import IterVar, Tensor


class SchedulePrimitives:
    """The part of ``Schedule`` that is about several stages."""

    @primitive
    def cache_read(self: Any, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """A copy of ``tensor`` that ``readers`` (tensors or operations) read in its stead.

        ::

            C[i] = A[i] + 1      -->    A.local[i] = A[i]
                                        C[i] = A.local[i] + 1

        The copy is a stage of its own, to be placed with ``compute_at``. Gives the copy.
        """
        return cache.cache_read(self, tensor, scope, readers)

    @primitive
    def cache_write(self: Any, tensor: Any, scope: str) -> Any:
        """``tensor`` is computed in a buffer of its own, and then copied out.

        ::

            for i in range(n):               -->    for i.c in range(n):
                C[i] = 0                                C.local[i.c] = 0
                for k in range(m):                      for k in range(m):
                    C[i] += A[i, k]                         C.local[i.c] += A[i.c, k]
                                                    for i in range(n):
                                                        C[i] = C.local[i]

        The reduction moves along, with its loops, so ``tensor``'s stage has only its data axes left.
        ``tensor`` may be a list: all outputs of one operation; a list is then given. The buffer is laid out
        as the data loops stand: after a split or a reorder it has an axis for each of them::

            for i.outer in range(4):         -->    for i.outer.c in range(4):
                for j in range(m):                      for j.c in range(m):
                    for i.inner in range(8):                for i.inner.c in range(8):
                        C[i.outer * 8 + i.inner, j]             C.local[i.outer.c, j.c, i.inner.c] = ...
                            = ...                   for i.outer in range(4): ...
                                                        C[...] = C.local[i.outer, j, i.inner]
        """
        return cache.cache_write(self, tensor, scope)

    @primitive
    def rfactor(self: Any, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """The reduction over ``axis`` is done last: its iterations first give partial results each.

        ::

            for ko in range(n):              -->    for ki in range(16):
                for ki in range(16):                    B.rf[ki] = 0
                    B[0] += A[ko * 16 + ki]             for ko in range(n):
                                                            B.rf[ki] += A[ko * 16 + ki]
                                                    for ki.v in range(16):
                                                        B[0] += B.rf[ki.v]

        ``factor_axis`` is the place of the new data axis in the partial results. Gives those, one tensor or
        a list.
        """
        return rfactor.rfactor(self, tensor, axis, factor_axis)

    def create_group(self: Any, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
        """The stages from ``inputs`` (those too, if so wanted) to ``outputs``, to be moved together.

        ::

            for i in range(n):          -->    for i in range(n):
                B[i] = A[i] * 2                    B[0] = A[i] * 2
            for i in range(n):                     C[0] = B[0] + 1
                C[i] = B[i] + 1                    D[i] = C[0] * 3
            for i in range(n):
                D[i] = C[i] * 3                # s.create_group(C, A).compute_at(s[D], i)
        """
        return group.create_group(self, outputs, inputs, include_inputs)


extend(Schedule, SchedulePrimitives)
