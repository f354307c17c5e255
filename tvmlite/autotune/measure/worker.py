"""The process that runs candidates: ``python -m tvmlite.autotune.measure.worker``.

What a candidate does to it, a crash, an endless loop, all of the memory, ends this process and not the
tuner. It is given LLVM IR, loops as plain data and numbers, nothing that is pickled or evaluated.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.autotune.measure import frames
from tvmlite.autotune.measure.build import candidate_of
from tvmlite.autotune.measure.cold import EVERYTHING, Footprint, as_in_a_model, further_arguments
from tvmlite.autotune.measure.frames import NEXT_MODULE
from tvmlite.autotune.measure.gc_pause import gc_paused
from tvmlite.autotune.measure.limits import bound_memory, bounded_time
from tvmlite.autotune.measure.runner import Candidate
from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.core.errors import BeyondMemory, TvmliteError
from tvmlite.machine.target import Target
from tvmlite.runtime import timing
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import threads
from tvmlite.te.codegen import jit, process
from tvmlite.te.loop import serialize

TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 5e-2}
"""How far an answer may be off, of the reference's value and again of its largest; integers not at all.

Candidates add in other orders than the reference: 3e-6 of the largest for sums of 4096 float32 products.
"""


HOPELESS = 4.0
"""A candidate so many times slower than the best of its task is not timed more than once."""

GLANCE = 0.25
"""The part of the budget in which it is seen whether a candidate is among the best."""

CLOSE = 1.2
"""Such is one that is not so many times slower than the best: it is timed on, for all of the budget or until
it is known."""

EVERY = 1 << 30
"""More calls than there are copies."""

KNOWN = 0.02
"""The part of its median within which the true one lies of one that is known, with 95% confidence."""

AHEAD = 3
"""So many times as many arrays as calls are expected are made ready: the first call takes longer."""

MOST_ROUNDS = 140
"""Of candidates that are compared, each a single run: other processes come and go in milliseconds."""

COLD = 1e-2
"""Seconds by which the first call of a function may take longer than others: what it reads comes from memory,
and so does its code. One that is no slower than that is called again before it is given up."""

FAILURES = (MemoryError, TvmliteError, RuntimeError)
"""What a candidate may fail of without harm; the last is what llvmlite says of IR it cannot parse."""

UNWRITTEN = 0xA5
"""What the bytes of an output are before a run whose dtype has no NaN of equal bytes: hardly ever right."""

NAN_BYTES = (0xFF, 0x80)
"""Such bytes are NaN in all floats but those of six and four bits: right only where NaN is."""

WEIGHT = 0.125
"""The largest weight: sums of some hundred products are then about 1, as in trained networks. Of far larger
ones exponentials may be subnormal numbers, which take some processors many times as long."""


@dataclass(frozen=True)
class _Answer:
    """What an output must be, and how far it may be off; as float32 at least where it is of floats, else no
    bound: not at all. An element that is not written has the bytes ``unwritten``."""

    value: np.ndarray
    bound: np.ndarray | None
    unwritten: int = UNWRITTEN

    @staticmethod
    def of(found: np.ndarray, dtype: str) -> _Answer:
        """The reference's ``found``, copied."""
        if dtype not in TOLERANCE:
            return _Answer(found.copy(), None, _unwritten(dtype))
        value = found.astype(np.float64 if dtype == "float64" else np.float32)
        size = np.where(np.isfinite(value), np.abs(value), 0)  # near infinity there is nothing
        largest = float(size.max(initial=0.0))
        bound = np.asarray(TOLERANCE[dtype] * (size + largest), value.dtype)
        return _Answer(value, bound, _unwritten(dtype))

    def excess(self, found: np.ndarray) -> tuple[int, ...] | None:
        """Where ``found`` is too far off; None if nowhere."""
        found = found.astype(self.value.dtype, copy=False)
        if self.bound is None:
            near = found == self.value
        else:
            with np.errstate(invalid="ignore"):
                near = np.abs(found - self.value) <= self.bound
        if near.all():
            return None
        if self.unwritten in NAN_BYTES:  # of floats: infinities have no difference, and NaN equals nothing
            near |= (found == self.value) | (np.isnan(found) & np.isnan(self.value))
        if near.all():
            return None
        return tuple(int(i) for i in np.unravel_index(int(near.argmin()), near.shape))


