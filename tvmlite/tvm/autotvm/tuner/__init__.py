"""Tuners, and callbacks that run after each batch."""

from tvmlite.tvm.lazy import attributes

__getattr__, __all__ = attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "callback ga_tuner index_based_tuner tuner xgboost_cost_model xgboost_tuner",
    {
        ".ga_tuner": "GATuner",
        ".index_based_tuner": "GridSearchTuner IndexBaseTuner RandomTuner",
        ".tuner": "Tuner",
        ".xgboost_tuner": "XGBTuner",
    },
)
