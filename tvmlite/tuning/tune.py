"""Tunes a whole model: decisions about its graph, searches for its kernels, and the final selection."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite import autotune, runtime
from tvmlite.autotune import report
from tvmlite.autotune.measure import Footprint, LocalRunner, ParallelRunner, Runner, processors_of
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import latest
from tvmlite.autotune.records.warn_once import WarnOnce
from tvmlite.autotune.search.engine import Callback, check_options
from tvmlite.autotune.tune import Interrupted, Tuned, seconds_of
from tvmlite.core import VERSION
from tvmlite.core import arguments as checked
from tvmlite.core.errors import InputError
from tvmlite.driver import check_compile_options, compile
from tvmlite.machine.target import Target
from tvmlite.model import example_inputs
from tvmlite.model.artifact import CompiledModule
from tvmlite.model.record_lookup import Choices
from tvmlite.relay.entry import labels, tasks
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Function, Module
from tvmlite.relay.ir.types import dims_of
from tvmlite.relay.passes.pass_check import TOLERANCES
from tvmlite.relay.passes.specialise import Sizes
from tvmlite.show.html import Page
from tvmlite.te.codegen import process
from tvmlite.te.space import Task
from tvmlite.tuning import summary as tuning_summary
from tvmlite.tuning.final_selection import FinalSelection
from tvmlite.tuning.graph_search import Decided, Decider
from tvmlite.tuning.model_timing import (
    InterleavedRuns,
    Run,
    interleaved,
    positions,
    positions_of_tuned,
    profiled,
)

SHARE_OF_WHOLE = 0.1
"""The part of a budget reserved for timing the whole model."""

SHARE_OF_DECISIONS = 0.15
"""The part of a budget for decisions about the graph."""

WHOLE_SECONDS = 10.0
"""Seconds for timing the whole model, and for decisions about the graph, without a budget."""

AFTER_INTERRUPT = 5.0
"""The most seconds for timing the whole model after a Ctrl-C."""


PROFILED_RUNS = 9
PROFILED_SECONDS = 1.0
"""The most runs, and seconds, to measure the times of the model's kernels."""

UNCHANGED = "the model stays as it was: nothing that was found is significantly faster in it"
"""The result if no schedule and no decision has changed."""


@dataclass(frozen=True)
class TunedModel:
    """The result of tuning a model.

    ``lib`` is the compiled model with what was kept, ``kernels`` are the searches of the tasks, ``turns`` are
    runs of the same graph with default schedules and of ``lib``, None if they are the same. ``dropped``
    explains, by task text, why the best is not used, as it was not faster in the model; ``late`` are those
    that there was no time to time in it. ``skipped`` has the reason for each kernel that is no task.
    ``decided`` are the decisions about the graph, ``whole`` the runs of the default library and of ``lib`` if
    both graph and schedules have changed. ``shares`` are parts of the time by kernel symbol and task text.
    """

    lib: CompiledModule
    kernels: tuple[Tuned, ...]
    turns: InterleavedRuns | None
    dropped: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    decided: Decided | None = None
    whole: InterleavedRuns | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    late: tuple[str, ...] = ()

    @property
    def default_and_tuned(self) -> InterleavedRuns | None:
        """Runs of the default library and of ``lib``; None if they are the same."""
        return self.whole or self.turns or (None if self.decided is None else self.decided.runs)

    @property
    def gain(self) -> float:
        """The model's speedup by tuning."""
        runs = self.default_and_tuned
        return 1.0 if runs is None else 1 / runs.ratio

    def kernel_times(self) -> list[report.KernelTime]:
        """Return the least time of each kernel call in the model, before and after; none if nothing has
        changed."""
        if self.turns is None:
            return []
        tuned = {place for places in positions_of_tuned(self.lib).values() for place in places}
        times = []
        for place, label in enumerate(self.lib.kernel_labels):
            before, after = map(min, self.turns.kernel([place]))  # other processes delay all but the fastest
            times.append(report.KernelTime(label, before, after, "tuned" if place in tuned else "default"))
        return times

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()

    def page(self, **options: Any) -> Page:
        """The results as an HTML page; ``options`` are further arguments of ``autotune.report.page``."""
        runs = self.default_and_tuned
        model = None
        if runs is not None:
            low, high = runs.interval
            model = report.ModelTime(*runs.seconds, self.gain, (1 / high, 1 / low))
        names = {one.task.symbol: labels.label(one.task.group) for one in self.lib.kernels}
        late = dict.fromkeys(self.late, "found too late to be timed in the model; --resume does")
        outcomes = {**late, **self.dropped}
        return report.page(
            self.kernels,
            model=model,
            times=self.kernel_times(),
            outcomes={
                one.task.key: outcomes[one.task.args[0]]
                for one in self.kernels
                if one.task.args[0] in outcomes
            },
            skipped={names.get(symbol, symbol): reason for symbol, reason in self.skipped.items()},
            notes=[*([] if runs else [UNCHANGED]), *self.notes],
            decisions=self.decided.records if self.decided else (),
            **options,
        )

    def __repr__(self) -> str:
        lines = [] if self.decided is None or not str(self.decided) else [str(self.decided)]
        lines += tuning_summary.lines(self.kernels, self.skipped, self.shares, self.dropped, self.late)
        runs = self.default_and_tuned
        whole = UNCHANGED if runs is None else f"the model: {runs}"
        return "\n".join([*lines, *self.notes, whole])


