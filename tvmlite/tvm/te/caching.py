"""``cache_write`` as TVM has it: the stage that copies begins anew, with a loop an axis."""

from __future__ import annotations

from typing import Any

from tvmlite.te.extensions import extend
from tvmlite.te.schedule.cache import CachePrimitives
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage_base import StageState

AS_TVM = "caches_as_tvm"
"""The mark of schedules that a program of TVM's made: those that the compiler makes keep ``tvmlite.te``'s
meaning."""


class CacheNames:
    """Methods of schedules."""

    def cache_write(self: Any, tensor: Any, scope: str) -> Any:
        """As ``tvmlite.te``'s; of schedules of ``tvm.te.create_schedule`` loops which were made of the axes
        before are those of the new stage only: the stage that copies has one an axis again, unless another
        stage stands in its loops."""
        made = _plain_cache_write(self, tensor, scope)
        if AS_TVM not in vars(self):
            return made
        first = tensor[0] if isinstance(tensor, (list, tuple)) else tensor
        stage = self[first]
        inside = any(one.attach_op is stage.origin_op for one in self.stages)
        if stage.relations and not inside:
            fresh = StageState.of(stage.op)
            names = ("relations", "leaf_iter_vars", "all_iter_vars", "loop_kinds", "pragmas")
            stage.change(**{name: getattr(fresh, name) for name in names})
        return made


_plain_cache_write = CachePrimitives.cache_write
extend(Schedule, CacheNames)
