"""The compiled entry of a graph: one function that calls its kernels in order, without an interpreter.

The location of each value (``buffer_placement``) is fixed at compile time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core import config
from tvmlite.core.abi import symbols
from tvmlite.core.abi.signature import TOO_SMALL
from tvmlite.core.errors import TypeInferError, UnsupportedError, VerifyError
from tvmlite.core.node import postorder, substitute
from tvmlite.relay.entry import labels, memory
from tvmlite.relay.entry.buffer_placement import BufferPlacement, Constants, Home, binds, buffer_of, slot_type
from tvmlite.relay.entry.lower import dimensions
from tvmlite.relay.entry.memory import Slot, slots_of, tensor_types
from tvmlite.relay.entry.placement import MemoryPolicy
from tvmlite.relay.entry.step_order import reordered
from tvmlite.relay.ir.blocks import Bind, Block, Branch, Repeat, Run, order, steps_of
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import negative_extent, takes_too_long, too_many_iterations
from tvmlite.relay.ir.nodes import UNLIMITED_TRIP_COUNT, Call, Function, Loop, Module, Tuple, Var
from tvmlite.relay.ir.types import TensorType, num_elements
from tvmlite.relay.ops.assume import runtime_checks
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.overflow import or_overflow

_DEFAULT_POLICY = MemoryPolicy()


@dataclass(frozen=True)
class KernelInterface:
    """What the caller of a kernel must know: its symbol, and its arguments other than buffers.

    ``sizes`` are passed after the buffers; ``workspace`` is in bytes, None if it needs none. ``sweeps``: its
    loops alternate in direction from one run to the next (``loop.SWEEP``).
    """

    symbol: str
    sizes: tuple[e.Expr, ...]
    workspace: e.Expr | None
    messages: tuple[str, ...]
    sweeps: bool = False

    def at(self, extents: dict[e.SizeVar, e.Expr]) -> KernelInterface:
        """This interface with the kernel's dimensions replaced by these values."""
        sizes = tuple(substitute(size, extents) for size in self.sizes)
        workspace = None if self.workspace is None else substitute(self.workspace, extents)
        return KernelInterface(self.symbol, sizes, workspace, self.messages, self.sweeps)


def build_entry(
    module: Module,
    name: str,
    kernels: Mapping[Function, KernelInterface],
    policy: MemoryPolicy = _DEFAULT_POLICY,
) -> tuple[loop.Function, Constants]:
    """The entry of a fused ``module``, in legal loop IR, and the constants it refers to.

    ``kernels`` maps each fused group to its kernel. The entry's parameters are the module's inputs, then its
    outputs; its sizes are the dimensions in the inputs' shapes. Outputs whose extents come from data are not
    parameters: the entry leaves them in the workspace and reports their offsets. With a compact ``policy``
    the calls are reordered; the attribute ``labels`` lists them in the new order.
    """
    main = module.main
    for param in main.params:
        if not isinstance(param.type, TensorType):
            raise UnsupportedError(
                f"parameter {param.name} is of type {param.type}; those of compiled functions are tensors",
                param.span,
                hint="give each of its fields a parameter, or interpret the function",
            )
    root, scratch = order(main), {}
    if policy.compact:
        scratch = _scratch_of(root, kernels)
        root = reordered(root, scratch, policy.alignment)
    sizes = _input_dimensions(main, root)
    placement = BufferPlacement(main, root, output_names(module, len(slots_of(main.body))), policy, scratch)
    attrs = _in_place(module, root, placement)
    statements = _Statements(placement, kernels, root)
    body = statements.body()
    if policy.compact:
        groups = [run.call.op for run in statements.runs if isinstance(run.call.op, Function)]
        attrs = (*attrs, ("labels", tuple(map(labels.label, groups))))
    called = [kernels[run.call.op] for run in statements.runs if isinstance(run.call.op, Function)]
    function = loop.Function(
        name,
        (*placement.inputs, *(one for one in placement.outputs if one.scope == "param")),
        tuple(placement.outputs),
        sizes,
        body,
        statements.workspace(),
        tuple(statements.messages),
        tuple(one.symbol for one in called),
        attrs=attrs,
        dynamic_outputs=placement.dynamic_outputs,
        counts_runs=any(one.sweeps for one in called),
    )
    return function, placement.constants