class TuningInterrupted(KeyboardInterrupt):
    """A Ctrl-C during ``tune``: ``tuned`` is the result so far, which is also in the records."""

    def __init__(self, tuned: TunedModel) -> None:
        super().__init__("tuning was interrupted")
        self.tuned = tuned


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
    jobs: int = 1,
    early_stopping: int | None = None,
    callbacks: Sequence[Callback] = (),
    inputs: Mapping[str, Any] | None = None,
    run: Run = profiled,
    shape: Sizes | None = None,
    decisions: bool = True,
    say: Callable[[str], object] | None = None,
    **options: Any,
) -> TunedModel:
    """Search the graph of ``model``, an ONNX file or a module, and the schedules of its kernels; ``target``
    is this machine.

    Alternatives of the graph passes' decisions are tried first, for a part of the budget (``graph_search``);
    without ``decisions`` none is, and those in the records are kept. Then ``trials`` in all, or as many as
    fit into ``budget`` (seconds, or ``"10m"``), go to the kernels with the most to gain; each is appended to
    the file ``records``, which ``compile(..., records=)`` takes. Finally the best of each kernel are timed in
    the model, beside the default (``final_selection``): those that are not faster there are not used.
    ``resume`` continues an interrupted run with the same ``seed``. A Ctrl-C ends the search: the best so far
    are timed in a few seconds, unless a second one comes, and ``TuningInterrupted`` is raised.

    ``inputs`` are arrays by name, random ones if None. ``run`` times a library (``model_timing``), ``runner``
    kernels; without one ``jobs`` of them are measured at once, each with the number of threads that is set,
    pinned to its own processors (an InputError if this process may not use that many). ``say`` is called with
    the next step; ``shape`` and ``options`` are those of ``compile``. Unusable ``records`` are reported by
    warnings, each once.
    """
    started = time.monotonic()
    target = _measurable(target)
    checked.path("tune: records", records, InputError)
    checked.boolean("tune: decisions", decisions, InputError)
    checked.boolean("tune: resume", resume, InputError)
    checked.whole("tune: seed", seed, InputError, least=0)
    checked.whole("tune: jobs", jobs, InputError, least=1)
    checked.instance("tune: model", model, (Module, Function, str, Path), "a model", InputError)
    checked.function("tune: run", run, InputError)
    if say is not None:
        checked.function("tune: say", say, InputError)
    check_options(runner, "runner", early_stopping, callbacks)
    check_compile_options("tune", shape=shape, **options)
    if inputs is not None:
        checked.mapping("tune: inputs", inputs, InputError)
    seconds = None if budget is None else seconds_of(budget)
    note = options.setdefault("note", WarnOnce())
    if jobs != 1:
        processors_of(jobs, runtime.num_threads())
    if isinstance(model, (str, Path)):
        model = from_onnx(model)
    if Path(records).exists():
        for one in Choices.of(records, target).notes:
            note(one)
    if inputs is None:
        _require_sizes(model, shape or {})
    make = partial(compile, model, target, shape=shape, **options)
    default = make()
    inputs = example_inputs.random_inputs(default, {}, seed) if inputs is None else inputs
    missing = [name for name in default.input_names if name not in inputs]
    if missing:
        raise InputError(f"tune: inputs has no {', '.join(missing)}")
    arguments = [np.asarray(inputs[name]) for name in default.input_names]
    tolerance = TOLERANCES[options.get("precision", "float32")] + options.get("error_bound", 0.0)
    decider = Decider(default, make, Path(records), arguments, run, seed, tolerance, runner)
    share = WHOLE_SECONDS if seconds is None else SHARE_OF_DECISIONS * seconds
    is_confirmed = resume and _has_decided(Path(records), seed, default, make)
    decided = decider.decide(share if decisions and not is_confirmed else 0.0, is_confirmed)
    base = decided.lib
    found, weights, skipped = _tasks(base, target)
    if not found:
        none = "no kernel of the model has more than one schedule"
        return TunedModel(base, (), None, {}, skipped, (none,), decided)
    whole = WHOLE_SECONDS if seconds is None else SHARE_OF_WHOLE * seconds
    left = None if seconds is None else max(1.0, seconds - whole - (time.monotonic() - started))
    shares = _shares(base, arguments, run)
    search = partial(autotune.tune, found, records, trials=trials, budget=left, weights=weights, seed=seed)
    search = partial(search, shares=[shares.get(task.args[0], 0.0) for task in found])
    search = partial(search, tuner=tuner, early_stopping=early_stopping, resume=resume, callbacks=callbacks)
    search = partial(search, note=note)
    kernels, interrupted = _searched(search, runner, jobs, base)
    whole = min(whole, AFTER_INTERRUPT) if interrupted else whole
    if say is not None:
        again = "; Ctrl-C again to stop without timing them" if interrupted else ""
        say(f"the best are timed in the model beside the default, about {whole:.0f} s{again}")
    strict = interrupted or seconds is not None
    selection = FinalSelection(base, arguments, run, whole, tolerance, seed, strict).decide(kernels)
    rec.append(records, selection.records)
    lib, both = base, None
    if selection.runs is not None:
        lib = make(records=records)
        if decided.runs is not None:
            both = interleaved(default, lib, arguments, whole / 2, run, copies=True)
    tuned = TunedModel(
        lib,
        selection.kernels,
        selection.runs,
        selection.dropped,
        skipped,
        (*_other_tuner(tuner, kernels), *selection.notes),
        decided,
        both,
        shares,
        selection.late,
    )
    if interrupted:
        raise TuningInterrupted(tuned)
    return tuned


