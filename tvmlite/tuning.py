"""Tuning a whole model: its graph decided, its kernels searched, what is quicker in the model itself kept."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite import autotune, machine, runtime, samples
from tvmlite.artifact import CompiledModule
from tvmlite.autotune import records as rec
from tvmlite.autotune.engine import Callback
from tvmlite.autotune.measure import LocalRunner, Runner
from tvmlite.autotune.report import KernelTime
from tvmlite.autotune.tune import Tuned, seconds_of
from tvmlite.core.errors import InputError
from tvmlite.core.target import Target
from tvmlite.core.version import VERSION
from tvmlite.deciding import Decided, Decider
from tvmlite.driver import compile
from tvmlite.relay import tasks
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir import Function, Module
from tvmlite.relay.specialise import Sizes
from tvmlite.relay.trust import TOLERANCES
from tvmlite.runtime import timing
from tvmlite.te.space import Task, create
from tvmlite.whole_model import Run, Turns, in_turns, positions_of_tuned, profiled

SHARE_OF_WHOLE = 0.1
"""Of a budget, what is kept for timing the whole model."""

SHARE_OF_DECISIONS = 0.15
"""Of a budget, what may be spent on decisions about the graph."""

WHOLE_SECONDS = 10.0
"""Seconds to time the whole model for, and to decide for, where no budget says otherwise."""

AFTER_ALL = -1
"""The trial's number in records made in the whole model."""


@dataclass(frozen=True)
class TunedModel:
    """What came of tuning a model.

    ``lib`` is the model compiled with what was kept, ``kernels`` tell of each task's search, ``turns`` are
    runs of the same graph with default schedules and of ``lib``, None if they are the same. ``dropped`` are
    texts of tasks whose winners were not quicker in the model, ``skipped`` says of each kernel that is no
    task why. ``decided`` tells of the graph, ``whole`` are runs of the default library and of ``lib`` where
    both graph and schedules have changed.
    """

    lib: CompiledModule
    kernels: tuple[Tuned, ...]
    turns: Turns | None
    dropped: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    decided: Decided | None = None
    whole: Turns | None = None

    @property
    def default_and_tuned(self) -> Turns | None:
        """Runs of the default library and of ``lib``; None if they are the same."""
        return self.whole or self.turns or (None if self.decided is None else self.decided.turns)

    @property
    def gain(self) -> float:
        """How many times quicker the model is than before."""
        turns = self.default_and_tuned
        return 1.0 if turns is None else 1 / turns.ratio

    def kernel_times(self) -> list[KernelTime]:
        """How long each kernel takes in the model, before and after; none where nothing has changed."""
        if self.turns is None:
            return []
        tuned = {place for places in positions_of_tuned(self.lib).values() for place in places}
        times = []
        for place, symbol in enumerate(self.lib.signature.kernels):
            before, after = (timing.median(sorted(costs)) for costs in self.turns.kernel([place]))
            times.append(KernelTime(symbol, before, after, "tuned" if place in tuned else "default"))
        return times

    def __str__(self) -> str:
        lines = [str(one) for one in (*filter(None, [self.decided]), *self.kernels) if str(one)]
        lines += [f"{symbol}: not tuned: {reason}" for symbol, reason in self.skipped.items()]
        if self.dropped:
            lines.append(f"{len(self.dropped)} winners were not quicker in the model, and are not used")
        turns = self.default_and_tuned
        whole = "nothing is quicker than the default" if turns is None else str(turns)
        return "\n".join([*lines, *self.notes, whole])


def tune(
    model: Module | Function | str | Path,
    target: str | Target = "native",
    records: str | Path = "tune.jsonl",
    *,
    trials: int | None = None,
    budget: float | str | None = None,
    seed: int = 0,
    resume: bool = False,
    tuner: str = "xgboost",
    runner: Runner | None = None,
    early_stopping: int | None = None,
    callbacks: Sequence[Callback] = (),
    inputs: Mapping[str, Any] | None = None,
    run: Run = profiled,
    shape: Sizes | None = None,
    decisions: bool = True,
    **options: Any,
) -> TunedModel:
    """Search the graph of ``model``, an ONNX file or a module, and the schedules of its kernels; ``target``
    is this machine.

    What graph passes could decide in another way is tried first, for a part of the budget (``deciding``);
    without ``decisions`` nothing is, and what the records say of it stands. Then ``trials`` in all, or what
    fits into ``budget`` (seconds, or ``"10m"``), go to the kernels with most to win; each is appended to the
    file ``records``, which ``compile(..., records=)`` takes. In the end the winners are timed in the model,
    beside the default: what is not quicker there is not used. ``resume`` takes up a run with the same
    ``seed`` that was cut short.

    ``inputs`` are arrays by name, random ones if None. ``run`` times a library (``whole_model``), ``runner``
    kernels; ``shape`` and ``options`` are those of ``compile``.
    """
    started = time.monotonic()
    target = Target.parse(target)
    reason = machine.reason_not_to_run(target) or ("" if target.kind == "llvm" else "it is tuned as llvm")
    if reason:
        raise InputError(f"tune: target {str(target)!r} cannot be measured here: {reason}")
    seconds = None if budget is None else seconds_of(budget)
    if isinstance(model, (str, Path)):
        model = from_onnx(model)
    make = partial(compile, model, target, shape=shape, **options)
    base = make()
    inputs = samples.random_inputs(base, {}, seed) if inputs is None else inputs
    arguments = [np.asarray(inputs[name]) for name in base.input_names]
    precision = options.get("precision", "float32")
    tolerance = TOLERANCES[precision] + options.get("error_bound", 0.0)
    decider = Decider(base, make, Path(records), arguments, run, seed, tolerance)
    share = WHOLE_SECONDS if seconds is None else SHARE_OF_DECISIONS * seconds
    decided = decider.decide(share if decisions else 0.0)
    default, base = base, decided.lib
    found, weights, skipped = _tasks(base, target)
    if not found:
        none = "no kernel of it can be scheduled in several ways"
        return TunedModel(base, (), None, (), skipped, (none,), decided)
    whole = WHOLE_SECONDS if seconds is None else SHARE_OF_WHOLE * seconds
    owned = LocalRunner(threads=runtime.num_threads()) if runner is None else None
    try:
        kernels = autotune.tune(
            found,
            records,
            trials=trials,
            budget=None if seconds is None else max(1.0, seconds - whole - (time.monotonic() - started)),
            weights=weights,
            seed=seed,
            tuner=tuner,
            runner=runner or owned,
            early_stopping=early_stopping,
            resume=resume,
            callbacks=callbacks,
        )
    finally:
        if owned is not None:
            owned.close()
    judge = _Judge(base, partial(make, records=records), Path(records), arguments, run, whole, seed)
    lib, turns = judge.decide(precision)
    both = None
    if turns is not None and decided.turns is not None:
        both = in_turns(default, lib, arguments, whole / 2, run)
    notes = tuple(judge.notes)
    return TunedModel(lib, tuple(kernels), turns, tuple(judge.dropped), skipped, notes, decided, both)


