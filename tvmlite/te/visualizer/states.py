"""The replay of a schedule: its loops, its code and its time after each primitive."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import threads
from tvmlite.runtime.timing import Timing
from tvmlite.te.codegen import jit, process
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.signature import signature_of
from tvmlite.te.lowering.lower import lower
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.trace import Step
from tvmlite.te.tensor import work
from tvmlite.te.visualizer import limits
from tvmlite.te.visualizer.hot_loop import HotLoop, hot_loop
from tvmlite.te.visualizer.limits import Limits
from tvmlite.te.visualizer.operands import difference, operands


@dataclass(frozen=True)
class State:
    """The state of a schedule after ``step`` (None: before the first primitive).

    ``refusal`` is the error if the schedule cannot be lowered in this state. ``same_as`` is the number of an
    earlier state with identical code, whose time is reused. ``difference`` is the largest difference of its
    results from those of the first timed state, relative to the largest value.
    """

    number: int
    step: Step | None
    refusal: str = ""
    lowered: ir.Function | None = None
    legal: ir.Function | None = None
    c: str = ""
    hot: HotLoop | None = None
    timing: Timing | None = None
    same_as: int | None = None
    difference: float | None = None

    @property
    def loops(self) -> str:
        """The loop nest as text."""
        return "" if self.lowered is None else str(self.lowered)

    @property
    def threads(self) -> int:
        """The number of threads that its loops use."""
        nodes = () if self.legal is None else postorder(self.legal)
        parallel = any(isinstance(node, ir.For) and node.kind == ir.PARALLEL for node in nodes)
        return threads.num_threads() if parallel else 1


@dataclass(frozen=True)
class Replay:
    """All states of a schedule, and the limits that they are compared with.

    ``operations`` is the arithmetic of one call, ``size`` the bytes of its arguments, each read or written
    once. ``limits`` are the machine's by number of threads; empty if nothing was timed.
    """

    name: str
    target: Target
    params: tuple[str, ...]
    operations: int
    size: int
    states: tuple[State, ...]
    limits: Mapping[int, Limits] = field(default_factory=dict)

    def share(self, state: State) -> float | None:
        """The roofline's time divided by the time of ``state``: 1 is the fastest possible on this machine."""
        if state.timing is None or state.threads not in self.limits:
            return None
        return self.limits[state.threads].seconds(self.operations, self.size) / state.timing.median


def replay(
    schedule: Schedule,
    args: Sequence[Any],
    target: Target,
    sizes: Mapping[str, int],
    name: str,
    budget: float | None,
    assembly: bool,
) -> Replay:
    """All states of ``schedule``, each timed for about ``budget`` seconds, or not at all if that is None.

    Raises the errors of ``te.lower`` if no state can be lowered.
    """
    steps = (None, *schedule.trace)
    states = [_state(schedule.replay(n), args, target, name, step) for n, step in enumerate(steps)]
    example = next((s.lowered for s in reversed(states) if s.lowered is not None), None)
    if example is None:
        example = lower(schedule, args, name)
    values = operands(example, args, sizes, work.index_readers(schedule.origins))
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    made = Replay(
        name,
        target,
        _described(example, values),
        work.operations(schedule.origins, sizes),
        sum(array.nbytes for array in arrays),
        tuple(_with_code(state, target, assembly) for state in states),
    )
    if budget is None or not _runs_here(target):
        return made
    dtypes = [p.dtype for p in example.buffers]
    counts = sorted({state.threads for state in made.states if not state.refusal})
    measured = {count: limits.measure(dtypes, made.size, count) for count in counts}
    return replace(made, states=_timed(made.states, target, values, budget), limits=measured)


def _state(schedule: Schedule, args: Sequence[Any], target: Target, name: str, step: Step | None) -> State:
    number = len(schedule.trace)
    try:
        lowered = lower(schedule, args, name)
        return State(number, step, lowered=lowered, legal=legalize(lowered, target))
    except TvmliteError as error:
        return State(number, step, refusal=error.message)


def _with_code(state: State, target: Target, assembly: bool) -> State:
    if state.lowered is None or state.legal is None:
        return state
    hot = None
    if assembly and target.kind == "llvm":
        hot = hot_loop(jit.assembly(llvm.generate(state.legal, target), target))
    return replace(state, c=_c_source(state.lowered, state.legal, target), hot=hot)


def _c_source(lowered: ir.Function, legal: ir.Function, target: Target) -> str:
    """The C source of a function; one with a ``Choice`` is first legalised for a C target."""
    if target.kind == "llvm" and any(isinstance(node, ir.Choice) for node in postorder(lowered.body)):
        legal = legalize(lowered, f"c -vector-bits={target.vector_bits}")
    try:
        return c.generate([legal], target)
    except UnsupportedError as error:
        return f"/* no C source: {error.message} */\n"


def _described(function: ir.Function, values: Sequence[Any]) -> tuple[str, ...]:
    """Each parameter as text, such as ``A: float32[4, 5]``, with sizes as numbers."""
    texts = []
    for param, value in zip(function.params, values, strict=True):
        if isinstance(param, ir.Buffer):
            out = "out " if param in function.outputs else ""
            texts.append(f"{param.name}: {out}{param.dtype}[{', '.join(map(str, value.shape))}]")
        else:
            texts.append(f"{param.name}: {param.dtype} = {value}")
    return tuple(texts)


def _runs_here(target: Target) -> bool:
    return target.kind == "c" or target.triple == Target.parse("native").triple


def _timed(
    states: Sequence[State], target: Target, values: Sequence[Any], budget: float
) -> tuple[State, ...]:
    """The states with their times; a state with the same code as an earlier one is not timed again."""
    known: dict[str, int] = {}
    made: list[State] = []
    wanted: list[np.ndarray] | None = None
    for state in states:
        if state.legal is None:
            made.append(state)
            continue
        code = str(state.legal)
        if code in known:
            twin = made[known[code]]
            made.append(replace(state, timing=twin.timing, same_as=twin.number, difference=twin.difference))
            continue
        known[code] = state.number
        timing, results = _time(state.legal, target, values, budget)
        wanted = results if wanted is None else wanted
        made.append(replace(state, timing=timing, difference=difference(results, wanted)))
    return tuple(made)


def _time(
    legal: ir.Function, target: Target, values: Sequence[Any], budget: float
) -> tuple[Timing, list[np.ndarray]]:
    """The time of a call, and its results; a function that takes longer than ``budget`` is called once."""
    loaded = process.load([legal], target)
    shapes = process.shapes_address(loaded, legal)
    function = CompiledFunction(signature_of(legal), loaded.address(legal.name), shapes, loaded)
    start = time.perf_counter()
    function(*values)
    once = time.perf_counter() - start
    places = [number for number, param in enumerate(legal.params) if param in legal.outputs]
    results = [values[place].copy() for place in places]
    if once > budget:
        return Timing(once, (once, once), (once,), 1, float("nan")), results
    return function.time(*values, budget=budget), results
