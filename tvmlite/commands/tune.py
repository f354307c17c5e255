"""Search the schedules of a model's kernels on this machine; compile --records takes what was found."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tvmlite import autotune
from tvmlite.autotune.learner import TUNERS
from tvmlite.commands import common
from tvmlite.tuning import tune

NAME = "tune"
HELP = "search quick schedules for a model's kernels"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser)
    common.thread_option(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, help="records are added to: tune.jsonl")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--budget", help="how long to search: 90s, 10m, 1h (default: 10m)")
    limit.add_argument("--trials", type=int, help="how many schedules to measure, over all kernels")
    parser.add_argument("--seed", type=int, default=0, help="of all that is left to chance (default: 0)")
    parser.add_argument("--resume", action="store_true", help="go on where a run with the same seed ended")
    parser.add_argument("--tuner", choices=TUNERS, default="xgboost", help="who proposes (default: xgboost)")


def main(options: argparse.Namespace) -> int:
    """Carry the command out; a Ctrl-C leaves what was measured in the records."""
    common.set_threads(options)
    module = common.import_model(options)
    try:
        tuned = tune(
            module,
            options.target,
            options.output,
            trials=options.trials,
            budget=(options.budget or "10m") if options.trials is None else None,
            seed=options.seed,
            resume=options.resume,
            tuner=options.tuner,
            callbacks=[autotune.callback.progress_bar()],
            opt_level=options.opt_level,
            precision=options.precision,
            error_bound=options.error_bound,
        )
    except KeyboardInterrupt:
        print(f"tvmlite: what was measured is in {options.output}; --resume goes on", file=sys.stderr)
        raise
    print(tuned)
    print(f"{options.output}: take it with tvmlite compile {options.model} --records {options.output}")
    return 0
