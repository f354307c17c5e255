"""How few trials a search needs: XGBoost without and with transfer, and random search, on six spaces.

    python benchmarks/search.py --remember measured.jsonl                       # all tasks, five seeds
    python benchmarks/search.py --remember measured.jsonl conv3x3 softmax --seeds 2 --model model.json

The spaces (``searching.templates``) have 10,000 to billions of candidates and say nothing of what is good.
Each search is a real one: it proposes, builds and measures on this machine, on one thread, by the processor
time of the thread. What was measured once is kept in the file ``--remember`` and never measured again: all
searches, of this run and of the next, are told the same time of the same code, and noise makes none luckier
than another. ``best`` is the best that any search of the run has found. ``share`` are means over the seeds of
the best so far by ``best`` after so many trials; ``to 95%`` is the mean number of trials after which 95% of
it were reached (a search that did not counts with all its trials). What is refused or fails is a trial.

``transfer`` begins with what was learned of other shapes of the same operators, ``searching.shapes.TRAINED``:
the model that comes with the package, or ``--model``, by ``train_cost_model.py``. ``plain`` begins with an
estimate of cycles by the loops alone, and ``random`` with nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import searching.templates  # noqa: F401  (registers the templates)
from searching.remembered import Remembered
from searching.shapes import TESTED

from tvmlite import autotune
from tvmlite.autotune import engine, transfer, trees
from tvmlite.autotune.model import Prior
from tvmlite.autotune.tuners import RandomTuner, Tuner
from tvmlite.te.space import Task

MARKS = (8, 16, 32, 64, 128, 256)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=[[], *TESTED], default=[])
    parser.add_argument("--remember", type=Path, required=True, help="what was measured, kept between runs")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--random", type=int, default=256, help="trials of the random search; 0: none")
    parser.add_argument("--model", type=Path, help="the model to begin with; default: the package's")
    options = parser.parse_args(arguments)
    text = None if options.model is None else options.model.read_text(encoding="utf-8")
    known = transfer.known_beforehand()
    if text is not None:
        known = transfer.corrected(trees.Trees.from_json(text))
    print(f"load before: {os.getloadavg()[0]:.2f}; processors: {os.cpu_count()}")
    with autotune.LocalRunner() as machine:
        runner = Remembered(options.remember, machine)
        for name in options.tasks or TESTED:
            compare(name, runner, known, options.seeds, options.trials, options.random)
    print(f"load after: {os.getloadavg()[0]:.2f}")


def compare(name: str, runner: Remembered, known: Prior, seeds: int, trials: int, of_random: int) -> None:
    """Run all searches of a task, and print how they did."""
    task = autotune.create(*TESTED[name])
    curves: dict[str, list[list[float]]] = {"plain": [], "transfer": [], "random": []}
    started, before = time.monotonic(), runner.measured
    for seed in range(seeds):
        curves["transfer"].append(search(autotune.XGBTuner(task, seed, prior=known), runner, trials))
        curves["plain"].append(search(autotune.XGBTuner(task, seed, prior=transfer.estimate), runner, trials))
        if of_random:
            curves["random"].append(search(RandomTuner(task, seed), runner, of_random))
    best = max(max(curve) for kind in curves.values() for curve in kind)
    measured = runner.measured - before
    print(
        f"{name}: {len(task.config_space)} candidates, best {best / 1e9:.1f} GFLOP/s; {measured} measured, "
        f"{time.monotonic() - started:.0f} s"
    )
    for kind, found in ((kind, found) for kind, found in curves.items() if found):
        shares = [
            f"{mark}: {statistics.mean(curve[mark - 1] for curve in found) / best:.3f}"
            for mark in MARKS
            if mark <= len(found[0])
        ]
        needed = statistics.mean(reached(curve, 0.95 * best) for curve in found)
        print(f"  {kind:9} share {'  '.join(shares)}   to 95%: {needed:.0f}", flush=True)


def search(tuner: Tuner, runner: Remembered, trials: int) -> list[float]:
    """The best operations a second after each trial."""
    task: Task = tuner.task
    curve = engine.run(tuner, runner, trials).curve
    return [task.flop / seconds if seconds < float("inf") else 0.0 for seconds in curve]


def reached(curve: Sequence[float], wanted: float) -> int:
    """After how many trials ``wanted`` was reached; all of them if it was not."""
    return next((n for n, speed in enumerate(curve, 1) if speed >= wanted), len(curve))


if __name__ == "__main__":
    main()