def _require_sizes(model: object, shape: Sizes) -> None:
    """Check that ``shape`` leaves no dimension of the inputs open: random arrays need all sizes."""
    if isinstance(model, (Module, Function)):
        main = model if isinstance(model, Function) else model.main
        open_dims = {param.name: [dim.name for dim in dims_of(param.type)] for param in main.params}
        example_inputs.require_sizes(open_dims, {name: n for name, n in shape.items() if isinstance(n, int)})


def _has_decided(path: Path, seed: int, default: CompiledModule, make: Callable[..., CompiledModule]) -> bool:
    """Whether the run with this ``seed`` whose records are at ``path`` had finished its decisions about the
    graph: some of its kernels were tried after the last decision. The file may hold records of other models
    as well."""
    loaded = rec.load(path) if path.exists() else rec.Records(())
    trials = [one for one in loaded if one.seed == seed and one.trial >= 0]
    if not trials:
        return False
    known = latest(loaded.decisions, default.target, VERSION, runtime.num_threads())
    lib = make(records=list(known.values())) if known else default
    asked = [known[one.name] for one in lib.report.decisions if one.name in known]
    decided = max((one.time for one in asked if one.seed == seed), default=0.0)
    keys = {task.key for task in _tasks(lib, default.target)[0]}
    return any(one.task_key in keys and one.time >= decided for one in trials)