@dataclass
class _Task:
    """What all candidates of a task share: the arrays they are called with, of ``parameters`` and made from
    ``seed``, the right answers; and the least seconds that one of them took."""

    arrays: list[np.ndarray]
    expected: dict[int, _Answer]
    cold: tuple[int, ...] = ()
    least: float = math.inf
    footprint: Footprint = EVERYTHING
    parameters: tuple[Parameter, ...] = ()
    seed: int = 0

    def restore(self) -> bool:
        """Give the inputs the values that they had at first; whether a candidate had written others."""
        spoilt = False
        for place, value in enumerate(_values(self.parameters, self.cold, self.seed)):
            if place not in self.expected and not np.array_equal(self.arrays[place], value):
                self.arrays[place][...] = value
                spoilt = True
        return spoilt

    def others(self) -> list[list[np.ndarray]]:
        """Further lists of arguments, to be taken alternately."""
        return further_arguments(self.arrays, self.cold, self.expected, self.footprint)


class Worker:
    """Answers requests until its input ends."""

    def __init__(self) -> None:
        self.tasks: dict[str, _Task] = {}
        self.copied: tuple[str, list[list[np.ndarray]]] = "", []
        self.taken = 0
        # On one thread, what other processes take of the processor is not the candidate's time.
        self.clock = time.thread_time if threads.num_threads() == 1 else time.perf_counter

    def answer(self, fields: dict[str, Any], payload: bytes) -> dict[str, Any]:
        """Carry out one request."""
        match fields["do"]:
            case "reference":
                return self._reference(fields, payload.decode())
            case "measure":
                return self._measure(fields, payload.decode())
            case "build":
                return self._build(fields, payload)
            case "compare":
                return self._compare(fields, payload.decode())
            case other:
                raise AssertionError(f"request {other!r}")

    def _reference(self, fields: dict[str, Any], ir_text: str) -> dict[str, Any]:
        """Make the arrays of a task and run the candidate that is taken to be right."""
        function = _function(fields, ir_text)
        parameters, cold, seed = function.signature.arrays, tuple(fields["cold"]), fields["seed"]
        arrays = as_in_a_model(_values(parameters, cold, seed))
        function(*arrays)
        expected = {
            i: _Answer.of(_plain(arrays[i]), p.dtype) for i, p in enumerate(parameters) if p.kind == "output"
        }
        footprint = Footprint(**fields["footprint"])
        self.tasks[fields["task"]] = _Task(
            arrays, expected, cold, footprint=footprint, parameters=parameters, seed=seed
        )
        self.copied = "", []
        return {}

    def _build(self, fields: dict[str, Any], payload: bytes) -> dict[str, Any]:
        """Make the code of a function, as the tuner would, and measure it."""
        with gc_paused():
            made = candidate_of(serialize.decode(payload), Target.parse(fields["target"]))
        if not isinstance(made, Candidate):
            return {"error": made.error, "message": made.message}
        return self._measure({**fields, "signature": made.signature}, made.ir_text)

    def _measure(self, fields: dict[str, Any], ir_text: str) -> dict[str, Any]:
        task = self.tasks[fields["task"]]
        function = _function(fields, ir_text)
        wrong, once = _wrong(function, task, self.clock)
        if wrong:
            return {"error": "wrong answer", "message": wrong}
        if repeat := fields.get("repeat"):  # asked for as many runs, whatever they show
            number = fields["number"]
            calls = repeat * (number or AHEAD)
            timed = self._time(function, fields["task"], calls, number=number, repeat=repeat)
            return {"costs": list(timed.runs), "busy": timed.busy}
        if HOPELESS * task.least < once <= HOPELESS * task.least + COLD:
            once = self._time(function, fields["task"], 3, number=1, repeat=1).median
        if once > HOPELESS * task.least:
            return {"costs": [once], "busy": 0.0}
        budget = fields["budget"]
        glance, close = GLANCE * budget, CLOSE * task.least
        is_long = once > glance

        def suffices(runs: Sequence[float], spent: float) -> bool:
            ordered = sorted(runs)
            middle = timing.median(ordered)
            if is_long and middle > close:
                return True
            if spent < glance or len(runs) < 3:
                return False
            low, high = timing.interval(ordered)
            return middle > close or high - low <= 2 * KNOWN * middle

        number = 1 if fields["number"] is None and is_long else fields["number"]
        calls = AHEAD * int(1 + budget / once)
        timed = self._time(
            function, fields["task"], calls, number=number, budget=budget, until=suffices, warm=not is_long
        )
        task.least = min(task.least, timed.median)
        return {"costs": list(timed.runs), "busy": timed.busy}

    def _compare(self, fields: dict[str, Any], texts: str) -> dict[str, Any]:
        """Time several candidates interleaved, so that what the machine does meanwhile affects all of them;
        those that fail are reported, and the others are timed without them."""
        found = [
            self._ready({**fields, "signature": signature}, text)
            for signature, text in zip(fields["signatures"], texts.split(fields["mark"]), strict=True)
        ]
        functions = [one for one in found if not isinstance(one, dict)]
        runs: list[list[float]] = [[] for _ in functions]
        once = [self._time(function, fields["task"], EVERY, repeat=1) for function in functions]
        rounds = fields["rounds"]
        longest = max((first.median * first.number for first in once), default=math.inf)
        for _ in range(max(rounds, min(MOST_ROUNDS, int(rounds * fields["budget"] / longest)))):
            for function, first, costs in zip(functions, once, runs, strict=True):
                number = first.number
                timed = self._time(function, fields["task"], 2 + number, number=number, repeat=1, warm=False)
                costs.extend(timed.runs)
        taken = iter(runs)
        return {"outcomes": [one if isinstance(one, dict) else {"costs": next(taken)} for one in found]}

    def _ready(self, fields: dict[str, Any], ir_text: str) -> CompiledFunction | dict[str, Any]:
        """A candidate whose answers are right, or what it failed of."""
        try:
            function = _function(fields, ir_text)
            wrong, _ = _wrong(function, self.tasks[fields["task"]], self.clock)
        except FAILURES as error:
            return _failure(error)
        return {"error": "wrong answer", "message": wrong} if wrong else function

    def _time(self, function: CompiledFunction, name: str, calls: int, **options: Any) -> timing.Timing:
        """Time ``function`` on the arrays of the task ``name``; the latest task has copies of cold ones.

        For about so many ``calls`` as many copies are made ready, the next ones: each takes about 20 us.
        """
        task = self.tasks[name]
        if self.copied[0] != name:
            self.copied = name, task.others()
        others = self.copied[1]
        if calls < len(others):
            start = self.taken % len(others)
            others = [*others[start:], *others[:start]][:calls]
            self.taken += calls
        return function.time(*task.arrays, clock=self.clock, others=others, **options)


