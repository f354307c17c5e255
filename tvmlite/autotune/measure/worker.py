"""The process that runs candidates: ``python -m tvmlite.autotune.measure.worker``.

A candidate that crashes, loops endlessly or takes all of the memory ends this process and not the tuner. The
worker receives LLVM IR, loops as plain data and numbers; nothing is unpickled or evaluated.
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
from tvmlite.autotune.measure.cold import DEFAULT_FOOTPRINT, Footprint, copies_in_one_block, further_arguments
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
"""The tolerance of a result, relative to the reference's value and again to its largest; 0 for integers.

Candidates add in other orders than the reference: 3e-6 of the largest for sums of 4096 float32 products.
"""


TOO_SLOW = 4.0
"""The ratio to the best time of the task above which a candidate is not timed more than once."""

SCREENING = 0.25
"""The part of the budget after which it is decided whether a candidate is among the best."""

NEAR_BEST = 1.2
"""The ratio to the best time below which a candidate is among the best: it is timed for the whole budget, or
until its median is known (``MEDIAN_PRECISION``)."""

ALL_COPIES = 1 << 30
"""A number of calls larger than that of the copies."""

MEDIAN_PRECISION = 0.02
"""The half-width of the 95% confidence interval of a median, relative to it, at which the median is known."""

COPIES_PER_CALL = 3
"""Argument lists prepared for each expected call: the number of calls is estimated by the slow first."""

MOST_ROUNDS = 140
"""The most rounds of a comparison, of a run each: other processes come and go in milliseconds."""

COLD_START_SECONDS = 1e-2
"""Seconds by which the first call of a function may take longer than others, as its data and its code come
from memory. A candidate that is slower by no more than that is timed again before it is rejected."""

FAILURES = (MemoryError, TvmliteError, RuntimeError)
"""Exceptions that a candidate may harmlessly raise; llvmlite raises the last for IR it cannot parse."""

FILL_BYTE = 0xA5
"""The bytes of an output before a run, if its dtype has no NaN of equal bytes: hardly ever right."""

NAN_BYTES = (0xFF, 0x80)
"""Bytes that are NaN, repeated, in all floats but those of six and four bits: right only where NaN is."""

LARGEST_WEIGHT = 0.125
"""The largest weight: sums of some hundred products are then about 1, as in trained networks. For far larger
ones exponentials may be subnormal numbers, which are many times as slow on some processors."""


@dataclass(frozen=True)
class _Answer:
    """The expected value of an output and its tolerance ``bound``, as float32 or float64 for floats; without
    it the result must be equal. Each byte of an output is ``fill_byte`` before a run."""

    value: np.ndarray
    bound: np.ndarray | None
    fill_byte: int = FILL_BYTE

    @staticmethod
    def of(found: np.ndarray, dtype: str) -> _Answer:
        """Copy the reference's result ``found``, with its tolerance."""
        if dtype not in TOLERANCE:
            return _Answer(found.copy(), None, _fill_byte(dtype))
        value = found.astype(np.float64 if dtype == "float64" else np.float32)
        size = np.where(np.isfinite(value), np.abs(value), 0)  # no tolerance at infinities
        largest = float(size.max(initial=0.0))
        bound = np.asarray(TOLERANCE[dtype] * (size + largest), value.dtype)
        return _Answer(value, bound, _fill_byte(dtype))

    def mismatch(self, found: np.ndarray) -> tuple[int, ...] | None:
        """The index of an element of ``found`` that exceeds the tolerance; None if there is none."""
        found = found.astype(self.value.dtype, copy=False)
        if self.bound is None:
            near = found == self.value
        else:
            with np.errstate(invalid="ignore"):
                near = np.abs(found - self.value) <= self.bound
        if near.all():
            return None
        if self.fill_byte in NAN_BYTES:  # for floats: infinities have no difference, and NaN equals nothing
            near |= (found == self.value) | (np.isnan(found) & np.isnan(self.value))
        if near.all():
            return None
        return tuple(int(i) for i in np.unravel_index(int(near.argmin()), near.shape))


@dataclass
class _Task:
    """What all candidates of a task share: ``arrays`` for ``parameters``, with values generated from
    ``seed``, the ``expected`` results, and ``best_seconds``, the best time in seconds."""

    arrays: list[np.ndarray]
    expected: dict[int, _Answer]
    cold: tuple[int, ...] = ()
    best_seconds: float = math.inf
    footprint: Footprint = DEFAULT_FOOTPRINT
    parameters: tuple[Parameter, ...] = ()
    seed: int = 0

    def restore(self) -> bool:
        """Restore the initial values of the inputs; return whether a candidate had overwritten any."""
        overwritten = False
        for place, value in enumerate(_values(self.parameters, self.cold, self.seed)):
            if place not in self.expected and not np.array_equal(self.arrays[place], value):
                self.arrays[place][...] = value
                overwritten = True
        return overwritten

    def copies(self) -> list[list[np.ndarray]]:
        """Return further lists of arguments, to be used alternately."""
        return further_arguments(self.arrays, self.cold, self.expected, self.footprint)


