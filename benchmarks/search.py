"""Compare how many trials searches need: XGBoost without and with transfer, and random search, on six spaces.

    python benchmarks/search.py --remember measured.jsonl                       # all tasks, five seeds
    python benchmarks/search.py --remember measured.jsonl conv3x3 softmax --seeds 2 --model model.json
    python benchmarks/search.py --rate conv3x3 light_resnet50                   # trials a minute

The spaces (``searching.templates``) have 10,000 to billions of candidates and no hints which are good. Each
search is a real one: it proposes, builds and measures on this machine, on one thread, in processor time. Each
measurement is stored in the file ``--remember`` and never repeated: all searches, in this run and later ones,
get the same time for the same code, so no search is favoured by noise. The speed of a virtual machine may
change when others use its host, so runs of fast candidates are interleaved with those of an earlier one
(``searching.steady``); the number of candidates that were always disturbed is printed at the end.

The candidates that a search considers the best are measured again, and for longer. Their speed is given as a
fraction (share) of the peak of multiply-adds, measured in interleaved runs of a loop of multiply-adds.
``best`` is the best candidate of all searches of the run, measured five times. ``share`` is the share of the
best candidate so far divided by that of ``best``, after several numbers of trials, as a mean over the seeds.
``to 95%`` is the number of trials after which 95% of ``best`` are reached, as a mean and for each seed (all
trials, if a search does not reach it). A candidate that is refused or fails counts as a trial. ``ends at`` is
the best share among the four best candidates of a search, which it would compare at the end: the mean over
the seeds, and the minimum. Softmax hardly uses multiply-adds; for it, shares only serve to compare
candidates.

``transfer`` begins with a model trained on other shapes of the same operators, ``searching.shapes.TRAINED``:
that of the package, or ``--model``, written by ``train_cost_model.py``. ``records`` begins with this model
and with configurations similar to those that were fast for other shapes, from the file ``--records``, which
``train_cost_model.py`` writes. ``plain`` begins with an estimate of cycles computed from the loops, and
``random`` with nothing.

``--rate`` instead runs searches of ``--trials`` trials, without prior knowledge, for tasks or for all
different convolutions of models, and prints the trials per minute and where the time is spent.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import networks
import searching.templates  # noqa: F401  (registers the templates)
from searching.ends import Shares
from searching.rate import Rate, convolutions, rate
from searching.remembered import CachingRunner
from searching.shapes import TESTED
from searching.steady import Steady

from tvmlite import autotune
from tvmlite.autotune.model import transfer, trees
from tvmlite.autotune.model.model import Prior
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.records import Record
from tvmlite.autotune.report.watch import label_of
from tvmlite.autotune.search import engine, similar_tasks
from tvmlite.autotune.search.progress import Progress
from tvmlite.autotune.search.tuners import RandomTuner, Tuner
from tvmlite.machine.target import Target

KINDS = ("transfer", "plain", "records")
TRIAL_COUNTS = (8, 16, 32, 64, 128, 256)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    print(f"load before: {os.getloadavg()[0]:.2f}; processors: {os.cpu_count()}")
    if options.rate:
        rates(options.rate, options.trials)
    else:
        native = Target.parse("native")
        known = transfer.shipped_prior(native)
        if options.model is not None:
            known = transfer.corrected(
                trees.Trees.from_json(options.model.read_text(encoding="utf-8")), native
            )
        with autotune.LocalRunner() as machine:
            runner = CachingRunner(options.remember, Steady(machine))
            for name in options.tasks or TESTED:
                compare(name, runner, known, options)
        print(runner.machine.summary())
    print(f"load after: {os.getloadavg()[0]:.2f}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", choices=[[], *TESTED], default=[])
    parser.add_argument("--remember", type=Path, help="what was measured, kept between runs")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="of search besides random; default: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--random", type=int, default=256, help="trials of the random search; 0: none")
    parser.add_argument("--random-seeds", type=int, help="of the random search alone; default: as --seeds")
    parser.add_argument("--model", type=Path, help="the model to begin with; default: the package's")
    parser.add_argument("--records", type=Path, help="what was measured of other shapes")
    parser.add_argument("--rate", nargs="+", metavar="NAME", choices=[*TESTED, *networks.names()])
    options = parser.parse_args(arguments)
    if options.remember is None and not options.rate:
        parser.error("give --remember FILE, or --rate NAME ...")
    if options.kinds is None:
        options.kinds = [kind for kind in KINDS if kind != "records" or options.records]
    elif "records" in options.kinds and options.records is None:
        parser.error("--kinds records needs --records FILE")
    return options


def rates(names: Sequence[str], trials: int) -> None:
    """Print the trials per minute of searches of tasks, or of the convolutions of models."""
    for name in names:
        found: list[Rate] = []
        todo = [autotune.create(*TESTED[name])] if name in TESTED else list(convolutions(name))
        for task in todo:
            found.append(rate(task, trials))
            print(f"{name} {label_of(task)}: {found[-1]}", flush=True)
        print(f"{name}, {len(found)} searches: {Rate.sum_of(found)}", flush=True)


def compare(name: str, runner: CachingRunner, known: Prior, options: argparse.Namespace) -> None:
    """Run all searches of a task, and print their results."""
    task = autotune.create(*TESTED[name])
    found: dict[str, list[_Search]] = {"plain": [], "transfer": [], "records": [], "random": []}
    similar = [] if options.records is None else similar_tasks.configurations(rec.load(options.records), task)
    started, before, shares = time.monotonic(), runner.measured, Shares(task, runner)

    def search(tuner: Tuner, trials: int) -> _Search:
        records: list[Record] = []
        progress = engine.run(tuner, runner, trials, callbacks=[lambda _, new: records.extend(new)])
        return _Search(shares, records, progress)

    for seed in range(options.seeds):
        tuners = {
            "transfer": autotune.XGBTuner(task, seed, prior=known),
            "plain": autotune.XGBTuner(task, seed, prior=transfer.estimate(task.target)),
            "records": autotune.XGBTuner(task, seed, prior=known, handed=similar),
        }
        for kind in options.kinds:
            found[kind].append(search(tuners[kind], options.trials))
        if options.random and seed < (options.random_seeds or options.seeds):
            found["random"].append(search(RandomTuner(task, seed), options.random))
    for one in itertools.chain.from_iterable(found.values()):
        one.evaluate()  # the best is known only when all have been measured
    best = shares.best()
    print(
        f"{name}: {len(task.config_space):.0e} candidates, best {best:.3f} of the peak; "
        f"{runner.measured - before} measured, {time.monotonic() - started:.0f} s"
    )
    for kind, several in found.items():
        if several:
            print(f"  {kind:9} {_line(several, best)}", flush=True)


@dataclass(frozen=True)
class _Search:
    """A finished search."""

    shares: Shares
    records: list[Record]
    progress: Progress

    def evaluate(self) -> tuple[list[float], float]:
        """The share of the peak reached after each trial, and that of the final result."""
        return self.shares.curve(self.records), self.shares.of_result(self.progress)


def _line(several: Sequence[_Search], best: float) -> str:
    """The line of the table for ``several`` searches; ``best`` is the best share of all."""
    curves, ends = zip(*[one.evaluate() for one in several], strict=True)
    after = [
        f"{count}: {statistics.mean(curve[count - 1] for curve in curves) / best:.3f}"
        for count in TRIAL_COUNTS
        if count <= len(curves[0])
    ]
    needed = [reached(curve, 0.95 * best) for curve in curves]
    return (
        f"share {'  '.join(after)}   to 95%: {statistics.mean(needed):.0f} {needed}   "
        f"ends at {statistics.mean(ends):.3f} of the peak, least {min(ends):.3f}"
    )


def reached(curve: Sequence[float], wanted: float) -> int:
    """The number of trials after which ``wanted`` was reached; all trials if it was not."""
    return next((n for n, speed in enumerate(curve, 1) if speed >= wanted), len(curve))


if __name__ == "__main__":
    main()
