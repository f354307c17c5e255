"""Train the model of gains that comes with the package: which schedules are quicker than a kernel's default.

    python benchmarks/train_gain_model.py --records gains.jsonl --measure    # measures, then trains
    python benchmarks/train_gain_model.py --records gains.jsonl              # trains on what is there

Candidates of each task (``searching.groups``: fused groups of real models, and computations of drawn sizes)
are timed in turns with its default, on one thread, with results and weights as far away as they are in a
model. Most are drawn as ``compile(predict=True)`` draws them, some at random, to be learned from. Tasks that
are in the file are not measured again, so a run that was cut short goes on.

Then every task is predicted by a model that was trained on others. The largest gain that such a model
predicted of what it took for the best, and was slower than the default, is the doubt that stands in the file
beside the model, for each operator of which there are enough tasks, and for those of a template together of
which there are few.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xgboost
from searching.groups import groups
from searching.paired import compare

from tvmlite.autotune import LocalRunner
from tvmlite.autotune.measure import Footprint
from tvmlite.autotune.measure.build import Builder, Lowered
from tvmlite.autotune.model.gains import SHIPPED, Gains, Trust, beside
from tvmlite.autotune.model.loop_features import loop_features
from tvmlite.autotune.model.trees import Trees
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.report.watch import label_of
from tvmlite.autotune.search.predict import CANDIDATES, LEAST_GAIN, candidates, is_shared_out, is_small
from tvmlite.core.errors import TvmliteError
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.lower import anchor
from tvmlite.te.space import Task, create

PARAMETERS = {
    "objective": "reg:squarederror",
    "base_score": 0.0,
    "max_depth": 4,
    "eta": 0.05,
    "min_child_weight": 6.0,
    "colsample_bytree": 0.5,
    "subsample": 0.8,
    "tree_method": "hist",
    "max_bin": 64,
    "nthread": 1,
    "seed": 0,
    "verbosity": 0,
}
TREES = 300

CLIP = 2.0
"""Of what is quicker or slower by more than this power of two it is not learned how much more."""

FOLDS = 10
"""Every task is predicted by a model that was trained on nine tenths of the others."""

LEAST_TASKS = 15
"""Of an operator, or of several of a template, for a word on what predictions are worth."""

LEAST_GAINING = 3
"""Tasks of a kind in which something must have been predicted beyond doubt, or predictions are no use."""

SLOWER = 0.04
"""As a power of two: what loses less than that is not slower, as measurements go."""

RANDOM = 7
"""Further candidates of each task, any there are: what is bad has to be learned as well."""

NEAR = "near"
"""The origin of the records of candidates as predictions are made of."""

FOOTPRINT = Footprint(weights=1 << 24, values=1 << 22)
"""Bytes that are touched between two calls, as in a model of middle size."""

HELD = 1 << 29
"""Bytes of arrays that a measuring process is left with; then another is started."""


@dataclass(frozen=True)
class Known:
    """What was measured of a task: its operator and template, the features of its default's loops and of its
    candidates', ``(n, WIDTH)``, what those gain over the default, as powers of two, which of them are
    such as ``compile`` looks at, and whether it is too small for that."""

    operator: str
    template: str
    default: np.ndarray
    rows: np.ndarray
    gains: np.ndarray
    near: np.ndarray
    is_small: bool


def measure(path: Path, seed: int) -> None:
    """Measure candidates of each task that is not in the file at ``path``, and append them to it."""
    done = {record.task_key for record in rec.load(path)} if path.exists() else set()
    runner, held = LocalRunner(budget=0.004, footprint=FOOTPRINT), 0
    for task in groups(Target.parse("native")):
        if task.key in done:
            continue
        held += 2 * task.moved
        if held > HELD:
            runner.close()
            held = 2 * task.moved
        generator = np.random.default_rng([seed, zlib.crc32(task.key.encode())])
        others = map(task.config_space.get, task.config_space.sample(RANDOM, generator).tolist())
        found = compare(task, candidates(task, CANDIDATES, generator), runner, path, NEAR)
        found += compare(task, others, runner, path, "random")
        best = min((record.cost for record in found if record.ok), default=float("nan"))
        print(f"{label_of(task)[:70]:70} {len(found):3} timed, the best {best * 1e6:.1f} us", flush=True)
    runner.close()


def known(path: Path, target: Target) -> list[Known]:
    """What the file at ``path`` tells, task by task; tasks that are none any more are left out."""
    of_task: dict[str, list[rec.Record]] = {}
    for record in rec.load(path):
        if record.target == str(target) and tasks.is_of_group(record.task):
            of_task.setdefault(record.task_key, []).append(record)
    found = []
    for records in of_task.values():
        try:
            task = create(records[0].task[0], list(records[0].task[1]), target)
        except TvmliteError as error:
            print(f"no task any more: {error.message}")
            continue
        one = _known(task, records)
        if one is not None:
            found.append(one)
    return found


def _known(task: Task, records: Iterable[rec.Record]) -> Known | None:
    builder, beside_it = Builder(task), 0.0
    default = builder.lowered(task.default)
    assert isinstance(default, Lowered)
    row = loop_features(default.function, task.target, task.flop)
    rows, gained, near = [], [], []
    for record in records:
        if record.config.settings == task.default.settings:
            beside_it = record.cost if record.ok else 0.0
            continue
        lowered = builder.lowered(record.config)
        if record.ok and beside_it and isinstance(lowered, Lowered):
            rows.append(loop_features(lowered.function, task.target, task.flop))
            gained.append(np.log2(beside_it / record.cost))
            near.append(record.origin == NEAR and is_shared_out(row, rows[-1]))
    operator = anchor(tasks.group_of(task.args[0]))
    if not any(near):
        return None
    gains = np.array(gained, np.float32)
    return Known(operator.name, operator.schedule, row, np.stack(rows), gains, np.array(near), is_small(task))


def trained(some: Sequence[Known]) -> Trees:
    """A model of the gains of ``some`` tasks, each of the same weight, what is quick counting most."""
    weights = []
    for one in some:
        weight = 0.1 + np.minimum(4.0 ** (one.gains - max(0.0, float(one.gains.max()))), 1.0)
        weights.append(weight / len(weight) ** 0.5)
    data = xgboost.DMatrix(
        np.concatenate([beside(one.default, one.rows) for one in some]),
        label=np.concatenate([np.clip(one.gains, -CLIP, CLIP) for one in some]),
        weight=np.concatenate(weights),
    )
    return Trees.of_xgboost(xgboost.train(PARAMETERS, data, TREES))


@dataclass(frozen=True)
class Pick:
    """What was taken for the best of a task that the model had not seen: the predicted gain, what it gained,
    and what the best gained, the default's 0 among them; as powers of two."""

    said: float
    gained: float
    best: float


