"""The schedule primitives about the order in which a stage computes."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.te.extensions import extend
from tvmlite.te.schedule.stage_base import StageBase, put
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor.tensor import IterVar


class OrderPrimitives(StageBase):
    """The ordering primitives of ``Stage``."""

    @primitive
    def decompose_reduction(self, axis: IterVar) -> None:
        """Initialise the reduction in a separate loop nest, just before the loop ``axis``.

        ::

            for i in range(n):              -->    for i.init in range(n):
                C[i] = 0                               C[i.init] = 0
                for k in range(m):                 for i in range(n):
                    C[i] += A[i, k]                    for k in range(m):
                                                           C[i] += A[i, k]

        By default, a reduction is initialised just before the outermost loop that reduces; ``axis`` must not
        be inside that loop.
        """
        position = self.require_leaf("decompose_reduction", axis)
        reduces = [n for n, leaf in enumerate(self.leaf_iter_vars) if leaf.kind == "reduce"]
        if not reduces:
            raise self.error("decompose_reduction", "has no loop that reduces inside it", axis)
        if position > reduces[0]:
            outermost = self.leaf_iter_vars[reduces[0]].var.name
            raise self.error("decompose_reduction", f"is inside {outermost}, which reduces already", axis)
        self.change(init_axis=axis)

    @primitive
    def loop_partition(self, axis: IterVar, sizes: Sequence[int | None]) -> None:
        """Partition the loop into consecutive loops of ``sizes`` iterations. At most one size is None and
        takes the remaining iterations; if none is None, a further loop takes any remaining ones.

        ::

            for i in range(10):         -->    for i in range(2):
                C[i] = A[i]                        C[i] = A[i]
                                               for i_1 in range(2, 10):
                                                   C[i_1] = A[i_1]
                                               # s[C].loop_partition(i, [2, None])
        """
        self.require_leaf("loop_partition", axis)
        given = arguments.listed(
            "loop_partition: sizes", sizes, "ints of at least 1, at most one None", ScheduleError
        )
        numbers = [n for n in given if n is not None]
        if not given or len(numbers) < len(given) - 1 or any(type(n) is not int or n < 1 for n in numbers):
            listed = ", ".join(map(arguments.shown, given))
            raise self.error(
                "loop_partition", f"by [{listed}]: expected ints of at least 1, at most one None", axis
            )
        self.change(partitions=put(self.partitions, axis, given))


extend(StageBase, OrderPrimitives)
