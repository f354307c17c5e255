"""The memory plan of a fused graph: the offset of each intermediate value in one workspace."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.symbols import WORKSPACE_ALIGNMENT, align
from tvmlite.core.errors import UnsupportedError, VerifyError
from tvmlite.relay.entry.placement import MemoryPolicy, place, place_tightly
from tvmlite.relay.ir.blocks import Bind, Block, Branch, Repeat, Run, inner_blocks, steps_of
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function, LetDims, Tuple, TupleGetItem, Var
from tvmlite.relay.ir.op import is_view
from tvmlite.relay.ir.types import Dim, TensorType, TupleType, Type, dims_of, normal_dim, show_dim, show_type
from tvmlite.te import expr as te

__all__ = [
    "IN_PLACE",
    "Frame",
    "Lifetime",
    "MemoryPlan",
    "Slot",
    "last_uses",
    "in_place",
    "plan",
    "slots_of",
    "tensor_types",
]

IN_PLACE = "in_place"
"""The attribute of a group that says which argument its result is stored over (``reuse_operands``)."""

SCRATCH = -1
"""The index that stands for a call's scratch memory in a ``Slot``."""

SMALL_NUMBER = 512
"""A symbolic size of at least this many bytes times dimensions is aligned by rounding up the number; a
smaller one by rounding up the product of the dimensions, which wastes less."""

Slot: TypeAlias = tuple[Expr, int]
"""A value: the node that computes it, and the index of the result.

Besides calls, branches and loops compute values. After a loop's results comes a slot for whether to continue.
The slots of its variables hold the number of the iteration and the states of odd iterations; those of even
iterations are in the slots of the results.
"""


_DEFAULT_POLICY = MemoryPolicy()
_NO_SCRATCH: Mapping[Call, int] = {}


@dataclass(frozen=True)
class Frame:
    """A part of the workspace, ``size`` bytes from byte ``base`` on, whose size is known after ``bind``.

    ``start`` is the end of the enclosing frame, and so the value of the variable ``base``.
    """

    bind: Bind
    base: te.Var
    start: Dim
    size: Dim


@dataclass(frozen=True)
class MemoryPlan:
    """Byte offsets, aligned by the policy, of a function's intermediate values in a workspace of ``size``.

    Values with overlapping lifetimes do not overlap in memory, except for results of groups that are stored
    over an argument (``in_place``). Parameters, constants and views have no offset, nor have the function's
    results, unless their extents come from data. These, and all values with such extents, are in the
    ``frames`` of the workspace, after ``size``: one for each point at which extents become known. Offsets and
    sizes are ints, or int64 expressions over named dimensions and the bases of frames.
    """

    offsets: dict[Slot, Dim]
    size: Dim
    frames: dict[Bind, Frame]


@dataclass(frozen=True)
class Lifetime:
    """The steps during which a value needs memory: from its computation to its last read, both included."""

    slot: Slot
    type: TensorType
    first: int
    last: int


def plan(
    root: Block,
    homes: Container[Slot] = (),
    policy: MemoryPolicy = _DEFAULT_POLICY,
    scratch: Mapping[Call, int] = _NO_SCRATCH,
) -> MemoryPlan:
    """The plan of the function whose steps are those of ``root``; values in ``homes`` are stored elsewhere.

    ``scratch`` is the memory in bytes that calls need while they run; its offset is that of the call's slot
    ``SCRATCH``. Symbolic sizes are multiples of ``WORKSPACE_ALIGNMENT`` under any policy.

    Values whose sizes have the same symbolic part (``4 * h * w`` and ``16 * h * w``) share memory with each
    other; values with different symbolic parts, which cannot be compared, do not.
    """
    liveness = _Liveness(root)
    liveness.fill_in_place(homes)
    frame_of: dict[te.SizeVar, Bind] = {d: bind for bind in liveness.binds for d in bind.node.dims}
    grouped: dict[Bind | None, list[Lifetime]] = {None: [], **{bind: [] for bind in liveness.binds}}
    depths = {bind: depth for depth, bind in enumerate(liveness.binds)}
    for lifetime in liveness.lifetimes():
        if lifetime.slot not in homes:
            frames_needed = {frame_of[d] for d in dims_of(lifetime.type.shape) if d in frame_of}
            grouped[max(frames_needed, key=depths.__getitem__, default=None)].append(lifetime)
    for call, size in scratch.items():
        grouped[None].append(liveness.scratch_lifetime(call, size))
    offsets: dict[Slot, Dim] = {}
    size = _plan_frame(grouped[None], 0, offsets, policy)
    frames: dict[Bind, Frame] = {}
    for bind, enclosing in liveness.binds.items():
        base = te.Var(f"frame{len(frames)}", te.INDEX)
        outer = frames[enclosing] if enclosing is not None else None
        start = size if outer is None else normal_dim(outer.base + outer.size)
        frames[bind] = Frame(bind, base, start, _plan_frame(grouped[bind], base, offsets, policy))
    for slot, owner in liveness.in_place.items():
        assert slot not in homes, "a result that lives elsewhere takes no argument's place"
        offsets[slot] = offsets[owner]
    return MemoryPlan(offsets, size, frames)


