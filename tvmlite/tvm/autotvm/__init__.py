"""AutoTVM by its own names: templates with knobs, tuners that measure them, and logs of what was found.

It is a thin layer over ``tvmlite.autotune`` and ``tvmlite.te.space``.
"""

from typing import Any

from tvmlite.tvm.lazy import attributes

_MODULES = (
    *("database", "env", "feature", "graph_tuner", "measure", "record", "task", "tophub", "tuner"),
    "utils",
)
_PLACES = {
    "ApplyConfig": "task",
    "ApplyGraphBest": "task",
    "ApplyHistoryBest": "task",
    "ConfigEntity": "task",
    "FallbackContext": "task",
    "GLOBAL_SCOPE": "env",
    "LocalBuilder": "measure",
    "LocalRunner": "measure",
    "MeasureErrorNo": "measure",
    "MeasureInput": "measure",
    "MeasureResult": "measure",
    "RPCRunner": "measure",
    "apply_fixed_config": "task",
    "apply_history_best": "task",
    "callback": "tuner",
    "get_config": "task",
    "measure_option": "measure",
    "register_customized_task": "task",
    "register_topi_compute": "task",
    "register_topi_schedule": "task",
    "template": "task",
}
_RENAMED = {"apply_fixed_config": "ApplyFixedConfig", "apply_history_best": "ApplyHistoryBest"}

_attribute = attributes("tvmlite.tvm.autotvm", _MODULES, _PLACES, _RENAMED)


def __getattr__(name: str) -> Any:
    return _attribute(name)


__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]