def _function(fields: dict[str, Any], ir_text: str) -> CompiledFunction:
    target = Target.parse(fields["target"])
    signature = Signature.from_json(fields["signature"])
    modules = ir_text.split(NEXT_MODULE)
    loaded = jit.load([jit.compile_object(one, target) for one in modules], process.pool_symbols())
    shapes = loaded.address(f"{signature.name}_shapes") if len(modules) > 1 else 0
    return CompiledFunction(signature, loaded.address(signature.name), shapes, keep=loaded)


def _wrong(function: CompiledFunction, task: _Task, clock: timing.Clock) -> tuple[str, float]:
    """What is wrong with the answers of ``function``, empty if nothing; and how long it took.

    A candidate that writes where it may not spoils what later ones read: where that has happened the answer
    is looked at again, from inputs that are as they were at first, and the next candidate has such too.
    """
    wrong, once = _wrong_once(function, task, clock)
    if wrong and task.restore():
        wrong, once = _wrong_once(function, task, clock)
        if wrong:
            task.restore()
    return wrong, once


def _wrong_once(function: CompiledFunction, task: _Task, clock: timing.Clock) -> tuple[str, float]:
    """As ``_wrong``, from the inputs as they are."""
    for place, answer in task.expected.items():
        task.arrays[place].reshape(-1).view(np.uint8)[...] = answer.unwritten
    start = clock()
    function(*task.arrays)
    once = clock() - start
    for place, expected in task.expected.items():
        answer = _plain(task.arrays[place])
        worst = expected.excess(answer)
        if worst is not None:
            name = function.signature.arrays[place].name
            found, wanted = answer[worst], expected.value[worst]
            where = ", ".join(map(str, worst))
            return f"{name}[{where}] is {found}, the reference has {wanted}", once
    return "", once


