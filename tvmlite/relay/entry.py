"""The compiled entry of a graph: one function that calls its kernels in order, nothing interpreted.

Every intermediate value has its place in one workspace (``memory.plan``), every constant its place in
one blob, and both places are known to the entry at compile time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tvmlite.core import abi
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay import memory
from tvmlite.relay.infer import type_of
from tvmlite.relay.ir import Call, Constant, Expr, Function, Module, Tuple, TupleGetItem
from tvmlite.relay.lower import dimensions
from tvmlite.relay.types import TensorType, TupleType, Type
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop


@dataclass(frozen=True)
class KernelInterface:
    """What a caller of a kernel must know: its symbol and what it takes besides buffers.

    ``sizes`` are passed after the buffers; ``workspace`` is in bytes, None where it takes none.
    """

    symbol: str
    sizes: tuple[e.Var, ...]
    workspace: e.Expr | None
    messages: tuple[str, ...]


@dataclass
class Constants:
    """The blob of all constants of a model: each array once, aligned to 64 bytes."""

    offsets: dict[Constant, int] = field(default_factory=dict)
    size: int = 0

    def offset(self, constant: Constant) -> int:
        """Where ``constant`` begins in the blob, in bytes; placed at the first call."""
        if constant not in self.offsets:
            self.offsets[constant] = self.size
            self.size = abi.align(self.size + constant.data.nbytes)
        return self.offsets[constant]

    def blob(self) -> np.ndarray:
        """The bytes, uint8, starting at an address that is a multiple of 64."""
        room = np.empty(self.size + abi.WORKSPACE_ALIGNMENT, np.uint8)
        start = -room.ctypes.data % abi.WORKSPACE_ALIGNMENT
        blob = room[start : start + self.size]
        end = 0
        for constant, offset in self.offsets.items():
            blob[end:offset] = 0
            end = offset + constant.data.nbytes
            blob[offset:end] = np.ascontiguousarray(constant.data).reshape(-1).view(np.uint8)
        blob[end:] = 0
        return blob


def build_entry(
    module: Module, name: str, kernels: Mapping[Function, KernelInterface]
) -> tuple[loop.Function, Constants]:
    """The entry of a fused ``module``, in legal loop IR, and the constants it refers to.

    ``kernels`` gives the kernel of each fused group. The entry's parameters are the module's inputs,
    then its outputs; its sizes are the dimensions found in the inputs' shapes.
    """
    main = module.main
    builder = _EntryBuilder(main, name, kernels, memory.plan(main))
    builder.place_outputs(output_names(module, len(_values(main.body))))
    calls = [n for n in postorder(main.body) if isinstance(n, Call) and not memory.is_view(n)]
    body = [builder.call(node, slot) for slot, node in enumerate(calls)]
    sizes = _bound_sizes(main)
    outputs = tuple(builder.outputs)
    function = loop.Function(
        name,
        (*builder.inputs, *outputs),
        outputs,
        sizes,
        loop.Seq(tuple(body)),
        builder.workspace(),
        tuple(builder.messages),
        tuple(kernels[n.op].symbol for n in calls if isinstance(n.op, Function)),
    )
    return function, builder.constants


class _EntryBuilder:
    """Where each value of ``main`` lives, and the calls that make it."""

    def __init__(
        self, main: Function, name: str, kernels: Mapping[Function, KernelInterface], plan: memory.MemoryPlan
    ) -> None:
        self.main, self.kernels, self.plan = main, kernels, plan
        self.constants = Constants()
        self.messages: list[str] = []
        self.scratch: e.Expr | None = None
        names = abi.unique_names({p: p.name for p in main.params})
        self.buffers: dict[tuple[Expr, int], loop.Buffer] = {
            (p, 0): _buffer(names[p], p.type, "param") for p in main.params
        }
        self.inputs = [self.buffers[p, 0] for p in main.params]
        self.outputs: list[loop.Buffer] = []
        self.taken = {b.name for b in self.inputs}

    def place_outputs(self, names: Sequence[str]) -> None:
        """Give each output a parameter; the call that makes it writes there."""
        for index, value in enumerate(_values(self.main.body)):
            wanted = names[index]
            label = _fresh(wanted, self.taken)
            self.taken.add(label)
            key = resolve(value)
            assert key not in self.buffers, "an output is a parameter or another output: copy it first"
            self.buffers[key] = _buffer(label, type_of(value), "param")
            self.outputs.append(self.buffers[key])

    def call(self, node: Call, slot: int) -> loop.Stmt:
        """The kernel call of ``node``, with views of the memory it needs."""
        if not isinstance(node.op, Function):
            raise UnsupportedError(f"operator {node.op!r} outside a fused group", node.span)
        interface = self.kernels[node.op]
        places: list[tuple[loop.Buffer, e.Expr]] = []
        arguments = [self._argument(a, places) for a in node.args]
        arguments += [self._result(node, i, t, places) for i, t in enumerate(tensor_types(type_of(node)))]
        statement: loop.Stmt = loop.CallKernel(
            interface.symbol,
            tuple(arguments),
            interface.sizes,
            None if interface.workspace is None else e.convert(self.plan.size, e.INDEX),
            len(self.messages),
            slot,
        )
        self.messages.extend(_place(node.op) + message for message in interface.messages)
        if interface.workspace is not None:
            needed = interface.workspace
            self.scratch = needed if self.scratch is None else e.Max(*e.match(self.scratch, needed))
        for buffer, offset in dict(places).items():
            statement = loop.View(buffer, offset, statement)
        return statement

    def workspace(self) -> e.Expr | None:
        """Bytes: the intermediates, then the largest scratch of any kernel."""
        total = e.convert(self.plan.size, e.INDEX)
        if self.scratch is not None:
            total = total + self.scratch
        total = arith.simplify(total)
        return None if e.is_const(total, 0) and self.scratch is None else total

    def _argument(self, value: Expr, places: list[tuple[loop.Buffer, e.Expr]]) -> loop.Buffer:
        key = resolve(value)
        if key in self.buffers and self.buffers[key].scope == "param":
            return self.buffers[key]
        source = key[0]
        if isinstance(source, Constant):
            if key not in self.buffers:
                self.buffers[key] = _buffer(
                    f"constant{len(self.constants.offsets)}", type_of(source), "constant"
                )
            places.append((self.buffers[key], e.const(self.constants.offset(source), e.INDEX)))
        else:
            places.append((self.buffers[key], e.convert(self.plan.offsets[key], e.INDEX)))
        return self.buffers[key]

    def _result(
        self, node: Call, index: int, type_: TensorType, places: list[tuple[loop.Buffer, e.Expr]]
    ) -> loop.Buffer:
        key = (node, index)
        if key not in self.buffers:
            self.buffers[key] = _buffer(f"value{len(self.buffers)}", type_, "view")
        buffer = self.buffers[key]
        if buffer.scope == "view":
            places.append((buffer, e.convert(self.plan.offsets[key], e.INDEX)))
        return buffer


def _place(group: Function) -> str:
    """What a kernel's messages begin with: kernels are shared, so only their callers know the node."""
    notes = [n.span.note for n in postorder(group.body) if isinstance(n, Call) and n.span is not None]
    return f"{notes[-1]}: " if notes and notes[-1] else ""


