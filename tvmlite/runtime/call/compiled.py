"""Compiled functions as Python callables: check arguments, allocate outputs, raise errors for codes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import cffi
import numpy as np

from tvmlite.core import arguments as checked
from tvmlite.core.abi.signature import TOO_SMALL, Parameter, Signature
from tvmlite.core.errors import InputError, TargetError
from tvmlite.runtime.call import arguments
from tvmlite.runtime.call.arguments import ArrayParameter
from tvmlite.runtime.call.in_process import InProcess
from tvmlite.runtime.call.plan import Plan, Planner, check_code
from tvmlite.runtime.call.scratch import Scratch, ScratchPool
from tvmlite.runtime.call.short_call import Positions, ShortCall
from tvmlite.runtime.call.slots import Slot, c_type, in_order, slots_of, wrong_count
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.runtime.timing import Clock, Timing, Until, measure

_ffi: Any = cffi.FFI()
_CHARS = _ffi.typeof("char[]")
_from_buffer = _ffi.from_buffer
_HEADROOM = 4
"""A workspace that is too small grows to the needed size plus this fraction of it (1 / 4)."""


class CompiledFunction(InProcess):
    """The function ``signature`` at ``address``; ``keep`` is kept alive so that its code stays loaded.

    Call it with every array and scalar in the signature's order, and outputs are written in place; or
    omit the outputs, and they are allocated and returned: one array, or a tuple of several. Arguments are
    numpy arrays, objects with ``__dlpack__`` (torch tensors), and numbers for scalars, by position or by
    name. Inputs may be strided, read-only or byte-swapped; outputs may not, nor may they share memory.
    Outputs with data-dependent extents are never passed, but always allocated and returned.

    An argument that does not fit raises an InputError that names the parameter; a function that rejects its
    data raises ExecutionError. Calls release the GIL and are thread-safe.
    """

    def __init__(
        self,
        signature: Signature,
        address: int,
        shapes_address: int = 0,
        keep: object = None,
        unrunnable: str = "",
        instead: str = "compile for this machine: target='native'",
    ) -> None:
        """If ``unrunnable`` is not empty, it is the reason that the code cannot run in this process, and
        every call raises a TargetError with the hint ``instead``."""
        self.signature = signature
        self.name = signature.name
        self._keep = keep
        self._function = _ffi.cast(c_type(signature), address)
        pointers = ("workspace", "dynamic_outputs", "profile")
        self._row = [_ffi.NULL if p.kind in pointers else 0 for p in signature.c_parameters]
        self._slots = slots_of(signature)
        self._input_slots = tuple(s for s in self._slots if s.array is None or not s.array.is_output)
        arrays = [s.array for s in self._slots if s.array is not None]
        self._output_slots = tuple(s for s in self._slots if s.array is not None and s.array.is_output)
        self._unrunnable, self._instead = unrunnable, instead
        if not unrunnable:
            self._planner = Planner(signature, arrays, shapes_address)
        place_of = {p.name: i for i, p in enumerate(signature.c_parameters)}
        self._size_places = [(place_of[p.name], p.name) for p in signature.shape_sizes]
        self._kinds = {p.kind: i for i, p in enumerate(signature.c_parameters)}
        self._found = [ArrayParameter(p) for p in signature.of_kind("found")]
        self._too_small = signature.messages.index(TOO_SMALL) + 1 if TOO_SMALL in signature.messages else -1
        self._reports_workspace = "dynamic_outputs" in self._kinds
        self._workspace_place = self._kinds.get("workspace")
        self._threads_place = self._kinds.get("threads")
        scalars = any(slot.array is None for slot in self._input_slots)
        number_of = {p.name: k for k, p in enumerate(signature.arrays)}
        self._updated_in_place = {
            number: number_of[p.in_place] for number, p in enumerate(signature.arrays) if p.in_place
        }
        """The numbers of outputs in place, mapped to those of the inputs whose memory they share."""
        self._updated_inputs = {
            number: ArrayParameter(replace(signature.arrays[number], kind="output"))
            for number in self._updated_in_place.values()
        }
        self._has_fast_path = not (
            scalars or self._reports_workspace or self._found or self._updated_in_place
        )
        static = signature.is_static and "size" not in self._kinds
        self._static_key = (0,) * len(self._size_places) if static else None
        self._static_plan: Plan | None = None
        self._scratch = ScratchPool() if {"workspace", "threads"} & self._kinds.keys() else None
        self.fast_path: ShortCall | None = None
        """Generates fast paths of calls; None before the first call, and for functions without one."""
        self._call_fast: Callable[[Sequence[Any]], Any] | None = None

    def name_inputs(self, names: Sequence[str]) -> None:
        """Set the inputs' names for error messages, as the signature has C names, not the model's own."""
        for slot, name in zip(self._input_slots, names, strict=True):
            if slot.array is not None:
                slot.array.name = name
                self._updated_inputs.get(slot.number, slot.array).name = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function; returns None if outputs are passed, else the allocated outputs. See the class."""
        if self._call_fast is not None and not named:
            made = self._call_fast(args)
            if made is not None:
                return made
        row, outputs = self._bind(args, named)
        outputs = self._call(row, outputs)
        if outputs and self._has_fast_path and (self._call_fast is None or self._static_key is None):
            self._remember(row)
        return outputs[0] if len(outputs) == 1 else outputs or None

    def _remember(self, row: Sequence[Any]) -> None:
        """Enable the fast path for the shapes of a successful call with the C arguments ``row``."""
        if self.fast_path is None:
            self.fast_path = ShortCall(
                self.name,
                self._function,
                self._row,
                [(slot.place, slot.array) for slot in _with_array(self._input_slots)],
                [(slot.place, slot.array) for slot in self._output_slots if slot.array is not None],
                self._scratch,
                Positions(
                    self._workspace_place, self._threads_place, [place for place, _ in self._size_places]
                ),
                self._static_key is not None,
                partial(_refuse, self.signature, [name for _, name in self._size_places]),
            )
        sizes = tuple([row[place] for place, _ in self._size_places])
        threads = 1 if self._scratch is None else num_threads()
        plan = self._planner.plan(sizes, threads)
        inputs, outputs = (
            [plan.shapes[slot.number] for slot in slots] for slots in (self._input_slots, self._output_slots)
        )
        self.fast_path.remember(inputs, outputs, sizes, plan.workspace, threads)
        if self._call_fast is None:
            self._call_fast = self.fast_path.by_position()

    def time(
        self,
        *args: Any,
        number: int | None = None,
        repeat: int | None = None,
        budget: float = 0.5,
        clock: Clock = time.perf_counter,
        others: Sequence[Sequence[Any]] = (),
        until: Until | None = None,
        warm: bool = True,
        **named: Any,
    ) -> Timing:
        """Seconds of one call with these arguments, without checks; see ``timing.measure``.

        With ``others``, further lists of all arguments, calls rotate through the lists, so that arguments
        that are large enough together do not stay in the caches.
        """
        checked.function("time: clock", clock, InputError)
        if until is not None:
            checked.function("time: until", until, InputError)
        checked.boolean("time: warm", warm, InputError)
        lists = checked.listed("time: others", others, "lists of arguments", InputError)
        rows = [checked.listed("time: others", one, "arguments", InputError) for one in lists]
        bound = [self._bind(args, named), *(self._bind(one, {}) for one in rows)]
        taken: list[Scratch | None] = []
        try:
            for row, _outputs in bound:
                taken.append(self._take_scratch(row))
            if warm or self._reports_workspace:
                self._run(bound[0][0], taken[0])
            function, rows = self._function, itertools.cycle([row for row, _outputs in bound])
            return measure(lambda: function(*next(rows)), number, repeat, budget, clock, until, warm)
        finally:
            for scratch in taken:
                self._put_scratch(scratch)

    def profile(self, *args: Any, **named: Any) -> tuple[Any, tuple[int, ...]]:
        """The result of a call, and the nanoseconds of each of ``signature.kernels``."""
        row, outputs = self._bind(args, named)
        kernels = len(self.signature.kernels)
        times = _ffi.new("int64_t[]", kernels + 1)
        if "profile" in self._kinds:
            row[self._kinds["profile"]] = times
        outputs = self._call(row, outputs)
        return outputs[0] if len(outputs) == 1 else outputs or None, tuple(times)[:kernels]

    def _call(self, row: list[Any], outputs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Run the code; returns all allocated outputs: ``outputs``, and those with data-dependent extents."""
        scratch = self._take_scratch(row)
        try:
            self._run(row, scratch)
            if not self._found:
                return outputs
            found = iter(self._read_outputs(row[self._kinds["dynamic_outputs"]], scratch))
        finally:
            self._put_scratch(scratch)
        made = iter(outputs)
        kinds = [p.kind for p in self.signature.outputs if p.kind == "found" or outputs]
        return tuple(next(found) if kind == "found" else next(made) for kind in kinds)

    def _run(self, row: list[Any], scratch: Scratch | None) -> None:
        """Run the code, again with a larger workspace if the data need it."""
        if not self._reports_workspace:
            code = self._function(*row)
            if code:
                check_code(self.signature, code, self._sizes_of(row))
            return
        assert scratch is not None, "a function that reports what it needs has a workspace"
        reported = _ffi.new("int64_t[]", self.signature.dynamic_outputs_length)
        row[self._kinds["dynamic_outputs"]] = reported
        while True:
            row[self._kinds["workspace"]] = scratch.address
            row[self._kinds["capacity"]] = scratch.size
            code = self._function(*row)
            if code != self._too_small:
                check_code(self.signature, code, self._sizes_of(row))
                return
            needed = reported[0]
            if needed < 0:
                raise InputError(f"{self.name}: these data need a workspace larger than any machine's memory")
            arguments.check_memory(self.name, [("workspace", needed)])
            scratch.grow(needed + needed // _HEADROOM, self.name)

    def _sizes_of(self, row: Sequence[Any]) -> list[tuple[str, Any]]:
        """The open sizes of a call, by name."""
        kinds = {p.name: p.kind for p in self.signature.shape_sizes}
        return [(name, row[place]) for place, name in self._size_places if kinds[name] == "size"]

    def _read_outputs(self, reported: Any, scratch: Scratch | None) -> list[np.ndarray]:
        """Copies of the outputs that are in the workspace."""
        assert scratch is not None
        numbers = iter(list(reported)[1:])
        made = []
        for expected in self._found:
            start, shape = next(numbers), tuple([next(numbers) for _ in expected.dims])
            array = arguments.allocate(self.name, expected, shape)
            if array.size:
                memory = np.frombuffer(_ffi.buffer(scratch.address), np.uint8, array.nbytes, start)
                array.reshape(-1).view(np.uint8)[:] = memory
            made.append(array)
        return made

    def _bind(
        self, args: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[list[Any], tuple[np.ndarray, ...]]:
        """The C arguments except workspace and threads, and the allocated outputs."""
        if self._unrunnable:
            raise TargetError(f"{self.name} is not run: {self._unrunnable}", hint=self._instead)
        if named:
            args = in_order(self.name, self._slots, self._input_slots, args, named)
        complete = len(args) == len(self._slots)
        slots = self._slots if complete else self._input_slots
        if len(args) != len(slots):
            raise wrong_count(self.name, self._slots, self._input_slots, len(args))
        row: list[Any] = self._row.copy()
        sizes: dict[str, int] = {}
        given = self._check(row, slots, args, sizes)
        if self._updated_in_place or (
            complete and (len(set(map(id, given))) != len(given) or any(a.base is not None for a in given))
        ):
            # arrays that own their memory overlap only if they are the same object
            self._refuse_overlap(slots, given)
        if complete and self._static_key is not None:
            return row, ()
        plan = self._fit(row, sizes, slots, given)
        return row, () if complete else self._make_outputs(row, plan, given)

    def _refuse_overlap(self, slots: tuple[Slot, ...], given: list[np.ndarray]) -> None:
        """Raise InputError if a written array, including inputs updated in place, overlaps another."""
        arrays: list[tuple[Any, np.ndarray]] = [
            (self._updated_inputs.get(slot.number, slot.array), array)
            for slot, array in zip(_with_array(slots), given, strict=True)
            if slot.number not in self._updated_in_place
        ]
        arguments.refuse_overlap(self.name, arrays)

    def _check(
        self, row: list[Any], slots: tuple[Slot, ...], args: tuple[Any, ...], sizes: dict[str, int]
    ) -> list[np.ndarray]:
        """Check the arguments and store them in ``row``, and their sizes in ``sizes``; returns the arrays as
        they are passed."""
        given: list[np.ndarray] = []
        for slot, value in zip(slots, args):  # noqa: B905  (equal lengths, by _bind; strict= is slower)
            expected = slot.array
            if expected is None:
                row[slot.place] = self._scalar(slot.parameter, value, sizes)
                continue
            if value.__class__ is not np.ndarray or value.dtype is not expected.dtype:
                value = arguments.accept(self.name, expected, value)
            if value.shape != expected.shape:
                arguments.read_sizes(self.name, expected, value.shape, sizes)
            try:
                row[slot.place] = _from_buffer(_CHARS, value, expected.is_output)
            except (ValueError, BufferError):  # strided or read-only
                value = arguments.accept(self.name, expected, value)
                row[slot.place] = _from_buffer(_CHARS, value, expected.is_output)
            given.append(value)
        for output, source in self._updated_in_place.items():
            self._check_updated_in_place(slots, args, given, source, output)
        return given

    def _check_updated_in_place(
        self,
        slots: tuple[Slot, ...],
        args: tuple[Any, ...],
        given: list[np.ndarray],
        source: int,
        output: int,
    ) -> None:
        """Check an input that is updated in place: it is passed without a copy, and its output is the same
        array, if passed."""
        numbers = [slot.number for slot in slots if slot.array is not None]
        place, name = numbers.index(source), self.signature.arrays[source].name
        array = arguments.accept(self.name, ArrayParameter(self.signature.arrays[output]), given[place])
        arrays = [value for slot, value in zip(slots, args, strict=True) if slot.array is not None]
        if (
            isinstance(arrays[place], np.ndarray)
            and not np.shares_memory(array, arrays[place])
            and array.size
        ):
            raise InputError(
                f"{self.name}: input {name!r} is updated in place, expected a dense, aligned array"
            )
        if output in numbers and given[numbers.index(output)].ctypes.data != array.ctypes.data:
            raise InputError(
                f"{self.name}: output {self.signature.arrays[output].name!r} is input {name!r} updated in "
                "place, expected the same array"
            )

    def _scalar(self, parameter: Parameter, value: Any, sizes: dict[str, int]) -> int | float:
        number = arguments.scalar(self.name, parameter, value)
        known = sizes.setdefault(parameter.name, number) if isinstance(number, int) else number
        if known != number:
            raise InputError(
                f"{self.name}: size {parameter.name!r} is {known} by an array's shape, and {number} as given"
            )
        return number

    def _fit(
        self, row: list[Any], sizes: dict[str, int], slots: tuple[Slot, ...], given: Sequence[np.ndarray]
    ) -> Plan:
        """The plan for these sizes, which are stored in ``row``; InputError if ``given`` do not fit it."""
        if self._static_key is not None:
            if self._static_plan is None:
                self._static_plan = self._planner.plan(self._static_key)
            return self._static_plan
        for place, name in self._size_places:
            if name not in sizes:
                raise InputError(
                    f"{self.name}: size {name!r} does not follow from the shape of any array given"
                )
            row[place] = sizes[name]
        plan = self._planner.plan(tuple([row[place] for place, _ in self._size_places]))
        for slot, array in zip(_with_array(slots), given, strict=True):
            wanted = plan.shapes[slot.number]
            if array.shape != wanted:
                raise arguments.wrong_shape(self.name, slot.array, array.shape, wanted)
        return plan

    def _make_outputs(
        self, row: list[Any], plan: Plan, given: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        outputs = []
        numbers = (
            [slot.number for slot in self._input_slots if slot.array is not None]
            if self._updated_in_place
            else []
        )
        for slot in self._output_slots:
            if slot.array is not None and slot.number in self._updated_in_place:
                made = given[numbers.index(self._updated_in_place[slot.number])]
                row[slot.place] = _from_buffer(_CHARS, made, True)
                outputs.append(made)
            elif slot.array is not None:
                made = arguments.allocate(self.name, slot.array, plan.shapes[slot.number])
                row[slot.place] = _from_buffer(_CHARS, made, True)
                outputs.append(made)
        return tuple(outputs)

    def _take_scratch(self, row: list[Any]) -> Scratch | None:
        """Store workspace and threads in ``row``; the result must be released with ``_put_scratch``."""
        if self._scratch is None:
            return None
        scratch = self._scratch.take()
        try:
            workspace = self.signature.workspace
            if workspace is None:
                sizes = tuple([row[place] for place, _ in self._size_places])
                workspace = self._planner.plan(sizes, scratch.threads).workspace
            scratch.grow(workspace, self.name)
        except BaseException:
            self._scratch.put(scratch)
            raise
        if self._workspace_place is not None:
            row[self._workspace_place] = scratch.address
        if self._threads_place is not None:
            row[self._threads_place] = scratch.threads
        return scratch

    def _put_scratch(self, scratch: Scratch | None) -> None:
        if scratch is not None and self._scratch is not None:
            self._scratch.put(scratch)

    def __repr__(self) -> str:
        return f"CompiledFunction({self.signature.c_prototype()})"


def _refuse(signature: Signature, names: Sequence[str], code: int, *sizes: int) -> None:
    """``check_code`` for a call with these ``sizes``, named ``names``."""
    check_code(signature, code, list(zip(names, sizes, strict=True)))


def _with_array(slots: Sequence[Slot]) -> list[Any]:
    return [slot for slot in slots if slot.array is not None]
