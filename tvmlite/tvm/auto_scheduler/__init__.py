"""TVM's auto-scheduler by its own names, over the generated schedules of ``tvmlite.autotune``."""

from typing import Any

from tvmlite.tvm.lazy import attributes

_MODULES = (
    *("compute_dag", "measure", "measure_record", "relay_integration", "search_policy", "search_task"),
    *("utils", "workload_registry"),
)
_PLACES = {
    "ApplyHistoryBest": "relay_integration",
    "ApplyHistoryBestOrSample": "relay_integration",
    "ComputeDAG": "compute_dag",
    "EmptyPolicy": "search_policy",
    "HardwareParams": "search_task",
    "LocalBuilder": "measure",
    "LocalRPCMeasureContext": "measure",
    "LocalRunner": "measure",
    "MeasureInput": "measure",
    "MeasureResult": "measure",
    "PreloadCustomSketchRule": "search_policy",
    "PreloadMeasuredStates": "search_policy",
    "RPCRunner": "measure",
    "RandomModel": "search_policy",
    "RecordReader": "measure_record",
    "RecordToFile": "measure",
    "SearchTask": "search_task",
    "SketchPolicy": "search_policy",
    "TaskScheduler": "relay_integration",
    "TuningOptions": "search_task",
    "XGBModel": "search_policy",
    "extract_tasks": "relay_integration",
    "load_best_record": "measure_record",
    "load_records": "measure_record",
    "make_workload_key": "workload_registry",
    "register_workload": "workload_registry",
    "save_records": "measure_record",
}

_attribute = attributes("tvmlite.tvm.auto_scheduler", _MODULES, _PLACES)


def __getattr__(name: str) -> Any:
    return _attribute(name)


__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]