def _measurable(target: str | Target) -> Target:
    """Return ``target``; an InputError if nothing can be measured for it on this machine."""
    target = Target.parse(target)
    reason = process.reason_not_to_run(target) or ("" if target.kind == "llvm" else "it is tuned as llvm")
    if reason:
        raise InputError(f"tune: target {str(target)!r} cannot be measured here: {reason}")
    return target


def _searched(
    search: Callable[..., Sequence[Tuned]], runner: Runner | None, jobs: int, lib: CompiledModule
) -> tuple[Sequence[Tuned], bool]:
    """Return the results of ``search`` for the kernels of ``lib``, and whether a Ctrl-C ended it; the Ctrl-C
    is raised again if nothing was found. Without a ``runner`` one is started for the search."""
    owned: LocalRunner | ParallelRunner | None = None
    if runner is None:
        options: dict[str, Any] = {"threads": runtime.num_threads(), "footprint": _footprint(lib)}
        owned = LocalRunner(**options) if jobs == 1 else ParallelRunner(jobs, **options)
    try:
        return search(runner=runner or owned, compare=False), False
    except Interrupted as stop:
        if not any(one.best for one in stop.results):
            raise
        return stop.results, True
    finally:
        if owned is not None:
            owned.close()


def _other_tuner(wanted: str, kernels: Sequence[Tuned]) -> list[str]:
    """The note if another tuner than the one requested was used."""
    others = {one.tuner for one in kernels} - {wanted}
    return [f"{wanted} is not installed: the search was {', '.join(sorted(others))}"] if others else []


def _footprint(lib: CompiledModule) -> Footprint:
    """The bytes that a run of ``lib`` touches: its weights, and the workspace of its values."""
    workspace = lib.signature.workspace
    return Footprint(lib.signature.constants, workspace if isinstance(workspace, int) else 0)


def _shares(lib: CompiledModule, arguments: Sequence[np.ndarray], run: Run) -> dict[str, float]:
    """The parts of the time of ``lib`` that its kernels take, by symbol and task text."""
    run(lib, arguments)
    end = time.monotonic() + PROFILED_SECONDS
    profiles = [run(lib, arguments)]
    while len(profiles) < PROFILED_RUNS and time.monotonic() < end:
        profiles.append(run(lib, arguments))
    times = np.median([[nanoseconds for _, nanoseconds in one.kernels] for one in profiles], axis=0)
    whole = max(float(times.sum()), 1.0)
    shares: dict[str, float] = {}
    for symbol, nanoseconds in zip(lib.signature.kernels, times, strict=True):
        shares[symbol] = shares.get(symbol, 0.0) + float(nanoseconds) / whole
    for text, places in positions(lib).items():
        shares[text] = float(times[places].sum()) / whole
    return shares


def _tasks(lib: CompiledModule, target: Target) -> tuple[list[Task], list[float], dict[str, str]]:
    """The tuning tasks among the kernels of ``lib``, their numbers of calls, and why others are none."""
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
            found.setdefault(task.key, task)
            calls[task.key] = calls.get(task.key, 0.0) + kernel.task.calls
    return list(found.values()), list(calls.values()), skipped