def resolve(value: Expr) -> tuple[Expr, int]:
    """The node that makes ``value``, a tensor, and which of its results it is."""
    (slot,) = memory.slots_of(value)
    return slot


def tensor_types(type_: Type) -> tuple[TensorType, ...]:
    """The tensors of ``type_``: itself, or a tuple's fields."""
    fields = type_.fields if isinstance(type_, TupleType) else (type_,)
    assert all(isinstance(t, TensorType) for t in fields), "a kernel's results are tensors"
    return fields  # type: ignore[return-value]


def output_names(module: Module, count: int) -> list[str]:
    """The names of the ``count`` outputs: the model's own, or ``output0``, ``output1``, ..."""
    known = module.output_names
    return [known[i] if i < len(known) else f"output{i}" for i in range(count)]


def _values(body: Expr) -> tuple[Expr, ...]:
    """The outputs of a function with this body, one expression each."""
    if isinstance(body, Tuple):
        return body.fields
    type_ = type_of(body)
    if isinstance(type_, TupleType):
        return tuple(TupleGetItem(body, i) for i in range(len(type_.fields)))
    return (body,)


def _buffer(name: str, type_: Type, scope: str) -> loop.Buffer:
    assert isinstance(type_, TensorType)
    alignment = dtypes.bytes_of(type_.dtype) if scope == "param" else abi.WORKSPACE_ALIGNMENT
    shape = tuple(e.convert(d, e.INDEX) for d in type_.shape)
    return loop.Buffer(name, type_.dtype, shape, scope, (), alignment)


def _fresh(wanted: str, taken: set[str]) -> str:
    names = abi.unique_names({**{n: n for n in sorted(taken)}, "": wanted})
    return names[""]


def _bound_sizes(main: Function) -> tuple[e.Var, ...]:
    """The dimensions that are a whole extent of an input, in order; an unbound one is an error."""
    bound = dict.fromkeys(
        d
        for p in main.params
        if isinstance(p.type, TensorType)
        for d in p.type.shape
        if isinstance(d, e.SizeVar)
    )
    for size in dimensions(main):
        if size not in bound:
            raise TypeInferError(f"dimension {size.name!r} is not an extent of any input", main.span)
    return tuple(bound)
