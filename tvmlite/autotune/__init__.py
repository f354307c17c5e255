"""Search for fast schedules, with a cost model and real measurements.

::

    task = autotune.create("matmul", (512, 512, 512))          # a function under @autotune.template("matmul")
    autotune.tune(task, "matmul.jsonl", trials=200)
    with autotune.apply_history_best("matmul.jsonl"):
        s, args = matmul(512, 512, 512)                        # scheduled as measured best

A template may return only tensors: then its schedule and its knobs are generated. ``complete`` does the same
for the stages that a schedule written by hand leaves open.
"""

from tvmlite.autotune.in_force import get_config
from tvmlite.autotune.measure import LocalRunner, ParallelRunner, Runner
from tvmlite.autotune.records.history import apply_history_best
from tvmlite.autotune.records.records import Record
from tvmlite.autotune.report import callback
from tvmlite.autotune.report.watch import Watch
from tvmlite.autotune.search.templates import complete, template
from tvmlite.autotune.search.tuners import GATuner, GridSearchTuner, RandomTuner, Tuner
from tvmlite.autotune.search.xgb_tuner import XGBTuner
from tvmlite.autotune.tune import Tuned, tune
from tvmlite.te.space import ConfigEntity, ConfigSpace, FallbackConfig, Task, create

Crew = ParallelRunner
"""The former name of ``ParallelRunner``, kept as an alias."""

__all__ = [
    "ConfigEntity",
    "ConfigSpace",
    "Crew",
    "FallbackConfig",
    "GATuner",
    "GridSearchTuner",
    "LocalRunner",
    "ParallelRunner",
    "RandomTuner",
    "Record",
    "Runner",
    "Task",
    "Tuned",
    "Tuner",
    "Watch",
    "XGBTuner",
    "apply_history_best",
    "callback",
    "complete",
    "create",
    "get_config",
    "template",
    "tune",
]
