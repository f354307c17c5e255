"""Train the cost model that the package contains: measure kernels of many shapes, fit the model, write a
file.

    python benchmarks/train_cost_model.py --records kernels.jsonl --measure 128      # measures, then trains
    python benchmarks/train_cost_model.py --records kernels.jsonl                    # trains on what is there

A third of the candidates of each task (``searching.groups`` and ``searching.shapes.TRAINED``) are random. Two
thirds come from searches, without and with the existing model, so that they include fast candidates, and
those for which the model is wrong. Other tasks in the file, such as those of ``tvmlite tune``, are also used,
and more files can be given; times of different files are not compared with each other. Before the model is
written, the script prints how well a model trained on all other tasks predicts the order of each task: the
rank correlation, and the speed of the best of the 8 candidates that the model ranks first, relative to the
best of all.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import searching.templates  # noqa: F401  (registers the templates)
from searching.groups import groups
from searching.shapes import TRAINED
from searching.steady import Steady

from tvmlite import autotune
from tvmlite.autotune.model import transfer
from tvmlite.autotune.model.trees import Trees, path_of
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.report.watch import label_of
from tvmlite.autotune.search import engine
from tvmlite.autotune.search.tuners import RandomTuner, Tuner
from tvmlite.autotune.search.xgb_tuner import XGBTuner
from tvmlite.machine.target import Target
from tvmlite.te.space import Task


def measure(path: Path, trials: int, seed: int, seconds: float) -> None:
    """Measure ``trials`` candidates of each task, and append them to the file at ``path``. Tasks that are
    already in the file are skipped, and no task is started after ``seconds`` seconds."""
    started = time.monotonic()
    done = {record.task_key for record in rec.load(path)} if path.exists() else set()
    kinds: tuple[Callable[[Task], Tuner], ...] = (
        lambda task: XGBTuner(task, seed, prior=transfer.estimate(task.target)),
        lambda task: XGBTuner(task, seed + 1),
        lambda task: RandomTuner(task, seed),
    )
    with autotune.LocalRunner() as machine:
        runner = Steady(machine)
        for task in _tasks():
            if task.key in done:
                continue
            if time.monotonic() > started + seconds:
                print(runner.summary())
                raise SystemExit("not all tasks are measured: run it again, it goes on")
            for kind in kinds:
                callbacks = [autotune.callback.log_to_file(path)]
                search = engine.run(kind(task), runner, trials // len(kinds), callbacks=callbacks)
                print(f"{label_of(task)}: best {search.best_flops / 1e9:.1f} GFLOP/s", flush=True)
    print(runner.summary())


def _tasks() -> Iterator[Task]:
    """All tasks to be measured; the groups of models are created only after the others."""
    yield from (autotune.create(*one) for one in TRAINED)
    yield from groups(Target.parse("native"))


def ranking_quality(
    model: Trees, target: Target, rows: np.ndarray, scores: np.ndarray
) -> tuple[float, float]:
    """The rank correlation, and the relative speed of the best of the first 8 candidates by ``model``."""
    predicted = transfer.corrected(model, target)(rows)
    ranks = [np.argsort(np.argsort(one, kind="stable")) for one in (predicted, scores)]
    first = np.argsort(-predicted, kind="stable")[:8]
    return float(np.corrcoef(*ranks)[0, 1]), float(2.0 ** scores[first].max())


def _known(path: Path, target: Target) -> dict[tuple[Path, str], transfer.TrainingData]:
    """The training data from the records at ``path`` for each task, by its key."""
    of_task: dict[str, list[rec.Record]] = {}
    for record in rec.load(path):
        of_task.setdefault(record.task_key, []).append(record)
    found = {key: transfer.training_data(some, target, most=10**6) for key, some in of_task.items()}
    return {(path, key): one[0] for key, one in found.items() if one}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, nargs="+", required=True, help="measured into the first")
    parser.add_argument("--measure", type=int, default=0, help="candidates of each task to measure first")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no task after that")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="default: the package's, for this kind of processor")
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options.records[0], options.measure, options.seed, options.seconds)
    target = Target.parse("native")
    prior = transfer.estimate(target)
    known = {
        key: one
        for path in options.records
        for key, one in _known(path, target).items()
        if len(one[0]) >= transfer.FEWEST_RECORDS
    }
    for key, (rows, scores) in known.items():
        others = [one for other, one in known.items() if other[1] != key[1]]
        if others:
            rank, share = ranking_quality(transfer.correction(others, prior), target, rows, scores)
            about = f"{len(rows):5} candidates, rank {rank:.2f}, first 8: {share:.2f} of the best"
            print(f"{key[1][:58]:58} {about}")
    model = transfer.correction(list(known.values()), prior)
    output = options.output or path_of(target)
    output.write_text(model.to_json(), encoding="utf-8")
    size = output.stat().st_size
    count = sum(len(rows) for rows, _ in known.values())
    print(f"{output}: {len(model.leaf)} trees from {count} candidates, {size} bytes")


if __name__ == "__main__":
    main()
