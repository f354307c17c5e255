"""One program checked in all ways: both lowered forms interpreted, both code generators, its definition."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ScheduleError, TvmliteError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.fuzz.expected import values
from tvmlite.fuzz.expected.bounded import Bounded, difference
from tvmlite.fuzz.expected.evaluate import TooLarge, evaluate, shape_at
from tvmlite.fuzz.expected.memory import GuardedArray
from tvmlite.fuzz.program import Program, arguments
from tvmlite.machine.target import Target
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.te import expr as e
from tvmlite.te.codegen import process
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.signature import signature_of
from tvmlite.te.loop.verify import verify
from tvmlite.te.tensor import tensor as t


class Wrong(AssertionError):
    """A program that does not compute what its definition says.

    ``stage`` is where: "lower", "loops" (the lowered form), "legalize", "legal", "llvm" or "c"; ``kind`` is
    "value", "guard", "input", or an error.
    """

    def __init__(self, stage: str, kind: str, text: str) -> None:
        self.stage, self.kind, self.text = stage, kind, text
        super().__init__(f"{stage}: {kind}: {text}")

    @property
    def signature(self) -> str:
        """What must stay the same while the program is shrunk."""
        return f"{self.stage}: {self.kind}"


class Refused(Exception):
    """The schedule cannot be carried out, and is refused as it should be."""


@dataclass
class Job:
    """A lowered program, with its inputs and the values that its outputs must have."""

    program: Program
    function: ir.Function
    args: list[Any]
    inputs: dict[int, np.ndarray]
    wanted: dict[int, Bounded]
    compared: int = 0
    elements: int = 0
    stage: Callable[[str], object] = lambda name: None

    def compare(self, stage: str, outputs: Mapping[int, np.ndarray]) -> None:
        """Raise Wrong if ``outputs`` differ from the wanted values."""
        for place, wanted in self.wanted.items():
            with np.errstate(all="ignore"):
                wrong, known = difference(wanted, outputs[place])
            self.compared += known
            self.elements += wanted.error.size
            if wrong.any():
                raise Wrong(stage, "value", _complaint(self.args[place], wanted, outputs[place], wrong))


def check(
    schedule: te.Schedule,
    sizes: Mapping[str, int] | None = None,
    data: str = "small",
    seed: int = 0,
    target: str = "native",
    backends: Sequence[str] = ("llvm", "c"),
) -> None:
    """Raise ``Wrong`` unless the schedule computes what its computation is defined to give.

    The schedule is lowered and interpreted in both forms, then compiled by each of ``backends`` (``target``
    is LLVM's) and run on arrays between guard pages. ``sizes`` are the values of each ``te.var`` by name;
    ``data`` ("small", "normal" or "wide") and ``seed`` determine the elements of the inputs.
    """
    program = Program((), tuple((sizes or {}).items()), data, seed, target)
    job = prepare(program, schedule)
    legal = check_legal(job, target)
    if "llvm" in backends:
        run_native(job, legal, target)
    if "c" in backends:
        for wrong in run_together([job], "c").values():
            raise wrong


def prepare(
    program: Program,
    schedule: te.Schedule,
    name: str = "kernel",
    stage: Callable[[str], object] = lambda name: None,
) -> Job:
    """Lower ``schedule``, evaluate its definition, and compare the lowered form. Raises Wrong or Refused.

    ``stage`` is called with the name of each step before it runs.
    """
    args = [*arguments(schedule)]
    bound = _variables(args, dict(program.sizes))
    args += [var for var in bound if not any(var is n for x in args for n in x.shape)]
    inputs: dict[int, np.ndarray] = {}
    scalars = dict(bound)
    for place, arg in enumerate(args):
        if isinstance(arg, te.Tensor) and isinstance(arg.op, t.PlaceholderOp):
            shape = shape_at(arg, scalars)
            inputs[place] = values.make(program.data, shape, arg.dtype, program.seed, place)
        elif isinstance(arg, e.Var):
            inputs[place] = np.asarray(scalars[arg])
    outputs = {p: a for p, a in enumerate(args) if p not in inputs}
    given = {args[p]: array for p, array in inputs.items() if isinstance(args[p], te.Tensor)}
    original = _definitions(schedule)
    predicates = {one.origin_op: one.predicate for one in schedule.stages if one.predicate is not None}
    try:
        found = evaluate([original(a) for a in outputs.values()], given, scalars, predicates)
    except TooLarge as error:
        raise Refused(str(error)) from error
    wanted = dict(zip(outputs, found, strict=True))
    function = _lowered(schedule, args, name)
    job = Job(program, function, args, inputs, wanted, stage=stage)
    _run_interpreted(job, "loops", function)
    return job


def _definitions(schedule: te.Schedule) -> Callable[[te.Tensor], te.Tensor]:
    """Return a function from tensors to their definitions before primitives such as ``cache_write``."""

    def original(tensor: te.Tensor) -> te.Tensor:
        return schedule[tensor].origin_op.output(tensor.value_index)

    return original


def _lowered(schedule: te.Schedule, args: list[Any], name: str) -> ir.Function:
    with _stage("lower"):
        try:
            function = te.lower(schedule, args, name)
        except ScheduleError as error:
            if _has_user_line(error):
                raise Refused(str(error)) from error
            raise
        verify(function)
    return function


def _has_user_line(error: ScheduleError) -> bool:
    """Whether the error is of a primitive and shows the line that used it.

    The final loops are known late, so some schedules can only be refused when they are lowered.
    """
    span, primitive = error.span, error.message.split(":", 1)[0]
    line = "" if span is None else linecache.getline(span.source, span.line)
    return span is not None and (not line or f"{primitive}(" in line)


def check_legal(job: Job, target: str) -> ir.Function:
    """Legalize for ``target`` and compare the legal form."""
    with _stage("legalize"):
        legal = legalize(job.function, Target.parse(target))
        verify(legal, legal=True)
    _run_interpreted(job, "legal", legal)
    return legal


def run_native(job: Job, legal: ir.Function, target: str) -> None:
    """Compile the legal form with LLVM for ``target``, run and compare it."""
    parsed = Target.parse(target)
    with _stage("llvm"):
        called = _compiled_function(process.load([legal], parsed), legal)
    _run_compiled(job, "llvm", called)


def run_together(jobs: Sequence[Job], target: str) -> dict[int, Wrong]:
    """Compile all ``jobs``, whose functions have different names, into one C library, and run each.

    Return the errors by positions. If that library cannot be compiled, each job is compiled separately.
    """
    parsed = Target.parse(target)
    try:
        with _stage("c"):
            legal = [legalize(job.function, parsed) for job in jobs]
            loaded = process.load(legal, parsed)
    except Wrong as wrong:
        if len(jobs) == 1:
            return {0: wrong}
        alone = [run_together([job], target) for job in jobs]
        return {place: found[0] for place, found in enumerate(alone) if found}
    failed: dict[int, Wrong] = {}
    for place, (job, one) in enumerate(zip(jobs, legal, strict=True)):
        job.stage("c")
        try:
            _run_compiled(job, "c", _compiled_function(loaded, one))
        except Wrong as wrong:
            failed[place] = wrong
    return failed


def _compiled_function(loaded: process.Loaded, function: ir.Function) -> CompiledFunction:
    shapes = process.shapes_address(loaded, function)
    return CompiledFunction(signature_of(function), loaded.address(function.name), shapes, loaded)


@contextmanager
def _stage(name: str) -> Iterator[None]:
    """Raise errors inside as those of the stage ``name``."""
    try:
        yield
    except (Wrong, Refused):
        raise
    except UnsupportedError as error:
        raise Refused(str(error)) from error
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = str(error) if isinstance(error, TvmliteError) else f"{error!r} at {where.name}"
        raise Wrong(name, type(error).__name__, text) from error


def _run_interpreted(job: Job, stage: str, function: ir.Function) -> None:
    job.stage(stage)
    outputs = {place: _filled(job, place) for place in job.wanted}
    passed = [outputs[p] if p in outputs else job.inputs[p] for p in range(len(job.args))]
    with _stage(stage):
        interpret(function, passed)
    job.compare(stage, outputs)


def _run_compiled(job: Job, stage: str, function: CompiledFunction) -> None:
    job.stage(stage)
    at_end = job.program.seed % 4 != 1
    guarded = {
        p: GuardedArray(a, at_end) for p, a in job.inputs.items() if isinstance(job.args[p], te.Tensor)
    }
    results = {p: GuardedArray(_filled(job, p), at_end) for p in job.wanted}
    every = guarded | results
    passed = [every[p].array if p in every else int(job.inputs[p]) for p in range(len(job.args))]
    with _stage(stage):
        function(*passed)
    for place, one in every.items():
        if not one.is_intact():
            raise Wrong(stage, "guard", f"memory beside {job.args[place].name} was written to")
    for place, one in guarded.items():
        if one.array.tobytes() != job.inputs[place].tobytes():
            raise Wrong(stage, "input", f"the input {job.args[place].name} was written to")
    job.compare(stage, {place: one.array for place, one in results.items()})


def _filled(job: Job, place: int) -> np.ndarray:
    """Return an output before the call, filled with a pattern that is an unlikely result."""
    tensor, shape = job.args[place], job.wanted[place].value.shape
    wanted = dtypes.numpy_of(tensor.dtype)
    if wanted.kind == "b":
        return np.ones(shape, wanted)
    count = int(np.prod(shape)) * wanted.itemsize
    return np.full(count, 0x5B, np.uint8).view(wanted).reshape(shape)


def _variables(args: Sequence[te.Tensor], sizes: Mapping[str, int]) -> dict[e.Var, int]:
    """Return the variables in the computation of ``args``, and their values."""
    found: dict[e.Var, int] = {}
    for op in _operations([a.op for a in args]):
        for node in _expressions(op):
            if isinstance(node, e.Var) and node.name in sizes:
                found[node] = sizes[node.name]
    return found


def _operations(roots: Sequence[t.Operation]) -> Iterator[t.Operation]:
    seen: dict[t.Operation, None] = {}
    todo = list(roots)
    while todo:
        op = todo.pop()
        if op not in seen:
            seen[op] = None
            todo += [tensor.op for tensor in op.inputs]
    return iter(seen)


def _expressions(op: t.Operation) -> Iterator[Any]:
    """Yield all nodes of shapes and formulas."""
    roots: list[Any] = [n for k in range(op.num_outputs) for n in op.output_shape(k) if isinstance(n, e.Expr)]
    if isinstance(op, t.ComputeOp):
        roots += op.body
        roots += [a.dom.extent for a in op.reduce_axis if a.dom is not None]
    for root in roots:
        yield from postorder(root)


def _complaint(tensor: te.Tensor, wanted: Bounded, got: np.ndarray, wrong: np.ndarray) -> str:
    place = tuple(int(n) for n in np.argwhere(wrong)[0])
    error = wanted.error[place]
    room = f" within {error:.3g}" if error else ""
    return (
        f"{tensor.name}{list(place)} is {got[place]!r}, wanted {wanted.value[place]!r}{room} "
        f"({int(wrong.sum())} of {wrong.size} elements are wrong)"
    )
