"""Templates, their spaces, tasks, and the contexts that templates take their configurations from."""

from typing import Any

from tvmlite.tvm.lazy import attributes

_MODULES = (
    "context",
    "dispatcher",
    "entities",
    "indexed",
    "relay_integration",
    "space",
    "task",
    "topi_integration",
)
_PLACES = {
    "ApplyConfig": "context",
    "ApplyFixedConfig": "context",
    "ApplyGraphBest": "dispatcher",
    "ApplyHistoryBest": "dispatcher",
    "ConfigEntity": "space",
    "ConfigSpace": "space",
    "DispatchContext": "context",
    "FallbackContext": "context",
    "Task": "task",
    "args_to_workload": "task",
    "clear_fallback_cache": "context",
    "create": "task",
    "deserialize_args": "task",
    "extract_from_multiple_program": "relay_integration",
    "extract_from_program": "relay_integration",
    "get_config": "task",
    "get_workload": "topi_integration",
    "register_customized_task": "task",
    "register_topi_compute": "topi_integration",
    "register_topi_schedule": "topi_integration",
    "serialize_args": "task",
    "template": "task",
}

_attribute = attributes("tvmlite.tvm.autotvm.task", _MODULES, _PLACES)


def __getattr__(name: str) -> Any:
    return _attribute(name)


__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]