def _scratch_of(root: Block, kernels: Mapping[Function, KernelInterface]) -> dict[Call, int]:
    """The bytes of scratch memory that each call in ``root`` needs while it runs, if they are a number."""
    found = {}
    for step in root.steps:
        if isinstance(step, Run) and isinstance(step.call.op, Function):
            size = kernels[step.call.op].workspace
            if isinstance(size, e.Const):
                found[step.call] = int(size.value)
    return found


def _in_place(module: Module, root: Block, placement: BufferPlacement) -> tuple[tuple[str, Any], ...]:
    """The attribute of an entry that maps outputs to the inputs whose memory they are in.

    A VerifyError if a group stores its result over an input and no output is declared to be there.
    """
    main, declared = module.main, dict(dict(module.attrs).get(memory.IN_PLACE, ()))
    results = zip(slots_of(main.body), output_names(module, len(placement.outputs)), strict=True)
    known = {slot[0]: declared.get(name) for slot, name in results}
    for _, step in steps_of(root):
        shared = memory.in_place(step.call) if isinstance(step, Run) else None
        if shared is None:
            continue
        assert isinstance(step, Run)
        given = step.call.args[shared]
        if isinstance(given, Var) and known.get(step.call) != given.name:
            raise VerifyError(
                f"{memory.IN_PLACE}={shared} of a group: its result would overwrite input {given.name!r}, "
                f"but no output is declared to be in its memory",
                step.call.span,
                hint="relay.passes.update_in_place declares it",
            )
    inputs = {p.name: buffer for p, buffer in zip(main.params, placement.inputs, strict=True)}
    names = output_names(module, len(placement.outputs))
    rows = [(b, inputs[declared[n]]) for n, b in zip(names, placement.outputs, strict=True) if n in declared]
    return ((memory.IN_PLACE, tuple(rows)),) if rows else ()


def output_names(module: Module, count: int) -> list[str]:
    """The names of the ``count`` outputs: the model's, or ``output0``, ``output1``, ..."""
    known = module.output_names
    return [known[i] if i < len(known) else f"output{i}" for i in range(count)]


