"""``tvmc tune``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvmlite.autotune.measure import LocalRunner
from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.tuning.tune import tune
from tvmlite.tvm import auto_scheduler
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler.relay_integration import extract_tasks
from tvmlite.tvm.autotvm.record import load_from_file
from tvmlite.tvm.autotvm.task.relay_integration import bound, extract_from_program
from tvmlite.tvm.autotvm.task.task import Task
from tvmlite.tvm.autotvm.tuner import callback
from tvmlite.tvm.autotvm.tuner.ga_tuner import GATuner
from tvmlite.tvm.autotvm.tuner.index_based_tuner import GridSearchTuner, RandomTuner
from tvmlite.tvm.autotvm.tuner.tuner import Tuner
from tvmlite.tvm.autotvm.tuner.xgboost_cost_model import FEATURES
from tvmlite.tvm.autotvm.tuner.xgboost_tuner import XGBTuner
from tvmlite.tvm.driver.tvmc import frontends
from tvmlite.tvm.driver.tvmc.common import tracker_host_port_from_cli
from tvmlite.tvm.driver.tvmc.compiler import LAYOUTS, add_model_arguments, refuse, with_defaults
from tvmlite.tvm.driver.tvmc.model import TVMCModel
from tvmlite.tvm.driver.tvmc.runner import add_rpc_arguments
from tvmlite.tvm.driver.tvmc.target import machine_of, reconstruct_target_args

_HARDWARE = (
    "cache-line-bytes",
    "max-local-memory-per-block",
    "max-shared-memory-per-block",
    "max-threads-per-block",
    "max-vthread-extent",
    "num-cores",
    "vector-unit-bytes",
    "warp-size",
)
"""The properties of a machine that TVM's search asks for; tvmlite takes them from the target."""

_LOSSES = {"": "reg", "_rank": "rank", "_rank_binary": "rank-binary"}
_XGB: dict[str, dict[str, Any]] = {
    f"xgb{loss}{'_' if feature else ''}{feature}": {"loss_type": kind, "feature_type": feature or FEATURES[0]}
    for loss, kind in _LOSSES.items()
    for feature in ("", *FEATURES)
} | {"xgb-rank": {"loss_type": "rank"}}
"""Tuners with a cost model, and the arguments of AutoTVM's class."""

TUNERS = {"ga": "genetic", "gridsearch": "grid", "random": "random", **dict.fromkeys(_XGB, "xgboost")}
"""The tuners of TVM's command, and tvmlite's names for them."""


def tune_tasks(
    tasks: Sequence[Task],
    log_file: Any,
    measure_option: dict[str, Any],
    tuner: str,
    trials: int,
    early_stopping: int | None = None,
    tuning_records: Any = None,
) -> None:
    """Tune ``tasks`` one after the other with AutoTVM's tuners, at most ``trials`` measurements each, and
    write AutoTVM's log. ``tuning_records`` is an earlier log to learn from."""
    refuse(tuner=(tuner, tuple(TUNERS)))
    for number, task in enumerate(tasks, 1):
        made = _tuner(tuner, task)
        if tuning_records is not None and Path(tuning_records).exists():
            made.load_history(load_from_file(tuning_records))
        most = min(trials, len(task.config_space))
        shown = callback.progress_bar(most, f"[Task {number:2d}/{len(tasks):2d}] ")
        made.tune(most, measure_option, early_stopping, [shown, callback.log_to_file(log_file)])


def _tuner(name: str, task: Task) -> Tuner:
    """Return AutoTVM's tuner of that name."""
    if name in _XGB:
        return XGBTuner(task, **_XGB[name])
    if name == "ga":
        return GATuner(task, pop_size=50)
    return RandomTuner(task) if name == "random" else GridSearchTuner(task)


def autotvm_get_tuning_tasks(mod: Any, params: Any, target: Any, **options: Any) -> list[Any]:
    """Return the tasks of ``autotvm.task.extract_from_program``; ``options``, TVM's, have no effect."""
    return extract_from_program(mod, params, target)


def autoscheduler_get_tuning_tasks(
    mod: Any, params: Any, target: Any, **options: Any
) -> tuple[list[Any], list[int]]:
    """Return the tasks of ``auto_scheduler.extract_tasks`` and their numbers of calls; ``options``, TVM's,
    have no effect."""
    return extract_tasks(mod, params, target)