class Worker:
    """Answers requests until its input ends."""

    def __init__(self) -> None:
        self.tasks: dict[str, _Task] = {}
        self.copies: tuple[str, list[list[np.ndarray]]] = "", []
        self.copies_used = 0
        # With one thread, CPU time excludes what other processes take of the processor.
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
        """Allocate the arrays of a task and run its reference."""
        function = _function(fields, ir_text)
        parameters, cold, seed = function.signature.arrays, tuple(fields["cold"]), fields["seed"]
        arrays = copies_in_one_block(_values(parameters, cold, seed))
        function(*arrays)
        expected = {
            i: _Answer.of(_bools_as_bytes(arrays[i]), p.dtype)
            for i, p in enumerate(parameters)
            if p.kind == "output"
        }
        footprint = Footprint(**fields["footprint"])
        self.tasks[fields["task"]] = _Task(
            arrays, expected, cold, footprint=footprint, parameters=parameters, seed=seed
        )
        self.copies = "", []
        return {}

    def _build(self, fields: dict[str, Any], payload: bytes) -> dict[str, Any]:
        """Build the code of a function, as the tuner would, and measure it."""
        with gc_paused():
            made = candidate_of(serialize.decode(payload), Target.parse(fields["target"]))
        if not isinstance(made, Candidate):
            return {"error": made.error, "message": made.message}
        return self._measure({**fields, "signature": made.signature}, made.ir_text)

    def _measure(self, fields: dict[str, Any], ir_text: str) -> dict[str, Any]:
        task = self.tasks[fields["task"]]
        function = _function(fields, ir_text)
        wrong, once = _check_results(function, task, self.clock)
        if wrong:
            return {"error": "wrong answer", "message": wrong}
        if repeat := fields.get("repeat"):  # exactly that many runs are requested
            number = fields["number"]
            calls = repeat * (number or COPIES_PER_CALL)
            timed = self._time(function, fields["task"], calls, number=number, repeat=repeat)
            return {"costs": list(timed.runs), "busy": timed.busy}
        if TOO_SLOW * task.best_seconds < once <= TOO_SLOW * task.best_seconds + COLD_START_SECONDS:
            once = self._time(function, fields["task"], 3, number=1, repeat=1).median
        if once > TOO_SLOW * task.best_seconds:
            return {"costs": [once], "busy": 0.0}
        budget = fields["budget"]
        screening, near_best = SCREENING * budget, NEAR_BEST * task.best_seconds
        is_long = once > screening

        def suffices(runs: Sequence[float], spent: float) -> bool:
            ordered = sorted(runs)
            middle = timing.median(ordered)
            if is_long and middle > near_best:
                return True
            if spent < screening or len(runs) < 3:
                return False
            low, high = timing.interval(ordered)
            return middle > near_best or high - low <= 2 * MEDIAN_PRECISION * middle

        number = 1 if fields["number"] is None and is_long else fields["number"]
        calls = COPIES_PER_CALL * int(1 + budget / once)
        timed = self._time(
            function, fields["task"], calls, number=number, budget=budget, until=suffices, warm=not is_long
        )
        task.best_seconds = min(task.best_seconds, timed.median)
        return {"costs": list(timed.runs), "busy": timed.busy}

    def _compare(self, fields: dict[str, Any], texts: str) -> dict[str, Any]:
        """Time several candidates interleaved, so that changes of the machine affect all of them; those that
        fail are reported, and the others are timed without them."""
        found = [
            self._ready({**fields, "signature": signature}, text)
            for signature, text in zip(fields["signatures"], texts.split(fields["mark"]), strict=True)
        ]
        functions = [one for one in found if not isinstance(one, dict)]
        runs: list[list[float]] = [[] for _ in functions]
        once = [self._time(function, fields["task"], ALL_COPIES, repeat=1) for function in functions]
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
        """Load a candidate whose results are right; otherwise return the reply with its error."""
        try:
            function = _function(fields, ir_text)
            wrong, _ = _check_results(function, self.tasks[fields["task"]], self.clock)
        except FAILURES as error:
            return _failure(error)
        return {"error": "wrong answer", "message": wrong} if wrong else function

    def _time(self, function: CompiledFunction, name: str, calls: int, **options: Any) -> timing.Timing:
        """Time ``function`` on the arrays of task ``name``; only the latest task has copies of cold arrays.

        For ``calls`` expected calls the next ``calls`` copies are prepared, as each takes about 20 us.
        """
        task = self.tasks[name]
        if self.copies[0] != name:
            self.copies = name, task.copies()
        others = self.copies[1]
        if calls < len(others):
            start = self.copies_used % len(others)
            others = [*others[start:], *others[:start]][:calls]
            self.copies_used += calls
        return function.time(*task.arrays, clock=self.clock, others=others, **options)