def _plain(array: np.ndarray) -> np.ndarray:
    """``array``, of truths their bytes: to numpy, every one but 0 is True."""
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def _unwritten(dtype: str) -> int:
    """What each byte of an element of ``dtype`` is before a run: such that it is NaN, where there is one."""
    for byte in NAN_BYTES if dtypes.is_float(dtype) else ():
        element = np.full(dtypes.bytes_of(dtype), byte, np.uint8).view(dtypes.numpy_of(dtype))
        if np.isnan(element).all():
            return byte
    return UNWRITTEN


def _values(parameters: Sequence[Parameter], cold: Collection[int], seed: int) -> list[np.ndarray]:
    """What arrays of ``parameters`` hold at first; those at the places ``cold`` as weights do."""
    generator = np.random.default_rng(seed)
    return [
        _array(p.dtype, p.shape, generator, WEIGHT if place in cold else 1.0)
        for place, p in enumerate(parameters)
    ]


BYTES = np.array([0x3B, 0x3C, 0x3D], "uint32")
"""The highest byte of floats of about 2^-6, and others: two make a bfloat16, and three most of a float32."""


def _array(
    dtype: str, shape: tuple[Any, ...], generator: np.random.Generator, largest: float = 1.0
) -> np.ndarray:
    """Values that show a mistake: hardly any is 0, and sums stay small; floats are up to ``largest``, and so
    are those that words of 32 bits may hold: one, two of bfloat16, or parts of one (``pack24.operator``)."""
    if dtypes.is_float(dtype):
        values: np.ndarray = generator.uniform(-largest, largest, shape)
    elif dtype == "uint32":
        high = generator.uniform(-largest, largest, shape).astype("float32").view("uint32") >> 16
        values = high << 16 | generator.choice(BYTES, shape) << 8 | generator.choice(BYTES, shape)
    else:
        low, high = (0, 2) if dtype == "bool" else (0 if dtypes.is_unsigned(dtype) else -7, 8)
        values = generator.integers(low, high, shape)
    return values.astype(dtypes.numpy_of(dtype))


def _failure(error: Exception) -> dict[str, Any]:
    """What to reply where a candidate, or what is made for it, fails of ``error``, one of ``FAILURES``."""
    if isinstance(error, (MemoryError, BeyondMemory)) or isinstance(error.__cause__, MemoryError):
        return {"error": "memory", "message": str(error)[:500] or "not enough memory"}
    return {"error": "compile", "message": str(error)[:500]}


def main() -> None:
    """Answer on what was standard output; anything candidates print goes to standard error. The arguments of
    the command are the processors to run on, if not all."""
    if len(sys.argv) > 1:
        os.sched_setaffinity(0, map(int, sys.argv[1:]))
    bound_memory()
    out = os.dup(1)
    os.dup2(2, 1)
    worker = Worker()
    while True:
        try:
            fields, payload = frames.receive(0)
        except frames.Closed:
            return
        with bounded_time(fields["timeout"]):
            try:
                reply = worker.answer(fields, payload)
            except FAILURES as error:
                reply = _failure(error)
        frames.send(out, reply)


if __name__ == "__main__":
    sys.exit(main())
