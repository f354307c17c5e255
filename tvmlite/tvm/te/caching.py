"""``cache_write`` with TVM's meaning: the stage that copies starts with fresh loops, one per axis."""

from __future__ import annotations

from typing import Any

from tvmlite.te.extensions import extend
from tvmlite.te.schedule.cache import CachePrimitives
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage_base import StageState

AS_TVM = "caches_as_tvm"
"""Marks schedules made by ``tvm.te.create_schedule``; the compiler's own schedules keep the meaning that
``cache_write`` has in ``tvmlite.te``."""


class CacheNames:
    """Methods that are added to ``Schedule``."""

    def cache_write(self: Any, tensor: Any, scope: str) -> Any:
        """Like ``cache_write`` of ``tvmlite.te``. In schedules made by ``tvm.te.create_schedule``, earlier
        splits and fusions move to the new stage: the stage that copies again has one loop per axis, unless
        another stage is attached to its loops."""
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