def in_place(call: Call) -> int | None:
    """The index of the argument that the result of a group is stored over, or None."""
    return dict(call.op.attrs).get(IN_PLACE) if isinstance(call.op, Function) else None


def last_uses(root: Block) -> dict[Call, list[int]]:
    """The arguments of each call that are in the workspace and that no other call reads from then on.

    They were computed in the block of the call. Calls whose result leaves its block are left out, since the
    result may have another home; so are calls with several results.
    """
    return _Liveness(root).last_uses


def _plan_frame(
    lifetimes: Sequence[Lifetime], base: Dim, offsets: dict[Slot, Dim], policy: MemoryPolicy
) -> Dim:
    """Add offsets from ``base`` on for the values of one frame to ``offsets``; return their total size."""
    families: dict[tuple[str, bool], _Family] = {}
    for lifetime in lifetimes:
        number, symbolic = _factors(lifetime.type)
        symbolic.sort(key=show_dim)
        small = bool(symbolic) and number % WORKSPACE_ALIGNMENT != 0 and number < SMALL_NUMBER
        key = " * ".join(map(show_dim, symbolic)), small
        family = families.setdefault(key, _Family(_symbolic_unit(symbolic, small)))
        family.members.append(lifetime)
        family.sizes.append(
            number if small else align(number, WORKSPACE_ALIGNMENT if symbolic else policy.alignment)
        )
    total: Dim = 0
    for key in sorted(families):
        family = families[key]
        search = place_tightly if policy.compact else place
        places, extent = search([(m.first, m.last) for m in family.members], family.sizes)
        for lifetime, offset in zip(family.members, places, strict=True):
            offsets[lifetime.slot] = normal_dim(base + _sum(total, offset, family.unit))
        total = _sum(total, extent, family.unit)
    return total


@dataclass
class _Family:
    """Values whose sizes are multiples of one ``unit`` of bytes (None: one byte), and so can share memory."""

    unit: te.Expr | None
    members: list[Lifetime] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


class _Liveness:
    """The steps in which each value is computed and last read, and the enclosing frame of each frame
    (``binds``).

    ``last_uses`` is the result of the function; ``in_place`` maps values that are stored over another value
    to the first value in that memory.
    """

    def __init__(self, root: Block) -> None:
        self.binds: dict[Bind, Bind | None] = {}
        self.in_place: dict[Slot, Slot] = {}
        self.last_uses: dict[Call, list[int]] = {}
        self._types: dict[Slot, TensorType] = {}
        self._first: dict[Slot, int] = {}
        self._last: dict[Slot, int] = {}
        self._in_loops: list[tuple[Slot, tuple[Repeat, ...]]] = []
        self._ends: dict[Repeat, int] = {}
        self._loops: tuple[Repeat, ...] = ()
        self._now = 0
        self._block(root, None)
        self._now += 1
        self._read(root.result)
        inside = (inner for _, step in steps_of(root) for inner in inner_blocks(step))
        for block in (root, *inside):
            self._find_last_uses(block)

    def fill_in_place(self, homes: Container[Slot]) -> None:
        """Fill ``in_place`` from the groups' marks; a VerifyError if an argument's memory cannot be reused.

        A result in ``homes``, stored elsewhere, may be in the memory of an input: the entry checks that.
        """
        for call, _ in list(self._first):
            position = in_place(call) if isinstance(call, Call) else None
            if position is None:
                continue
            assert isinstance(call, Call)
            if isinstance(call.args[position], Var) and (call, 0) in homes:
                continue
            if position not in self.last_uses.get(call, ()):
                raise VerifyError(
                    f"{IN_PLACE}={position} of a group: argument {position} is no intermediate value that "
                    "nothing else reads from this call on, or the result leaves its block",
                    call.span,
                    hint="the pass reuse_operands makes these marks",
                )
            (slot,) = slots_of(call.args[position])
            self.in_place[call, 0] = self.in_place.get(slot, slot)

    def scratch_lifetime(self, call: Call, size: int) -> Lifetime:
        """The lifetime of ``size`` bytes that ``call`` needs while it runs."""
        now = self._first[call, 0]
        return Lifetime((call, SCRATCH), TensorType((size,), "uint8"), now, now)

    def lifetimes(self) -> list[Lifetime]:
        """In order of computation. A value computed before a loop and read in it lives to the loop's end."""
        for slot, loops in self._in_loops:
            if slot in self._first:
                ends = [self._ends[one] for one in loops if self._first[slot] < self._first[one.node, 0]]
                self._last[slot] = max([self._last[slot], *ends])
        last = dict(self._last)
        for slot, owner in self.in_place.items():
            last[owner] = max(last[owner], last[slot])
        return [
            Lifetime(slot, self._types[slot], first, last[slot])
            for slot, first in self._first.items()
            if slot not in self.in_place
        ]

    def _find_last_uses(self, block: Block) -> None:
        """Fill ``last_uses`` for the calls of ``block``, after all lifetimes are known."""
        calls = [step.call for step in block.steps if isinstance(step, Run)]
        made = set(calls)
        results = set(slots_of(block.result))
        for call in calls:
            if isinstance(type_of(call), TupleType) or (call, 0) in results:
                continue
            read = [slot for arg in call.args for slot in slots_of(arg)]
            self.last_uses[call] = [
                position
                for position, arg in enumerate(call.args)
                for slot in slots_of(arg)[:1]
                if slot[0] in made and self._last[slot] == self._first[call, 0] and read.count(slot) == 1
            ]

    def _block(self, block: Block, frame: Bind | None) -> None:
        for step in block.steps:
            self._now += 1
            match step:
                case Run(call):
                    for arg in call.args:
                        self._read(arg)
                    self._define(call, tensor_types(type_of(call)))
                case Bind(node):
                    self._read(node.value)
                    self.binds[step] = frame
                    frame = step
                case Branch(node, then, otherwise):
                    self._read(node.condition)
                    self._define(node, tensor_types(type_of(node)))
                    for inner in (then, otherwise):
                        self._block(inner, frame)
                        self._now += 1
                        self._read(inner.result)
                case Repeat():
                    self._repeat(step, frame)

    def _repeat(self, step: Repeat, frame: Bind | None) -> None:
        node = step.node
        for value in (*node.initial, *([] if node.condition is None else [node.condition])):
            self._read(value)
        self._define(node, (*tensor_types(type_of(node)), TensorType((), "bool")))
        for var in (node.index, *node.states):
            self._define(var, tensor_types(var.type))
        self._loops = (*self._loops, step)
        self._block(step.body, frame)
        self._now += 1
        self._read(step.body.result)
        self._loops = self._loops[:-1]
        self._ends[step] = self._now
        result_slots = [(node, k) for k in range(len(tensor_types(type_of(node))) + 1)]
        for slot in (*result_slots, *((var, 0) for var in (node.index, *node.states))):
            self._last[slot] = max(self._last[slot], self._now)

    def _define(self, node: Expr, types: Sequence[TensorType]) -> None:
        for index, type_ in enumerate(types):
            self._types[node, index] = type_
            self._first[node, index] = self._last[node, index] = self._now

    def _read(self, value: Expr) -> None:
        for slot in slots_of(value):
            self._last[slot] = max(self._now, self._last.get(slot, 0))
            if self._loops:
                self._in_loops.append((slot, self._loops))


