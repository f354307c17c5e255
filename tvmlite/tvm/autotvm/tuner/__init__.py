"""Tuners, and what to do after each batch."""

from typing import Any

from tvmlite.tvm.lazy import attributes

_MODULES = ("callback", "ga_tuner", "index_based_tuner", "tuner", "xgboost_cost_model", "xgboost_tuner")
_PLACES = {
    "GATuner": "ga_tuner",
    "GridSearchTuner": "index_based_tuner",
    "IndexBaseTuner": "index_based_tuner",
    "RandomTuner": "index_based_tuner",
    "Tuner": "tuner",
    "XGBTuner": "xgboost_tuner",
}

_attribute = attributes("tvmlite.tvm.autotvm.tuner", _MODULES, _PLACES)


def __getattr__(name: str) -> Any:
    return _attribute(name)


__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]