class _Statements:
    """Builds the statements of the entry: kernel calls in the order of blocks, on views of the values."""

    def __init__(
        self, placement: BufferPlacement, kernels: Mapping[Function, KernelInterface], root: Block
    ) -> None:
        self.placement, self.plan, self.kernels, self.root = placement, placement.plan, kernels, root
        self.messages: list[str] = []
        self.runs: list[Run] = []
        self.scratch: dict[Bind | None, e.Expr] = {}

    def body(self) -> loop.Stmt:
        """All statements of the entry."""
        return self._block(self.root, None, self._report_outputs)

    def workspace(self) -> e.Expr | None:
        """The workspace in bytes: values of sizes known at the start, then the largest scratch of kernels."""
        total = arith.simplify(self._frame_end_with_scratch(None))
        dynamic = self.placement.dynamic_outputs is not None
        return None if e.is_const(total, 0) and None not in self.scratch and not dynamic else total

    def _frame_end_with_scratch(self, frame: Bind | None) -> e.Expr:
        """The end of a frame in bytes, with the scratch of the kernels called while it is the last."""
        top = self._frame_end(frame)
        return top + self.scratch[frame] if frame in self.scratch else top

    def _frame_end(self, frame: Bind | None) -> e.Expr:
        if frame is None:
            return e.convert(self.plan.size, e.INDEX)
        one = self.plan.frames[frame]
        return one.base + e.convert(one.size, e.INDEX)

    def _block(self, block: Block, frame: Bind | None, last: Callable[[], list[loop.Stmt]]) -> loop.Stmt:
        """The steps of ``block``, then ``last``. A step that binds names encloses the steps after it."""
        levels: list[tuple[Callable[[loop.Stmt], loop.Stmt], list[loop.Stmt]]] = [(lambda inner: inner, [])]
        for step in block.steps:
            match step:
                case Run(call):
                    levels[-1][1].append(self._run(step, call, frame))
                case Branch():
                    levels[-1][1].append(self._branch(step, frame))
                case Bind():
                    frame = step
                    levels.append((self._bind(step), []))
                case Repeat():
                    levels[-1][1].append(self._repeat(step, frame))
                    levels.append((self._with_iteration_count(step.node), []))
        levels[-1][1].extend(self._copy(slot, home) for slot, home in self.placement.copies.get(block, ()))
        levels[-1][1].extend(last())
        made: loop.Stmt | None = None
        for wrap, statements in reversed(levels):
            made = wrap(loop.Seq((*statements, *([] if made is None else [made]))))
        assert made is not None
        return made

    def _run(self, run: Run, node: Call, frame: Bind | None) -> loop.Stmt:
        """The kernel call of ``node``, with views of its operands and results."""
        if not isinstance(node.op, Function):
            raise UnsupportedError(f"operator {node.op!r} outside a fused group", node.span)
        interface = self.kernels[node.op]
        shared = memory.in_place(node)
        args = [arg for position, arg in enumerate(node.args) if position != shared]
        places = [self.placement.place(slot) for arg in args for slot in slots_of(arg)]
        places += [self.placement.place((node, i)) for i in range(len(tensor_types(type_of(node))))]
        statement: loop.Stmt = loop.CallKernel(
            interface.symbol,
            tuple(buffer for buffer, _ in places),
            interface.sizes,
            None if interface.workspace is None else self._scratch_place(node, frame),
            len(self.messages),
            len(self.runs),
        )
        self.runs.append(run)
        self.messages.extend(_message_prefix(node.op) + message for message in interface.messages)
        if interface.workspace is not None:
            so_far = self.scratch.get(frame)
            planned = (node, memory.SCRATCH) in self.plan.offsets
            needed = e.const(0, e.INDEX) if planned else interface.workspace
            self.scratch[frame] = needed if so_far is None else e.Max(*e.match(so_far, needed))
        return _with_views(places, statement)

    def _bind(self, step: Bind) -> Callable[[loop.Stmt], loop.Stmt]:
        """A wrapper that binds the dimensions of ``step`` and begins their frame, for the steps after it."""
        node = step.node
        with_value, read = self._read(slots_of(node.value)[0], "extents")
        checks = [self._require(read(k) >= 0, negative_extent(node, d)) for k, d in enumerate(node.dims)]

        def wrap(inner: loop.Stmt) -> loop.Stmt:
            inner = self._in_frame(step, inner)
            for k, dim in reversed(list(enumerate(node.dims))):
                inner = loop.Let(dim, read(k), inner)
            return with_value(loop.Seq((*checks, inner)))

        return wrap

    def _in_frame(self, step: Bind, inner: loop.Stmt) -> loop.Stmt:
        """``inner`` after a check that the workspace has room for the frame."""
        frame = self.plan.frames[step]
        if frame.size != 0 or step in self.scratch:
            needed = e.Var("needed", e.INDEX)
            enough = e.And(needed >= 0, needed <= loop.CAPACITY)
            check = (
                loop.Store(self._outputs_buffer(), (e.const(0, e.INDEX),), needed),
                self._require(enough, TOO_SMALL),
                inner,
            )
            inner = loop.Let(
                needed, or_overflow(arith.simplify(self._frame_end_with_scratch(step))), loop.Seq(check)
            )
        return loop.Let(frame.base, e.convert(frame.start, e.INDEX), inner)

    def _scratch_place(self, node: Call, frame: Bind | None) -> e.Expr:
        """The offset of the scratch memory of ``node``: as planned, or after all values."""
        planned = self.plan.offsets.get((node, memory.SCRATCH))
        return self._frame_end(frame) if planned is None else e.convert(planned, e.INDEX)

    def _branch(self, step: Branch, frame: Bind | None) -> loop.Stmt:
        with_condition, read = self._read(slots_of(step.node.condition)[0], "condition")
        then = self._block(step.then, frame, list)
        return with_condition(loop.If(read(0), then, self._block(step.otherwise, frame, list)))

    def _repeat(self, step: Repeat, frame: Bind | None) -> loop.Stmt:
        """The loop of ``step``; its initial states are stored where even iterations read them."""
        node = step.node
        iteration = self.placement.variables[node, "iteration"] = e.Var("turn", e.INDEX)
        self.placement.variables[node, "iterations"] = e.Var("turns", e.INDEX)
        begin = [
            self._copy(slots_of(first)[0], (node, k), at=e.convert(self.plan.offsets[node, k], e.INDEX))
            for k, first in enumerate(node.initial)
        ]
        count = len(tensor_types(type_of(node)))
        with_count, read_count, put_count = self._scalar_view((node, count - 1), "count")
        with_index, _, put_index = self._scalar_view((node.index, 0), "index")
        start = with_index(put_index(iteration))
        trip_count = e.convert(node.trip_count, e.INDEX)
        timed, time_check = self._time_limit(node, trip_count)
        if node.condition is None:
            body = loop.Seq((*time_check, start, self._block(step.body, frame, list)))
            end = with_count(put_count(e.Max(trip_count, e.const(0, e.INDEX))))
            return loop.Seq((*begin, timed(loop.For(iteration, e.const(0, e.INDEX), trip_count, body)), end))
        with_go, read_go, put_go = self._scalar_view((node, count), "go")
        with_first, read_first = self._read(slots_of(node.condition)[0], "condition")
        with_on, read_on = self._read(slots_of(step.body.result)[0], "on")

        def finish() -> list[loop.Stmt]:
            on = put_go(e.And(read_on(0), iteration + 1 < trip_count))
            return [with_on(on), put_count(iteration + 1)]

        limit = self._require(iteration < config.loop_limit(), too_many_iterations(node))
        body = loop.Seq((limit, *time_check, start, self._block(step.body, frame, finish)))
        repeated = loop.While(read_go(), loop.Let(iteration, read_count(), body))
        first = with_first(put_go(e.And(read_first(0), e.const(0, e.INDEX) < trip_count)))
        zero = put_count(e.const(0, e.INDEX))
        return with_count(with_go(loop.Seq((*begin, zero, first, timed(repeated)))))

    def _time_limit(
        self, node: Loop, trip_count: e.Expr
    ) -> tuple[Callable[[loop.Stmt], loop.Stmt], tuple[loop.Stmt, ...]]:
        """A wrapper that records a loop's start, and each iteration's check of the time limit, if needed."""
        if isinstance(trip_count, e.Const) and trip_count.value < UNLIMITED_TRIP_COUNT:
            return lambda inner: inner, ()
        began = e.Var("began", e.INDEX)
        within = _clock() - began <= config.loop_seconds() * 10**9
        check = self._require(within, takes_too_long(node))
        if not isinstance(trip_count, e.Const):
            check = loop.If(trip_count >= UNLIMITED_TRIP_COUNT, check)
        return lambda inner: loop.Let(began, _clock(), inner), (check,)

    def _with_iteration_count(self, node: Loop) -> Callable[[loop.Stmt], loop.Stmt]:
        """A wrapper that binds the loop's number of iterations around the statements after it."""
        with_count, read, _ = self._scalar_view((node, len(tensor_types(type_of(node))) - 1), "count")
        return lambda inner: with_count(loop.Let(self.placement.variables[node, "iterations"], read(), inner))

    def _report_outputs(self) -> list[loop.Stmt]:
        """Store the offsets and extents of the outputs for which the caller passes no memory."""
        numbers: list[e.Expr] = []
        for slot, type_ in self.placement.data_dependent:
            _, offset = self.placement.place(slot)
            assert offset is not None
            numbers += [offset, *(e.convert(d, e.INDEX) for d in type_.shape)]
        return [
            loop.Store(self._outputs_buffer(), (e.const(k, e.INDEX),), number)
            for k, number in enumerate(numbers, 1)
        ]

    # --- parts of statements ---

    def _outputs_buffer(self) -> loop.Buffer:
        assert self.placement.dynamic_outputs is not None
        return self.placement.dynamic_outputs

    def _require(self, condition: e.Expr, message: str) -> loop.Stmt:
        if message not in self.messages:
            self.messages.append(message)
        return loop.Assert(condition, message)

    def _read(
        self, slot: Slot, label: str
    ) -> tuple[Callable[[loop.Stmt], loop.Stmt], Callable[[int], e.Expr]]:
        """A wrapper that makes a view of a value named ``label``, and a function that loads an element."""
        buffer, offset = self.placement.place(slot)
        if offset is not None:
            buffer = dataclasses.replace(buffer, name=label)
        places = [(buffer, offset)]
        return lambda inner: _with_views(places, inner), lambda k: loop.Load(buffer, (e.const(k, e.INDEX),))

    def _scalar_view(
        self, slot: Slot, label: str
    ) -> tuple[Callable[[loop.Stmt], loop.Stmt], Callable[[], e.Expr], Callable[[e.Expr], loop.Stmt]]:
        """A wrapper that makes a view of a scalar of a loop, and functions that load and store it."""
        type_ = TensorType((), "bool") if label == "go" else TensorType((), e.INDEX)
        buffer = buffer_of(label, type_, "view", self.placement.alignment)
        at = (e.const(0, e.INDEX),)
        return (
            lambda inner: loop.View(buffer, e.convert(self.plan.offsets[slot], e.INDEX), inner),
            lambda: loop.Load(buffer, at),
            lambda value: loop.Store(buffer, at, value),
        )

    def _copy(self, slot: Slot, home: Home, at: e.Expr | None = None) -> loop.Stmt:
        """Copy a value, element by element, to ``home`` (or to byte ``at``)."""
        type_ = slot_type(slot)
        source, source_at = self.placement.place(slot)
        if at is not None:
            target = buffer_of("copied", type_, "view", self.placement.alignment)
        elif isinstance(home, tuple):
            target, at = self.placement.place(home)
        else:
            target, at = self.placement.at(home, type_, "copied", (Tuple(()), 0))
        if target is source or at is not None:
            target = dataclasses.replace(target, name="copied")
        index = e.Var("i", e.INDEX)
        store = loop.Store(target, (index,), loop.Load(source, (index,)))
        count = e.convert(num_elements(type_.shape), e.INDEX)
        return _with_views(
            [(source, source_at), (target, at)], loop.For(index, e.const(0, e.INDEX), count, store)
        )