def _tasks(lib: CompiledModule, target: Target) -> tuple[list[Task], list[float], dict[str, str]]:
    """The tuning tasks among the kernels of ``lib``, how often each is called, why the others are none."""
    found: dict[str, Task] = {}
    calls: dict[str, float] = {}
    skipped: dict[str, str] = {}
    for kernel in lib.kernels:
        reason = tasks.why_no_task(kernel.task.group)
        if reason:
            skipped[kernel.task.symbol] = reason
            continue
        task = tasks.task_of(kernel.task.group, target)
        if len(task.config_space) > 1:
            found[task.key] = task
            calls[task.key] = calls.get(task.key, 0.0) + kernel.task.calls
    return list(found.values()), list(calls.values()), skipped


@dataclass
class _Judge:
    """Decides which records stay in force, by the model as a whole."""

    base: CompiledModule
    make: Any
    path: Path
    inputs: Sequence[np.ndarray]
    run: Run
    seconds: float
    seed: int
    dropped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def decide(self, precision: str) -> tuple[CompiledModule, Turns | None]:
        """The library to use, and how it does beside the default: None if it is the default."""
        lib = self.make()
        if not positions_of_tuned(lib):
            return self.base, None
        gap = self._gap(lib)
        if not gap <= TOLERANCES[precision]:
            self.notes.append(f"the tuned model's answers are off by {gap:.1e}: the default is used")
            self._drop(lib, self._turns(lib), positions_of_tuned(lib))
            return self.base, None
        turns = self._turns(lib)
        slower = {
            text: places
            for text, places in positions_of_tuned(lib).items()
            if not _is_quicker(*turns.kernel(places))
        }
        if slower:
            lib = self._drop(lib, turns, slower)
            if not positions_of_tuned(lib):
                return self.base, None
            turns = self._turns(lib)
        if turns.is_better:
            return lib, turns
        self._drop(lib, turns, positions_of_tuned(lib))
        self.notes.append(f"the winners together are not quicker beyond doubt ({turns}): the default is used")
        return self.base, None

    def _turns(self, lib: CompiledModule) -> Turns:
        return in_turns(self.base, lib, self.inputs, self.seconds / 2, self.run)

    def _gap(self, lib: CompiledModule) -> float:
        """How far the outputs of ``lib`` are from those of the default."""
        expected, got = self._outputs(self.base), self._outputs(lib)
        return max(samples.relative_gap(a, b) for a, b in zip(got, expected, strict=True))

    def _outputs(self, lib: CompiledModule) -> list[np.ndarray]:
        made = lib(*self.inputs)
        return [np.asarray(one) for one in (made if isinstance(made, (tuple, list)) else (made,))]

    def _drop(self, lib: CompiledModule, turns: Turns, texts: Mapping[str, Sequence[int]]) -> CompiledModule:
        """Write down that the default is the better in the model, and compile anew."""
        configs = {tasks.task_text(k.task.group): k.task.config for k in lib.kernels}
        written = []
        for text, places in texts.items():
            default = create(tasks.NAME, [text], lib.target).default
            for config, costs in zip((default, configs[text]), turns.kernel(places), strict=True):
                written.append(self._record(text, config, costs))
        rec.append(self.path, written)
        self.dropped += texts
        return self.make()

    def _record(self, text: str, config: Any, costs: Sequence[float]) -> rec.Record:
        return rec.Record(
            (tasks.NAME, (text,)),
            str(self.base.target),
            config,
            tuple(costs),
            verified=True,
            seed=self.seed,
            trial=AFTER_ALL,
            origin=rec.FINAL,
            code=VERSION,
            time=round(time.time(), 3),
        )


def _is_quicker(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether more than half of the turns say so."""
    ratios = [new / old for old, new in zip(before, after, strict=True)]
    return float(np.median(ratios)) < 1