def tune_model(
    tvmc_model: TVMCModel,
    target: Any,
    tuning_records: Any = None,
    prior_records: Any = None,
    enable_autoscheduler: bool = False,
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = 9090,
    trials: int = 10000,
    target_host: Any = None,
    tuner: str = "xgb",
    min_repeat_ms: int | None = None,
    early_stopping: int | None = None,
    desired_layout: str | None = None,
    timeout: int = 10,
    repeat: int = 1,
    number: int = 10,
    parallel: int = 4,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    log_estimated_latency: bool = False,
    additional_target_options: Any = None,
    tasks_filter: str | None = None,
) -> str:
    """Search schedules for the kernels of ``tvmc_model``. ``trials`` is the total number of measurements;
    they go to the kernels with the largest possible gain. Return the file of records, ``tuning_records``,
    which ``compile`` takes.

    Templates and generated schedules are searched together, whatever ``enable_autoscheduler`` is; at the end,
    records that do not make the whole model faster are dropped. Each candidate is measured in ``repeat`` runs
    of ``number`` calls, or for ``min_repeat_ms``, and fails after ``timeout`` seconds.
    ``additional_target_options`` are options of parts of ``target``, by kind and name. ``parallel`` and
    ``hardware_params`` have no effect.
    """
    if hostname is not None or rpc_key is not None:
        raise UnsupportedError(
            f"--rpc-tracker {hostname}:{port}: nothing is measured on other machines",
            Span.of_caller(),
            "tune there",
        )
    refuse(
        tuner=(tuner, tuple(TUNERS)),
        tasks=(tasks_filter, (None, "all")),
        desired_layout=(desired_layout, (None, *LAYOUTS)),
    )
    module = bound(tvmc_model.mod, tvmc_model.params)
    for param in module.main.params:
        if not getattr(param.type, "is_static", True):
            raise InputError(
                f"tune: input {param.name!r} has open extents, {param.type}: kernels are timed at one size",
                hint=f'--input-shapes "{param.name}:[1,...]", or load(..., shape_dict=)',
            )
    path = Path(tvmc_model.default_tuning_records_path() if tuning_records is None else tuning_records)
    if prior_records is not None:
        files.readable(Path(prior_records), "--tuning-records")
    if prior_records is not None and Path(prior_records) != path:
        path.write_bytes(Path(prior_records).read_bytes())
    runs: dict[str, Any] = {"number": number, "repeat": repeat}
    if min_repeat_ms:
        runs = {"budget": repeat * min_repeat_ms / 1000}
    with LocalRunner(timeout=float(timeout), threads=num_threads(), **runs) as runner:
        tuned = tune(
            module,
            machine_of(target, additional_target_options),
            path,
            trials=trials,
            tuner=TUNERS[tuner],
            runner=runner,
            early_stopping=early_stopping,
            decisions=False,
        )
    print(tuned)
    return str(path)


def add_tune_parser(subparsers: Any, main_parser: Any = None, json_params: Any = ()) -> Any:
    """Add and return the parser of ``tune``; ``json_params``, dicts of values by option, are defaults."""
    made = subparsers.add_parser(
        "tune", help="search fast schedules for a model", description=drive_tune.__doc__
    )
    add_model_arguments(made)
    made.add_argument("-o", "--output", type=Path, required=True, help="the file to append records to")
    made.add_argument("--trials", type=int, default=1000, help="measurements in all (default: 1000)")
    made.add_argument("--tuner", choices=TUNERS, default="xgb", help="search strategy (default: xgb)")
    made.add_argument(
        "--early-stopping",
        type=int,
        metavar="N",
        help="stop tuning a kernel after N trials without improvement",
    )
    made.add_argument("--enable-autoscheduler", action="store_true", help="generated schedules (always)")
    made.add_argument("--number", type=int, default=10, help="calls in a run (default: 10)")
    made.add_argument("--repeat", type=int, default=1, help="runs of a candidate (default: 1)")
    made.add_argument("--min-repeat-ms", type=int, help="milliseconds of a run, in place of --number")
    made.add_argument("--timeout", type=int, default=10, help="seconds for a candidate (default: 10)")
    made.add_argument("--parallel", type=int, default=4, help="no effect")
    made.add_argument("--tuning-records", type=Path, help="records to begin with")
    made.add_argument("--tasks", default="all", help="only all")
    for name in _HARDWARE:
        made.add_argument(f"--{name}", type=int, help="no effect: the target determines it")
    for name in ("include-simple-tasks", "log-estimated-latency"):
        made.add_argument(f"--{name}", action="store_true", help="no effect")
    add_rpc_arguments(made)
    made.set_defaults(command=drive_tune, parser=made)
    return with_defaults(made, json_params)


def drive_tune(args: argparse.Namespace) -> int:
    """Search fast schedules for a model's kernels on this machine."""
    hostname, port = tracker_host_port_from_cli(args.rpc_tracker)
    hardware = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in _HARDWARE}
    path = tune_model(
        frontends.load_model(args.FILE, args.model_format, args.input_shapes),
        args.target,
        tuning_records=args.output,
        prior_records=args.tuning_records,
        enable_autoscheduler=args.enable_autoscheduler,
        rpc_key=args.rpc_key,
        hostname=hostname,
        port=port or 0,
        trials=args.trials,
        tuner=args.tuner,
        min_repeat_ms=args.min_repeat_ms,
        early_stopping=args.early_stopping,
        desired_layout=args.desired_layout,
        timeout=args.timeout,
        repeat=args.repeat,
        number=args.number,
        parallel=args.parallel,
        hardware_params=auto_scheduler.HardwareParams(**hardware),
        additional_target_options=reconstruct_target_args(args),
        tasks_filter=args.tasks,
    )
    print(f"{path}: use it with tvmc compile --tuning-records {path}")
    return 0


__getattr__ = refusing(__name__)
