"""Tune one task: propose, build, measure, record, learn; finally compare the winner with the default."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Protocol

from tvmlite.autotune.measure import (
    BuildingRunner,
    BuildRequest,
    Candidate,
    InterruptibleRunner,
    Outcome,
    ParallelRunner,
    ReferenceFailed,
    Runner,
)
from tvmlite.autotune.measure.build import Builder, Lowered, reference
from tvmlite.autotune.records.records import FINAL, Record, schedules_digest
from tvmlite.autotune.search.progress import Progress
from tvmlite.core import VERSION, arguments
from tvmlite.core.errors import InputError
from tvmlite.machine.cores import processors
from tvmlite.runtime import timing
from tvmlite.te.space import ConfigEntity, Task, encode_args

FINALISTS = 4
"""The number of candidates that are compared with the default at the end."""


class Proposer(Protocol):
    """The interface of a tuner that the engine uses."""

    task: Task
    seed: int
    batch: int
    builder: Builder

    name: str

    def propose(self, count: int) -> list[int]:
        """Return at most ``count`` configurations to measure next, by number; none if all were proposed."""
        ...

    def take(self, index: int) -> None:
        """Count configuration ``index`` as proposed: the engine measures it without a proposal."""
        ...

    def propose_next(self) -> None:
        """Prepare the next batch, while the current one is being measured."""
        ...

    def prediction(self, index: int) -> float | None:
        """The predicted score of configuration ``index``, higher for faster ones; None if there is none."""
        ...

    def learn(self, indices: Sequence[int], speeds: Sequence[float]) -> None:
        """Learn from the measured ``speeds`` of configurations: operations a second, 0 for failures."""
        ...


Callback = Callable[[Progress, Sequence[Record]], object]
"""Called after each batch with the progress and the new records."""


class Search:
    """The tuning of one task, batch after batch; its default is tried first.

    ``known`` are records of an earlier run with the same seed: a proposal that they contain is not measured
    again, so that an interrupted run continues where it was. ``in_force`` are the winners of earlier runs'
    comparisons, the last first; duplicates and those of another space are ignored.
    """

    def __init__(
        self,
        tuner: Proposer,
        runner: Runner,
        trials: int,
        known: Iterable[Record] = (),
        weight: float = 1.0,
        in_force: Sequence[ConfigEntity] = (),
        share: float = 0.0,
    ) -> None:
        task = tuner.task
        self.tuner, self.runner = tuner, runner
        self.progress = Progress(task, min(trials, len(task.config_space)), weight, share)
        others = [one for one in in_force if one.settings != task.default.settings]
        in_space = [one for one in others if task.config_space.index_of(one.settings) is not None]
        self.progress.in_force = _unique(in_space)
        self.default = task.default
        self.earlier = {
            (r.origin, r.trial, _settings_key(r.config)): r for r in known if self._is_of_earlier_run(r)
        }
        self.machine_waited = False
        self.jobs = jobs_of(runner)
        self.fills_machine = runner.threads * self.jobs >= processors()
        """Whether candidates take all processors: searching at the same time would take one from them, and
        falsify their times."""
        self._exhausted = False
        self._prepared = False

    def is_over(self, early_stopping: int | None = None) -> bool:
        """Whether nothing is left to try, or ``early_stopping`` trials have not improved the best."""
        progress = self.progress
        stuck = early_stopping is not None and progress.since_best >= early_stopping
        return stuck or self._exhausted or progress.trials >= progress.total

    def step(self, most: int, measuring: ThreadPoolExecutor, callbacks: Sequence[Callback] = ()) -> None:
        """Do one batch of at most ``most`` trials: propose, build, measure, learn.

        Every new record has been passed to ``callbacks`` when this returns, or is interrupted. If the
        reference of a task fails, the task is over, and others go on. A Ctrl-C does not wait for
        measurements.
        """
        try:
            self._step(most, measuring, callbacks)
        except BaseException:
            if isinstance(self.runner, InterruptibleRunner):
                self.runner.interrupt()
            raise

    def _step(self, most: int, measuring: ThreadPoolExecutor, callbacks: Sequence[Callback]) -> None:
        progress = self.progress
        count = min(self.tuner.batch, most, progress.total - progress.trials)
        batch = _Batch(self, measuring)
        try:
            batch.start(self._proposed(count, batch))
        except ReferenceFailed as error:
            progress.fail("reference", str(error))
            self._exhausted = True
        finally:  # measurements from before a Ctrl-C are kept
            new = batch.finish()
            for callback in callbacks if batch.pending else ():
                callback(progress, new)
        proposed = batch.numbers
        self._exhausted = self._exhausted or not proposed
        if self._exhausted:
            return
        flop = progress.task.flop
        speeds = [flop / r.cost if r.ok else 0.0 for r in batch.records]
        predicted = [self.tuner.prediction(number) for number in proposed]
        progress.predicted += [(p, s) for p, s in zip(predicted, speeds, strict=True) if p is not None and s]
        self.tuner.learn(proposed, speeds)

    def final(self) -> tuple[list[Record], bool]:
        """Time the best so far and the default interleaved; return the records, the winner's first, and
        whether they are new, and not from an earlier run.

        The default wins unless another is significantly faster: its interval is below the default's. A
        candidate that cannot be built has a record as well, so that the default's does not seem to be
        missing. There are no records if the reference fails.
        """
        trial = self.progress.trials
        configs = _unique([self.default, *self.progress.finalists(FINALISTS)])
        kept = [self.earlier.get((FINAL, trial, _settings_key(config))) for config in configs]
        records = [record for record in kept if record is not None]
        is_new = len(records) < len(configs)
        if is_new:
            try:
                records = self._compared(configs)
            except ReferenceFailed as error:
                self.progress.fail("reference", str(error))
                return [], False
        return _winner_first(records, self.default), is_new

    def _compared(self, configs: Sequence[ConfigEntity]) -> list[Record]:
        """Time ``configs`` interleaved and return their records; all have the same time, which marks them as
        one comparison."""
        builder, trial = self.tuner.builder, self.progress.trials
        built = [builder.built(config) for config in configs]
        candidates = [one for one in built if isinstance(one, Candidate)]
        self.prepare()
        outcomes = iter(self.runner.compare(self.progress.task.key, candidates) if candidates else ())
        records = [
            _record(self, config, one, (), FINAL, trial)
            if isinstance(one, Outcome)
            else _record(self, config, next(outcomes), builder.trace(config), FINAL, trial)
            for config, one in zip(configs, built, strict=True)
        ]
        return [replace(record, time=records[0].time) for record in records]

    def _is_of_earlier_run(self, record: Record) -> bool:
        """Whether ``record`` is of an earlier run of this search."""
        tuner = self.tuner
        return record.origin in (tuner.name, FINAL) and (
            (record.task_key, record.target, record.seed, record.threads, record.code)
            == (tuner.task.key, str(tuner.task.target), tuner.seed, self.runner.threads, VERSION)
        )

    def prepare(self) -> None:
        """Send the task's reference to the machine, if it does not have it yet."""
        if not self._prepared:
            task = self.progress.task
            self.runner.prepare(task.key, reference(task), self.tuner.seed)
            self._prepared = True

    def _proposed(self, count: int, batch: _Batch) -> list[int]:
        """The configurations to try besides the default, which is measured while the tuner begins."""
        if self.progress.trials == 0:
            index = self.progress.task.config_space.index_of(self.default.settings)
            if index is not None:
                self.tuner.take(index)
                batch.add(index)
                count -= 1
        return self.tuner.propose(count) if count else []