def picks(some: Sequence[Known], seed: int = 0) -> list[tuple[Known, Pick]]:
    """What is taken of each of ``some`` that are not too small, by models that were trained on others."""
    fold = np.random.default_rng(seed).permutation(len(some)) % FOLDS
    found: dict[int, Pick] = {}
    for number in range(FOLDS):
        model = trained([one for one, of in zip(some, fold, strict=True) if of != number])
        for place in np.flatnonzero(fold == number).tolist():
            one = some[place]
            said = np.where(one.near, model(beside(one.default, one.rows)), -np.inf)
            best = int(np.argmax(said))
            found[place] = Pick(float(said[best]), float(one.gains[best]), max(float(one.gains.max()), 0.0))
    return [(one, found[place]) for place, one in enumerate(some) if not one.is_small]


def trust(of_kind: Sequence[Pick]) -> Trust:
    """What ``of_kind`` tell of the next of their kind."""
    doubt = max([0.0, *(one.said for one in of_kind if one.gained < -SLOWER)])
    taken = taken_of(of_kind, doubt)
    use = len(taken) >= LEAST_GAINING and float(np.mean([one.gained for one in taken])) > LEAST_GAIN
    left = [one.best - (one.gained if use and one in taken else 0.0) for one in of_kind]
    losses = (float(2.0 ** np.median(some) - 1) for some in ([one.best for one in of_kind], left))
    return Trust(len(of_kind), doubt, len(taken) / len(of_kind) if use else 0.0, *losses)


def taken_of(of_kind: Sequence[Pick], doubt: float) -> list[Pick]:
    """Those that take the default's place."""
    return [one for one in of_kind if one.said - doubt > LEAST_GAIN]


def kinds(found: Sequence[tuple[Known, Pick]]) -> dict[str, Trust]:
    """What predictions are worth for operators: for each by itself of which there are enough tasks, and for
    those of a template of which there are few by all of these."""
    of_operator: dict[str, list[tuple[Known, Pick]]] = {}
    for one, pick in found:
        of_operator.setdefault(one.operator, []).append((one, pick))
    groups: dict[str, list[tuple[Known, Pick]]] = {}
    for operator, own in of_operator.items():
        name = operator if len(own) >= LEAST_TASKS else f"others of {own[0][0].template}"
        groups.setdefault(name, []).extend(own)
    told: dict[str, Trust] = {}
    for name, own in sorted(groups.items()):
        if len(own) >= LEAST_TASKS:
            worth = trust([pick for _, pick in own])
            told |= dict.fromkeys(sorted({one.operator for one, _ in own}), worth)
            _print(name, worth, [pick for _, pick in own])
    return told


def _print(kind: str, told: Trust, own: Sequence[Pick]) -> None:
    taken = taken_of(own, told.doubt) if told.gaining else []
    gained = " ".join(f"{one:.2f}" for one in sorted(2.0**one.gained for one in taken))
    print(
        f"{kind:24} {told.tasks:3} tasks; wrong up to {2**told.doubt:.2f}x; defaults lose {told.loss:.0%},"
        f" {told.left:.0%} left; instead of the default: {gained or 'nothing'}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--measure", action="store_true", help="measure tasks that are not in the records")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=SHIPPED)
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options.records, options.seed)
    target = Target.parse("native")
    some = known(options.records, target)
    model = Gains(trained(some), kinds(picks(some)), target)
    options.output.write_text(model.to_json(), encoding="utf-8")
    count = sum(len(one.gains) for one in some)
    size = options.output.stat().st_size
    print(f"{options.output}: from {count} candidates of {len(some)} tasks, {size} bytes")


if __name__ == "__main__":
    main()
