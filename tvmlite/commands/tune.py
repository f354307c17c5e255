"""Search the schedules of a model's kernels on this machine; compile --records takes what was found."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from tvmlite import runtime
from tvmlite.autotune.report.watch import Watch
from tvmlite.autotune.search.xgb_tuner import TUNERS
from tvmlite.autotune.tune import seconds_of
from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core import VERSION
from tvmlite.machine.cores import processors
from tvmlite.machine.features import processor_name
from tvmlite.relay.ir.nodes import Module
from tvmlite.te.visualizer import limits
from tvmlite.tuning.tune import TunedModel, TuningInterrupted, tune

NAME = "tune"
DEFAULT_BUDGET = "10m"

HELP = "search fast schedules for a model's kernels"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser)
    common.thread_option(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="the file to append records to: tune.jsonl"
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--budget", help="how long to search: 90s, 10m, 1h (default: 10m)")
    limit.add_argument("--trials", type=int, help="how many schedules to measure, over all kernels")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search (default: 0)")
    parser.add_argument(
        "--resume", action="store_true", help="continue a run with the same seed from its records"
    )
    parser.add_argument(
        "--tuner", choices=TUNERS, default="xgboost", help="search strategy (default: xgboost)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        help="how many schedules are measured at once, on separate processors (default: 1)",
    )
    parser.add_argument(
        "--no-decisions", action="store_true", help="do not try alternatives to the decisions of graph passes"
    )
    parser.add_argument("--report", type=Path, help="write the results as a page: tune.html")


def main(options: argparse.Namespace) -> int:
    """Run the command; a Ctrl-C keeps the measurements and the selection so far in the records."""
    common.set_threads(options)
    files.writable(options.output, "-o")
    files.writable(options.report, "--report")
    module = common.import_model(options)
    budget = (options.budget or DEFAULT_BUDGET) if options.trials is None else None
    peak = limits.measure(["float32"], 1 << 16, runtime.num_threads()).operations
    watch = Watch(trials=options.trials, budget=None if budget is None else seconds_of(budget), peak=peak)
    try:
        with watch, common.open_dimensions(options):
            tuned = _tuned(options, module, budget, watch)
    except KeyboardInterrupt as stop:
        if isinstance(stop, TuningInterrupted):
            _report(options, stop.tuned, watch.peak or peak)
        print(f"tvmlite: what was measured is in {options.output}; --resume goes on", file=sys.stderr)
        raise
    _report(options, tuned, watch.peak or peak)
    return 0


def _report(options: argparse.Namespace, tuned: TunedModel, peak: float) -> None:
    """Print the results and how to use them, and write the page if it is requested."""
    print(tuned)
    if tuned.default_and_tuned is None:
        print(f"{options.output}: what was measured; nothing to use yet, a longer search may find more")
    else:
        print(f"{options.output}: use it with\n    {compile_command(options)}")
    if options.report is None:
        return
    page = tuned.page(title=f"Tuning of {options.model.name}", facts=_facts(options, tuned), peak=peak)
    options.report.write_text(page, encoding="utf-8")
    print(f"{options.report}: the results")


def _facts(options: argparse.Namespace, tuned: TunedModel) -> dict[str, str]:
    """What was tuned, when, where and how."""
    threads = runtime.num_threads()
    limit = f"{options.trials} trials" if options.trials is not None else options.budget or DEFAULT_BUDGET
    return {
        "date": time.strftime("%Y-%m-%d %H:%M %z"),
        "machine": f"{processor_name()}, {processors()} cores usable",
        "target": str(tuned.lib.target),
        "threads": str(threads),
        "command": shlex.join(["tvmlite", *options.words]),
        "search": f"{limit}, seed {options.seed}, records in {options.output}",
        "tvmlite": VERSION,
    }


def compile_command(options: argparse.Namespace) -> str:
    """Return the shell command that compiles the model with the records."""
    threads = [] if options.threads is None else ["--threads", str(options.threads)]
    library = options.model.with_suffix(".so").name
    words = ["compile", str(options.model), "-o", library, "--records", str(options.output), *threads]
    return shlex.join(["tvmlite", *words, *common.model_arguments(options)])


def _tuned(options: argparse.Namespace, module: Module, budget: str | None, watch: Watch) -> TunedModel:
    return tune(
        module,
        options.target,
        options.output,
        trials=options.trials,
        budget=budget,
        seed=options.seed,
        resume=options.resume,
        tuner=options.tuner,
        jobs=options.jobs,
        callbacks=[watch],
        decisions=not options.no_decisions,
        say=watch.say,
        opt_level=options.opt_level,
        precision=options.precision,
        error_bound=options.error_bound,
    )