def check_options(runner: object, name: str, early_stopping: object, callbacks: Sequence[Callback]) -> None:
    """Check these options of a search; an InputError of ``tune`` if one is wrong. ``name`` names
    ``runner``."""
    if runner is not None:
        arguments.instance(f"tune: {name}", runner, Runner, "a runner", InputError)  # type: ignore[type-abstract]
    if early_stopping is not None:
        arguments.whole("tune: early_stopping", early_stopping, InputError, least=1)
    for one in arguments.listed("tune: callbacks", callbacks, "functions", InputError):
        arguments.function("tune: callbacks", one, InputError)


def jobs_of(runner: Runner) -> int:
    """The number of candidates that ``runner`` measures at once."""
    return runner.jobs if isinstance(runner, ParallelRunner) else 1


def run(
    tuner: Proposer,
    runner: Runner,
    trials: int,
    *,
    early_stopping: int | None = None,
    callbacks: Sequence[Callback] = (),
) -> Progress:
    """Tune ``tuner.task`` alone for ``trials`` trials, or until ``early_stopping`` trials in a row have not
    improved the best."""
    search = Search(tuner, runner, trials)
    with ThreadPoolExecutor(jobs_of(runner)) as measuring:
        while not search.is_over(early_stopping):
            search.step(trials, measuring, callbacks)
    return search.progress


@dataclass
class _Candidate:
    """Loops that are to be measured. Their code, which is the same either way, is generated here, or by the
    machine if it starts on them first. Whoever has the ``lock`` decides."""

    config: ConfigEntity
    lowered: Lowered
    built: Candidate | Outcome | None = None
    is_taken: bool = False
    lock: Lock = field(default_factory=Lock)


