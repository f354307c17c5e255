"""Searches schedules with a cost model and real measurements.

::

    task = autotune.create("matmul", (512, 512, 512))          # a function under @autotune.template("matmul")
    autotune.tune(task, "matmul.jsonl", trials=200)
    with autotune.apply_history_best("matmul.jsonl"):
        s, args = matmul(512, 512, 512)                        # scheduled as measured best

A template may give tensors only: then its schedule is generated, and so are its knobs. ``complete`` does that
for what a schedule written by hand leaves open.
"""

from tvmlite.autotune import callback
from tvmlite.autotune.generated import complete, template
from tvmlite.autotune.history import apply_history_best
from tvmlite.autotune.learner import XGBTuner
from tvmlite.autotune.measure import Crew, LocalRunner, Runner
from tvmlite.autotune.records import Record
from tvmlite.autotune.tune import Tuned, tune
from tvmlite.autotune.tuners import GATuner, GridSearchTuner, RandomTuner, Tuner
from tvmlite.autotune.watch import Watch
from tvmlite.te.space import ConfigEntity, ConfigSpace, FallbackConfig, Task, create, get_config

__all__ = [
    "ConfigEntity",
    "ConfigSpace",
    "Crew",
    "FallbackConfig",
    "GATuner",
    "GridSearchTuner",
    "LocalRunner",
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