def slots_of(value: Expr) -> list[Slot]:
    """The slots of the tensors in ``value``, through views, tuples, projections and bound dimensions."""
    path: list[int] = []
    while is_view(value) or isinstance(value, (TupleGetItem, LetDims)) or (isinstance(value, Tuple) and path):
        if isinstance(value, LetDims):
            value = value.body
        elif isinstance(value, Call):
            (value,) = value.args
        elif isinstance(value, TupleGetItem):
            path.append(value.index)
            value = value.value
        elif isinstance(value, Tuple):
            value = value.fields[path.pop()]
    if isinstance(value, Tuple):
        return [slot for field in value.fields for slot in slots_of(field)]
    if path:
        return [(value, path[-1])]
    type_ = type_of(value)
    return [(value, index) for index in range(len(type_.fields) if isinstance(type_, TupleType) else 1)]


def bytes_of(node: Expr, alignment: int) -> dict[Slot, int]:
    """The size of each value of ``node`` in bytes, a multiple of ``alignment``; 0 if it is not a number."""
    made = {}
    for index, type_ in enumerate(tensor_types(type_of(node))):
        number, symbolic = _factors(type_)
        made[node, index] = 0 if symbolic else align(number, alignment)
    return made


def tensor_types(type_: Type) -> tuple[TensorType, ...]:
    """The tensors of ``type_``: itself, or the fields of a tuple. An UnsupportedError for other types."""
    fields = type_.fields if isinstance(type_, TupleType) else (type_,)
    if not all(isinstance(t, TensorType) for t in fields):
        raise UnsupportedError(
            f"a value is of type {show_type(type_)}, which is not compiled",
            hint="only arrays and flat tuples of arrays are compiled: flatten nested tuples",
        )
    return fields  # type: ignore[return-value]


def _factors(type_: TensorType) -> tuple[int, list[te.Expr]]:
    """The size of ``type_`` in bytes, as a number times a list of symbolic factors."""
    number, symbolic = dtypes.bytes_of(type_.dtype), []
    stack: list[Dim] = list(type_.shape)
    while stack:
        match stack.pop():
            case int(extent) | te.Const(value=int(extent)):
                number *= extent
            case te.Mul(a=a, b=b):
                stack.extend((b, a))
            case extent:
                symbolic.append(extent)
    return number, symbolic


def _symbolic_unit(symbolic: Sequence[te.Expr], small: bool) -> te.Expr | None:
    """The symbolic part of a family's sizes; for small numbers, rounded up to a multiple of 64."""
    if not symbolic:
        return None
    product = symbolic[0]
    for factor in symbolic[1:]:
        product = product * factor
    if not small:
        return product
    return (product + (WORKSPACE_ALIGNMENT - 1)) // WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT


def _sum(start: Dim, count: int, unit: te.Expr | None) -> Dim:
    return normal_dim(start + (count if unit is None else unit * count))