def _clock() -> e.Expr:
    """The current time of a monotonic clock in nanoseconds."""
    return e.Foreign("c", symbols.NOW, (), e.INDEX)


def _message_prefix(group: Function) -> str:
    """The prefix of a kernel's messages, the model's nodes: kernels are shared, so only callers know them."""
    calls = [n for n in postorder(group.body) if isinstance(n, Call) and n.span is not None]
    checked = [n for n in calls if runtime_checks(n)]
    notes = dict.fromkeys(n.span.note for n in checked or calls[-1:] if n.span and n.span.note)
    return f"{', '.join(notes)}: " if notes else ""


def _with_views(places: Sequence[tuple[loop.Buffer, e.Expr | None]], inner: loop.Stmt) -> loop.Stmt:
    """``inner`` with views of the buffers that have an offset."""
    for buffer, offset in dict(places).items():
        if offset is not None:
            inner = loop.View(buffer, offset, inner)
    return inner


def _input_dimensions(main: Function, root: Block) -> tuple[e.Var, ...]:
    """The dimensions that are an extent of an input, in order; it is an error if one is bound nowhere."""
    bound = dict.fromkeys(
        d
        for p in main.params
        if isinstance(p.type, TensorType)
        for d in p.type.shape
        if isinstance(d, e.SizeVar)
    )
    from_data = {d for bind in binds(root) for d in bind.node.dims}
    for size in dimensions(main):
        if size not in bound and size not in from_data:
            raise TypeInferError(f"dimension {size.name!r} is not an extent of any input", main.span)
    return tuple(bound)
