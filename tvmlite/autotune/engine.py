"""Tuning one task: propose, build, measure, record, learn; at the end the winner beside the default."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from tvmlite.autotune.build import Built, build, reference
from tvmlite.autotune.measure import Outcome, Runner
from tvmlite.autotune.records import FINAL, Record
from tvmlite.core.version import VERSION
from tvmlite.runtime import timing
from tvmlite.te.space import ConfigEntity, Task, encode_args

FINALISTS = 4
"""Candidates that are compared with the default at the end."""


class Proposer(Protocol):
    """What the engine needs of a tuner."""

    task: Task
    seed: int
    batch: int

    name: str

    def propose(self, count: int) -> list[int]: ...

    def learn(self, indices: Sequence[int], speeds: Sequence[float]) -> None: ...


Callback = Callable[["Progress", Sequence[Record]], object]
"""Called after each batch with how far we are and what is new."""


@dataclass
class Progress:
    """How far the tuning of a task is: ``trials`` done of ``total``, ``failures`` by kind of error."""

    task: Task
    total: int
    trials: int = 0
    leaders: list[Record] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    first_failure: str = ""
    since_best: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def best(self) -> Record | None:
        """The quickest so far."""
        return self.leaders[0] if self.leaders else None

    @property
    def best_flops(self) -> float:
        """Operations a second of the best so far; 0 if there is none."""
        return 0.0 if self.best is None else self.task.flop / self.best.cost

    def take(self, record: Record) -> None:
        """Count one more trial."""
        self.trials += 1
        self.since_best += 1
        if record.error:
            self.failures[record.error] = self.failures.get(record.error, 0) + 1
            self.first_failure = self.first_failure or f"{record.error}: {record.message}"
            return
        if self.best is None or record.cost < self.best.cost:
            self.since_best = 0
        self.leaders = sorted([*self.leaders, record], key=lambda r: r.cost)[:FINALISTS]


def run(
    tuner: Proposer,
    runner: Runner,
    trials: int,
    *,
    deadline: float | None = None,
    early_stopping: int | None = None,
    callbacks: Sequence[Callback] = (),
    known: Iterable[Record] = (),
) -> Progress:
    """Tune ``tuner.task`` for ``trials`` trials, or until ``deadline`` (``time.monotonic``), or until
    ``early_stopping`` trials in a row have not bettered the best.

    ``known`` are records of an earlier run with the same seed: where they tell what came of a proposal it is
    not measured again, so that a run that was cut short goes on where it was. Every new record has been
    handed to ``callbacks`` when its batch is over, or when the run is interrupted.
    """
    task = tuner.task
    progress = Progress(task, min(trials, len(task.config_space)))
    earlier = {(r.trial, str(r.config)): r for r in known if _is_of(r, tuner)}
    runner.prepare(task.key, reference(task), tuner.seed)
    with ThreadPoolExecutor(1) as measuring:
        while progress.trials < progress.total and not _is_over(progress, deadline, early_stopping):
            proposed = tuner.propose(min(tuner.batch, progress.total - progress.trials))
            if not proposed:
                break
            batch = _Batch(tuner, runner, progress, earlier)
            try:
                batch.start(proposed, measuring)
            finally:  # what was measured before a Ctrl-C is kept
                new = batch.finish()
                for callback in callbacks:
                    callback(progress, new)
            tuner.learn(proposed, [task.flop / r.cost if r.ok else 0.0 for r in batch.records])
    return progress


def final(task: Task, runner: Runner, contenders: Sequence[Record], default: ConfigEntity) -> list[Record]:
    """The best of ``contenders`` beside ``default``, timed in turns: the winner's record first.

    The default wins unless another is quicker beyond doubt: its interval lies below the default's.
    """
    built: list[tuple[ConfigEntity, Built]] = []
    for config in _different([default, *(record.config for record in contenders)]):
        one = build(task, config)
        if isinstance(one, Built):
            built.append((config, one))
    if not built:
        return []
    runner.prepare(task.key, reference(task), 0)
    outcomes = runner.compare(task.key, [one.candidate for _, one in built])
    records = [
        _record(task, config, outcome, one.trace, FINAL)
        for (config, one), outcome in zip(built, outcomes, strict=True)
    ]
    if built[0][0] is not default or not records[0].ok:
        return sorted(records, key=lambda r: r.cost)
    least = timing.interval(sorted(records[0].costs))[0]
    better = [r for r in records[1:] if r.ok and timing.interval(sorted(r.costs))[1] < least]
    winner = min(better, key=lambda r: r.cost, default=records[0])
    return [winner, *(r for r in records if r is not winner)]


class _Batch:
    """Candidates built one after another while those before them are measured."""

    def __init__(
        self, tuner: Proposer, runner: Runner, progress: Progress, earlier: dict[tuple[int, str], Record]
    ) -> None:
        self.tuner, self.runner, self.progress, self.earlier = tuner, runner, progress, earlier
        self.pending: list[tuple[int, ConfigEntity, Built | None, Future[Outcome] | Outcome | Record]] = []
        self.records: list[Record] = []

    def start(self, proposed: Sequence[int], measuring: ThreadPoolExecutor) -> None:
        """Build all and hand them to be measured; waits until they are."""
        task = self.tuner.task
        for offset, number in enumerate(proposed):
            trial, config = self.progress.trials + offset, task.config_space.get(number)
            found = self.earlier.get((trial, _unnumbered(config)))
            if found is not None:
                self.pending.append((trial, config, None, found))
                continue
            built = build(task, config)
            if isinstance(built, Outcome):
                self.pending.append((trial, config, None, built))
            else:
                outcome = measuring.submit(self.runner.measure, task.key, built.candidate)
                self.pending.append((trial, config, built, outcome))
        for _, _, _, outcome in self.pending:
            if isinstance(outcome, Future):
                outcome.result()

    def finish(self) -> list[Record]:
        """Count what has come of the batch; gives the records that are new."""
        new = []
        for trial, config, built, outcome in self.pending:
            if isinstance(outcome, Future):
                if not outcome.done() or outcome.cancelled() or outcome.exception() is not None:
                    break
                outcome = outcome.result()
            if isinstance(outcome, Outcome):
                trace = () if built is None else built.trace
                record = _record(
                    self.tuner.task, config, outcome, trace, self.tuner.name, self.tuner.seed, trial
                )
                new.append(record)
            else:
                record = outcome
            self.records.append(record)
            self.progress.take(record)
        return new


def _record(
    task: Task,
    config: ConfigEntity,
    outcome: Outcome,
    trace: tuple[str, ...],
    origin: str,
    seed: int = 0,
    trial: int = 0,
) -> Record:
    return Record(
        (task.name, tuple(encode_args(task.args))),
        str(task.target),
        config,
        outcome.costs,
        outcome.error,
        outcome.message,
        not outcome.error,
        seed,
        trial,
        origin,
        VERSION,
        round(time.time(), 3),
        trace,
    )


def _different(configs: Sequence[ConfigEntity]) -> list[ConfigEntity]:
    """``configs``, each setting of knobs once."""
    return list({_unnumbered(config): config for config in reversed(configs)}.values())[::-1]


def _is_of(record: Record, tuner: Proposer) -> bool:
    return (record.task_key, record.target, record.seed, record.origin) == (
        tuner.task.key,
        str(tuner.task.target),
        tuner.seed,
        tuner.name,
    )


def _unnumbered(config: ConfigEntity) -> str:
    return str(ConfigEntity(config.settings))


def _is_over(progress: Progress, deadline: float | None, early_stopping: int | None) -> bool:
    late = deadline is not None and time.monotonic() >= deadline
    return late or (early_stopping is not None and progress.since_best >= early_stopping)