def _function(fields: dict[str, Any], ir_text: str) -> CompiledFunction:
    target = Target.parse(fields["target"])
    signature = Signature.from_json(fields["signature"])
    modules = ir_text.split(NEXT_MODULE)
    loaded = jit.load([jit.compile_object(one, target) for one in modules], process.pool_symbols())
    shapes = loaded.address(f"{signature.name}_shapes") if len(modules) > 1 else 0
    return CompiledFunction(signature, loaded.address(signature.name), shapes, keep=loaded)


def _check_results(function: CompiledFunction, task: _Task, clock: timing.Clock) -> tuple[str, float]:
    """Return the first wrong result of ``function`` as a message, empty if there is none, and its time.

    A candidate that writes out of bounds corrupts what later ones read. If an input has changed, the result
    is checked again from the initial inputs, which are restored for the next candidate as well.
    """
    wrong, once = _check_once(function, task, clock)
    if wrong and task.restore():
        wrong, once = _check_once(function, task, clock)
        if wrong:
            task.restore()
    return wrong, once


def _check_once(function: CompiledFunction, task: _Task, clock: timing.Clock) -> tuple[str, float]:
    """Do the check of ``_check_results`` once, from the current inputs."""
    for place, answer in task.expected.items():
        task.arrays[place].reshape(-1).view(np.uint8)[...] = answer.fill_byte
    start = clock()
    function(*task.arrays)
    once = clock() - start
    for place, expected in task.expected.items():
        answer = _bools_as_bytes(task.arrays[place])
        worst = expected.mismatch(answer)
        if worst is not None:
            name = function.signature.arrays[place].name
            found, wanted = answer[worst], expected.value[worst]
            where = ", ".join(map(str, worst))
            return f"{name}[{where}] is {found}, the reference has {wanted}", once
    return "", once


def _bools_as_bytes(array: np.ndarray) -> np.ndarray:
    """View booleans as bytes, as numpy takes every byte but 0 for True; other arrays are unchanged."""
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def _fill_byte(dtype: str) -> int:
    """The value of each byte of an output of ``dtype`` before a run: one that makes NaN, if there is one."""
    for byte in NAN_BYTES if dtypes.is_float(dtype) else ():
        element = np.full(dtypes.bytes_of(dtype), byte, np.uint8).view(dtypes.numpy_of(dtype))
        if np.isnan(element).all():
            return byte
    return FILL_BYTE


def _values(parameters: Sequence[Parameter], cold: Collection[int], seed: int) -> list[np.ndarray]:
    """The initial values of arrays of ``parameters``, scaled as weights at the positions ``cold``."""
    generator = np.random.default_rng(seed)
    return [
        _array(p.dtype, p.shape, generator, LARGEST_WEIGHT if place in cold else 1.0)
        for place, p in enumerate(parameters)
    ]


FLOAT_BYTES = np.array([0x3B, 0x3C, 0x3D], "uint32")
"""Highest bytes of floats of about 2^-6, and lower bytes: two form a bfloat16, three most of a float32."""


def _array(
    dtype: str, shape: tuple[Any, ...], generator: np.random.Generator, largest: float = 1.0
) -> np.ndarray:
    """Generate values that reveal mistakes: hardly any is 0, and sums stay small. Floats, also those packed
    in 32-bit words (one, two bfloat16, or parts of one: ``pack24.operator``), are up to ``largest``."""
    if dtypes.is_float(dtype):
        values: np.ndarray = generator.uniform(-largest, largest, shape)
    elif dtype == "uint32":
        high = generator.uniform(-largest, largest, shape).astype("float32").view("uint32") >> 16
        values = high << 16 | generator.choice(FLOAT_BYTES, shape) << 8 | generator.choice(FLOAT_BYTES, shape)
    else:
        low, high = (0, 2) if dtype == "bool" else (0 if dtypes.is_unsigned(dtype) else -7, 8)
        values = generator.integers(low, high, shape)
    return values.astype(dtypes.numpy_of(dtype))


def _failure(error: Exception) -> dict[str, Any]:
    """The reply for ``error``, one of ``FAILURES``, raised by a candidate or while building it."""
    if isinstance(error, (MemoryError, BeyondMemory)) or isinstance(error.__cause__, MemoryError):
        return {"error": "memory", "message": str(error)[:500] or "not enough memory"}
    return {"error": "compile", "message": str(error)[:500]}


def main() -> None:
    """Reply on the original standard output; candidates' own output goes to standard error. The command's
    arguments are the processors to run on, all if there are none."""
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