class _Batch:
    """Candidates that are measured one after another while the next ones are built."""

    def __init__(self, search: Search, measuring: ThreadPoolExecutor) -> None:
        self.search, self.measuring = search, measuring
        self.numbers: list[int] = []
        self.pending: list[tuple[int, ConfigEntity, tuple[str, ...], Future[Outcome] | Outcome | Record]] = []
        self.records: list[Record] = []
        self.candidates: list[_Candidate] = []

    def add(self, number: int) -> None:
        """Submit a configuration for measurement, with its code if the machine cannot build."""
        tuner, task = self.search.tuner, self.search.progress.task
        trial, config = self.search.progress.trials + len(self.numbers), task.config_space.get(number)
        self.numbers.append(number)
        found = self.search.earlier.get((tuner.name, trial, _settings_key(config)))
        if found is not None:
            self.pending.append((trial, config, (), found))
            return
        lowered = tuner.builder.lowered(config)
        if isinstance(lowered, Outcome):
            self.pending.append((trial, config, (), lowered))
            return
        self.search.prepare()
        candidate = _Candidate(config, lowered)
        self.candidates.append(candidate)
        if not isinstance(self.search.runner, BuildingRunner):
            self._build()
        outcome = self.measuring.submit(self._measured, candidate)
        if self.search.fills_machine and self.search.jobs == 1:
            outcome.result()
        self.pending.append((trial, config, tuner.builder.trace(config), outcome))

    def _measured(self, candidate: _Candidate) -> Outcome:
        """Measure a candidate: from its code, or from its loops if it is not built yet."""
        task, runner = self.search.progress.task, self.search.runner
        with candidate.lock:
            candidate.is_taken = True
        if candidate.built is None:
            assert isinstance(runner, BuildingRunner)
            return runner.build_and_measure(task.key, BuildRequest(candidate.lowered.function, task.target))
        if isinstance(candidate.built, Outcome):
            return candidate.built
        return runner.measure(task.key, candidate.built)

    def start(self, proposed: Sequence[int]) -> None:
        """Submit all for measurement and wait for the results, while the tuner searches, unless these are the
        last.

        Candidates that the machine has not started to build are built here; but only after the tuner has
        proposed, if the machine had to wait the last time.
        """
        search = self.search
        for number in proposed:
            self.add(number)
        are_last = search.progress.trials + len(self.numbers) >= search.progress.total
        if search.fills_machine:
            self._wait()
        if self.numbers:
            steps = [self._build] if are_last else [self._build, search.tuner.propose_next]
            for step in reversed(steps) if search.machine_waited else steps:
                step()
        search.machine_waited = all(one.done() for *_, one in self.pending if isinstance(one, Future))
        self._wait()

    def _wait(self) -> None:
        """Wait until all submitted candidates are measured."""
        for *_, outcome in self.pending:
            if isinstance(outcome, Future):
                outcome.result()

    def _build(self) -> None:
        """Build the candidates that the machine has not started to build."""
        for candidate in self.candidates:
            with candidate.lock:
                if candidate.built is None and not candidate.is_taken:
                    candidate.built = self.search.tuner.builder.built(candidate.config)

    def finish(self) -> list[Record]:
        """Count the results of the batch; return the new records."""
        for *_, one in self.pending:
            if isinstance(one, Future):
                one.cancel()  # its result is not needed any more
        new = []
        tuner = self.search.tuner
        for trial, config, trace, outcome in self.pending:
            if isinstance(outcome, Future):
                if not outcome.done() or outcome.cancelled() or outcome.exception() is not None:
                    break
                outcome = outcome.result()
            if isinstance(outcome, Outcome):
                if outcome.costs and outcome.busy == outcome.busy:  # not NaN
                    self.search.progress.busy.append(min(outcome.busy, 1.0))
                record = _record(self.search, config, outcome, trace, tuner.name, trial)
                new.append(record)
            else:
                record = outcome
            self.records.append(record)
            self.search.progress.take(record)
        return new


def _winner_first(records: Sequence[Record], default: ConfigEntity) -> list[Record]:
    """Sort the records of a comparison: the winner's first, failed ones last. If the default could not be
    timed, the fastest wins; if none could, the default's is first."""
    if not records or records[0].config.settings != default.settings or not records[0].ok:
        return sorted(records, key=lambda r: r.cost)
    least = timing.interval(sorted(records[0].costs))[0]
    better = [r for r in records[1:] if r.ok and timing.interval(sorted(r.costs))[1] < least]
    winner = min(better, key=lambda r: r.cost, default=records[0])
    return [winner, *sorted((r for r in records if r is not winner), key=lambda r: not r.ok)]


def _record(
    search: Search, config: ConfigEntity, outcome: Outcome, trace: tuple[str, ...], origin: str, trial: int
) -> Record:
    tuner = search.tuner
    return Record(
        (tuner.task.name, tuple(encode_args(tuner.task.args))),
        str(tuner.task.target),
        config,
        outcome.costs,
        outcome.error,
        outcome.message,
        not outcome.error,
        tuner.seed,
        trial,
        origin,
        VERSION,
        round(time.time(), 3),
        search.runner.threads,
        trace,
        schedules_digest(),
    )


def _unique(configs: Sequence[ConfigEntity]) -> list[ConfigEntity]:
    """``configs`` without those whose settings occurred before."""
    found: dict[str, ConfigEntity] = {}
    for config in configs:
        found.setdefault(_settings_key(config), config)
    return list(found.values())


def _settings_key(config: ConfigEntity) -> str:
    return str(ConfigEntity(config.settings))
