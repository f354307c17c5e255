"""Decides for ``relay.quantize`` which layers to leave in float32, by recorded decisions, or else
measurements."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import DecisionRecord, latest
from tvmlite.autotune.records.records import Record
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError
from tvmlite.core.span import warn
from tvmlite.driver import check_compile_options, compile
from tvmlite.machine.target import Target
from tvmlite.model import example_inputs
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.quantize.speed import LayerTime, Plan, Speed
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.te.codegen import process
from tvmlite.tuning.layer_precision.search import Build, Search
from tvmlite.tuning.model_timing import Run, profiled

RecordsOption = str | Path | Sequence[Record | DecisionRecord] | None
"""Records as ``compile`` takes them; a file need not exist."""

FLOAT32 = "float32"


def faster_layers(
    plan: Plan,
    records: RecordsOption,
    options: Mapping[str, Any],
    progress: Callable[[str, int, int], object],
    required: bool,
    run: Run = profiled,
) -> Speed:
    """See ``relay.quantize.speed.Measure``."""
    _check(options)
    target = Target.parse(options.get("target", "native"))
    stored = _stored(records, target)
    known = latest(stored.decisions, target, VERSION, num_threads())
    recorded = _Decisions(plan, target).speed(known)
    if recorded is not None:
        return recorded
    common = {**options, "records": [*stored.records, *stored.decisions] or None}
    build = _builder(plan, common)
    try:
        inputs = _inputs(plan, target, build)
    except InputError as error:
        if required:
            raise
        return Speed(not_measured=error.message)
    given = None if plan.original is None else compile(plan.original, **common)
    search = Search(plan, build, inputs, given, run, progress)
    found = search.fastest()
    made = _Decisions(plan, target).records(found)
    if isinstance(records, (str, Path)):
        rec.append(records, made)
    return replace(found, records=made)


def _check(options: Mapping[str, Any]) -> None:
    """Check ``options``; an InputError if one is not an option of ``compile``, or is given in another way."""
    for name in ("records", "decisions"):
        if name in options:
            raise InputError(f"quantize: compile_options has {name}", hint="give records=")
    rest = {name: value for name, value in options.items() if name != "target"}
    check_compile_options("quantize: compile_options", **rest)


def _stored(records: RecordsOption, target: Target) -> rec.Records:
    """Load the records, if there are any; warn of damaged lines of a file."""
    if records is None:
        return rec.Records(())
    if not isinstance(records, (str, Path)):
        return rec.Records.of(records)
    path = Path(records)
    if not path.exists():
        if not path.parent.is_dir():
            raise InputError(f"quantize: records: there is no folder {path.parent}")
        return rec.Records(())
    loaded = rec.load(path)
    for note in rec.unusable(loaded, target):
        warn(f"{path}: {note}")
    return loaded


def _inputs(plan: Plan, target: Target, build: Build) -> list[np.ndarray]:
    """The inputs to time the model on: the first of the data, or random ones."""
    reason = process.reason_not_to_run(target)
    if reason:
        raise InputError(f"quantize: layers cannot be timed: {reason}")
    lib = build(None)
    inputs = example_inputs.random_inputs(lib, {}) if plan.inputs is None else plan.inputs
    return [np.asarray(inputs[name]) for name in lib.input_names]


def _builder(plan: Plan, common: Mapping[str, Any]) -> Build:
    """Return a function that compiles each form of the model of ``plan`` once, with options ``common``."""
    made: dict[frozenset[str] | None, CompiledModule] = {}

    def build(kept: frozenset[str] | None) -> CompiledModule:
        if kept not in made:
            module, options = (plan.exact, {}) if kept is None else plan.narrow(kept)
            made[kept] = compile(module, **{**common, **options})
        return made[kept]

    return build


class _Decisions:
    """Converts a ``Speed`` to and from records: one for each layer, and one for the whole model."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self._plan, self._target = plan, target
        self._model = f"{plan.dtype} #{plan.key}"

    def _name(self, layer: str) -> str:
        return f"{self._model} {layer}"

    def records(self, speed: Speed) -> tuple[DecisionRecord, ...]:
        """Return the records of the whole model and all layers."""
        whole = speed.latency
        assert whole is not None
        is_float = len(speed.kept) == len(self._plan.layers)
        made = [self._record(self._model, is_float, whole, "")]
        for name in self._plan.layers:
            time = speed.times[name]
            note = speed.kept.get(name, speed.remarks.get(name, ""))
            made.append(self._record(self._name(name), name in speed.kept, (time.exact, time.narrow), note))
        return tuple(made)

    def _record(self, name: str, is_float: bool, costs: tuple[float, float], note: str) -> DecisionRecord:
        dtype = self._plan.dtype
        return DecisionRecord(
            name,
            str(self._target),
            FLOAT32 if is_float else dtype,
            dtype,
            {FLOAT32: (costs[0],), dtype: (costs[1],)},
            note,
            code=VERSION,
            time=round(time.time(), 3),
            threads=num_threads(),
        )

    def speed(self, known: Mapping[str, DecisionRecord]) -> Speed | None:
        """Return the result in the records of the model and each layer; None if one of them has none."""
        names = [self._model, *map(self._name, self._plan.layers)]
        if any(name not in known for name in names):
            return None
        whole, *layers = (known[name] for name in names)
        kept, remarks, times = {}, {}, {}
        for name, record in zip(self._plan.layers, layers, strict=True):
            if record.taken == FLOAT32:
                kept[name] = record.note
            elif record.note:
                remarks[name] = record.note
            times[name] = LayerTime(*self._costs(record))
        return Speed(kept, remarks, times, self._costs(whole), records=(whole, *layers))

    def _costs(self, record: DecisionRecord) -> tuple[float, float]:
        return record.cost(FLOAT32), record.cost(self._plan.dtype)
