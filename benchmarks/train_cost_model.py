"""Train the cost model that comes with the package: measure kernels of many shapes, learn, write a file.

    python benchmarks/train_cost_model.py --records kernels.jsonl --measure 128      # measures, then trains
    python benchmarks/train_cost_model.py --records kernels.jsonl                    # trains on what is there

A third of the candidates of each task (``searching.groups`` and ``searching.shapes.TRAINED``) are random, and
two thirds those of searches, without and with the model there is, so that what is quick is among them, and
what that model errs on. Further tasks in the file, such as those of ``tvmlite tune``, are learned from too.
Before the model is written it is told how well each task's order is predicted by a model that was trained on
all others: the rank correlation, and how quick the quickest of the first 8 by the model is beside the best.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import searching.templates  # noqa: F401  (registers the templates)
import xgboost
from searching.groups import groups
from searching.shapes import TRAINED

from tvmlite import autotune
from tvmlite.autotune import engine, transfer
from tvmlite.autotune import records as rec
from tvmlite.autotune.learner import XGBTuner
from tvmlite.autotune.trees import SHIPPED, Trees
from tvmlite.autotune.tuners import RandomTuner, Tuner
from tvmlite.autotune.watch import label_of
from tvmlite.core.target import Target
from tvmlite.te.space import Task

PARAMETERS = {
    "objective": "reg:squarederror",
    "base_score": 0.0,
    "max_depth": 5,
    "eta": 0.05,
    "min_child_weight": 8.0,
    "colsample_bytree": 0.5,
    "subsample": 0.8,
    "tree_method": "hist",
    "max_bin": 64,
    "nthread": 1,
    "seed": 0,
    "verbosity": 0,
}
TREES = 250

LEAST_WEIGHT = 0.1
"""Of what is hopeless: how much so matters little, that it is does."""


def measure(path: Path, trials: int, seed: int) -> None:
    """Measure ``trials`` candidates of each task, and append them to the file at ``path``."""
    kinds: tuple[Callable[[Task], Tuner], ...] = (
        lambda task: XGBTuner(task, seed, prior=transfer.estimate),
        lambda task: XGBTuner(task, seed + 1),
        lambda task: RandomTuner(task, seed),
    )
    with autotune.LocalRunner() as runner:
        for task in [*groups(Target.parse("native")), *(autotune.create(*one) for one in TRAINED)]:
            for kind in kinds:
                keep = [autotune.callback.log_to_file(path)]
                done = engine.run(kind(task), runner, trials // len(kinds), callbacks=keep)
                print(f"{label_of(task)}: best {done.best_flops / 1e9:.1f} GFLOP/s", flush=True)


def trained(known: Sequence[tuple[np.ndarray, np.ndarray]]) -> Trees:
    """The model of what ``transfer.estimate`` is off by: of each task rows of features, and logarithms of
    speeds by the best's.

    How quick a task is as a whole is not learned, only what is quicker in it than what; and the less of
    candidates the slower they are, for it is the best that have to be told from each other.
    """
    weights = [LEAST_WEIGHT + 4.0**scores for _, scores in known]
    off = [scores - transfer.estimate(rows) for rows, scores in known]
    labels = [one - np.average(one, weights=weight) for one, weight in zip(off, weights, strict=True)]
    data = xgboost.DMatrix(
        np.concatenate([rows for rows, _ in known]),
        label=np.concatenate(labels),
        weight=np.concatenate(weights),
    )
    return Trees.of_xgboost(xgboost.train(PARAMETERS, data, TREES))


def judged(model: Trees, rows: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The rank correlation, and the share of the best's speed that the first 8 by ``model`` reach."""
    said = transfer.corrected(model)(rows)
    ranks = [np.argsort(np.argsort(one, kind="stable")) for one in (said, scores)]
    first = np.argsort(-said, kind="stable")[:8]
    return float(np.corrcoef(*ranks)[0, 1]), float(2.0 ** scores[first].max())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--measure", type=int, default=0, help="candidates of each task to measure first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=SHIPPED)
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options.records, options.measure, options.seed)
    of_task: dict[str, list[rec.Record]] = {}
    for record in rec.load(options.records):
        of_task.setdefault(record.task_key, []).append(record)
    target = Target.parse("native")
    known = {key: transfer.experience(found, target, most=10**6) for key, found in of_task.items()}
    known = {key: (rows, scores) for key, (rows, scores) in known.items() if len(rows) >= transfer.LEAST}
    for key, (rows, scores) in known.items():
        others = [one for other, one in known.items() if other != key]
        if others:
            rank, share = judged(trained(others), rows, scores)
            print(
                f"{key[:58]:58} {len(rows):5} candidates, rank {rank:.2f}, first 8: {share:.2f} of the best"
            )
    model = trained(list(known.values()))
    options.output.write_text(model.to_json(), encoding="utf-8")
    size = options.output.stat().st_size
    count = sum(len(rows) for rows, _ in known.values())
    print(f"{options.output}: {len(model.leaf)} trees from {count} candidates, {size} bytes")


if __name__ == "__main__":
    main()
