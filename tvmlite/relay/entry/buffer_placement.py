"""The location of each value of a graph while its entry runs: a parameter, the workspace, or the constants.

Every intermediate value has an offset in one workspace (``memory.plan``), every constant an offset in one
blob. An output is computed in its parameter, or copied there at the end of the block whose result it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, Union

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi import symbols
from tvmlite.relay.entry import memory
from tvmlite.relay.entry.memory import Slot, slots_of, tensor_types
from tvmlite.relay.entry.placement import MemoryPolicy
from tvmlite.relay.ir.blocks import Bind, Block, Branch, Repeat, Run, Step, steps_of
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Loop
from tvmlite.relay.ir.types import TensorType, Type, dims_of, num_elements
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop

_DEFAULT_POLICY = MemoryPolicy()
_NO_SCRATCH: Mapping[Call, int] = {}


@dataclass
class Constants:
    """The blob of all constants of a model: each array once, aligned to 64 bytes."""

    offsets: dict[Constant, int] = field(default_factory=dict)
    size: int = 0
    _blob: np.ndarray | None = field(default=None, repr=False)

    def offset(self, constant: Constant) -> int:
        """The offset of ``constant`` in the blob, in bytes; assigned at the first call."""
        if constant not in self.offsets:
            self.offsets[constant] = self.size
            self.size = symbols.align(self.size + constant.nbytes)
        return self.offsets[constant]

    def blob(self) -> np.ndarray:
        """The bytes, uint8, at an address that is a multiple of 64; the same array at each call."""
        if self._blob is None or self._blob.size != self.size:
            self._blob = self._filled_blob()
        return self._blob

    def copy(self) -> Constants:
        """The same arrays at the same offsets in another blob."""
        made = Constants(self.offsets, self.size)
        made._blob = _aligned_bytes(self.size)
        made._blob[:] = self.blob()
        return made

    def without_blob(self) -> Constants:
        """The same constants at the same offsets, whose blob is created when it is first used."""
        return Constants(self.offsets, self.size)

    def _filled_blob(self) -> np.ndarray:
        blob, end = _aligned_bytes(self.size), 0
        for constant, offset in self.offsets.items():
            blob[end:offset] = 0
            end = offset + constant.nbytes
            constant.write_to(blob[offset:end].view(constant.dtype).reshape(constant.shape))
        blob[end:] = 0
        return blob


def _aligned_bytes(size: int) -> np.ndarray:
    """``size`` bytes, uint8, at an address that is a multiple of ``symbols.WORKSPACE_ALIGNMENT``."""
    room = np.empty(size + symbols.WORKSPACE_ALIGNMENT, np.uint8)
    start = -room.ctypes.data % symbols.WORKSPACE_ALIGNMENT
    return room[start : start + size]


@dataclass(frozen=True)
class LoopState:
    """The home of a result of a loop's body: the state of the next iteration, or the row of this one."""

    loop: Loop
    index: int


Home: TypeAlias = Union[loop.Buffer, Slot, LoopState]
"""Where a value is stored: in a buffer, in the memory of another value, or as a loop's state or row."""


class BufferPlacement:
    """The locations of all values of ``main``, whose blocks are in ``root``; ``names`` are those of the
    outputs.

    ``inputs`` and ``outputs`` are buffers, in order. An output is a parameter, or, if its extents come from
    data, a view in ``data_dependent`` whose offset the entry writes to ``dynamic_outputs``. ``copies`` are
    made at the end of a block. ``variables``, which the builder of a loop sets, are the number of the
    iteration in each loop, and the count of iterations after it.
    """

    def __init__(
        self,
        main: Function,
        root: Block,
        names: Sequence[str],
        policy: MemoryPolicy = _DEFAULT_POLICY,
        scratch: Mapping[Call, int] = _NO_SCRATCH,
    ) -> None:
        self.constants, self.alignment = Constants(), policy.alignment
        unique = symbols.unique_names({p: p.name for p in main.params})
        self.inputs = [buffer_of(unique[p], p.type, "param") for p in main.params]
        self.copies: dict[Block, list[tuple[Slot, Home]]] = {}
        self.variables: dict[tuple[Loop, str], e.Var] = {}
        self.data_dependent: list[tuple[Slot, TensorType]] = []
        self.dynamic_outputs: loop.Buffer | None = None
        self._buffers: dict[Slot, loop.Buffer] = {
            (p, 0): buffer for p, buffer in zip(main.params, self.inputs, strict=True)
        }
        self._homes: dict[Slot, Home] = {}
        self.outputs = self._place_outputs(main, root, names)
        self.plan = memory.plan(root, self._homes, policy, scratch)

    def _place_outputs(self, main: Function, root: Block, names: Sequence[str]) -> list[loop.Buffer]:
        """Each output's buffer: a parameter that a call or a copy writes, or a view of the workspace."""
        outputs: list[loop.Buffer] = []
        used_names = {b.name for b in self.inputs}
        producers = _producers(root)
        dynamic = {d for bind in binds(root) for d in bind.node.dims}
        for slot, type_, wanted in zip(
            slots_of(main.body), tensor_types(type_of(main.body)), names, strict=True
        ):
            label = _unique_name(wanted, used_names)
            used_names.add(label)
            if dynamic.intersection(dims_of(type_.shape)):
                self.data_dependent.append((slot, type_))
                outputs.append(buffer_of(label, type_, "view", self.alignment))
                continue
            outputs.append(buffer_of(label, type_, "param"))
            self._assign_home(slot, outputs[-1], root, producers)
        for _, step in steps_of(root):
            self._assign_result_homes(step, producers)
        if dynamic:
            count = 1 + sum(1 + type_.ndim for _, type_ in self.data_dependent)
            shape = (e.const(count, e.INDEX),)
            self.dynamic_outputs = loop.Buffer("dynamic_outputs", e.INDEX, shape, "param")
        return outputs

    def _assign_home(self, slot: Slot, home: Home, block: Block, producers: Mapping[Expr, Block]) -> None:
        """Let ``block`` compute its result ``slot`` in ``home``, or copy it there at the block's end."""
        if producers.get(slot[0]) is block and slot not in self._homes:
            self._homes[slot] = home
        else:
            self.copies.setdefault(block, []).append((slot, home))

    def _assign_result_homes(self, step: Step, producers: Mapping[Expr, Block]) -> None:
        """Let the results of the blocks in ``step`` be computed where they are read."""
        match step:
            case Branch(node, then, otherwise):
                for inner in (then, otherwise):
                    for index, slot in enumerate(slots_of(inner.result)):
                        self._assign_home(slot, (node, index), inner, producers)
            case Repeat(node, body):
                _continues, *results = slots_of(body.result)
                for index, slot in enumerate(results):
                    self._assign_home(slot, LoopState(node, index), body, producers)

    def place(self, slot: Slot) -> tuple[loop.Buffer, e.Expr | None]:
        """The buffer of a value, and its byte offset in the workspace or the constants."""
        return self.at(self._homes.get(slot, slot), slot_type(slot), f"value{len(self._buffers)}", slot)

    def at(self, home: Home, type_: TensorType, label: str, slot: Slot) -> tuple[loop.Buffer, e.Expr | None]:
        """Like ``place``, for a value with this ``home``; ``label`` is the name of its view."""
        if isinstance(home, loop.Buffer):
            return home, None
        if isinstance(home, LoopState):
            return self._view(slot, type_, label), self._loop_state_offset(home, type_)
        if home != slot:
            return self.place(home)
        node = slot[0]
        if isinstance(node, Constant):
            if slot not in self._buffers:
                self._buffers[slot] = buffer_of(f"constant{len(self.constants.offsets)}", type_, "constant")
            return self._buffers[slot], e.const(self.constants.offset(node), e.INDEX)
        if slot in self._buffers and self._buffers[slot].scope == "param":
            return self._buffers[slot], None
        return self._view(slot, type_, label), self._offset(slot)

    def _view(self, slot: Slot, type_: TensorType, label: str) -> loop.Buffer:
        if slot not in self._buffers:
            self._buffers[slot] = buffer_of(label, type_, "view", self.alignment)
        return self._buffers[slot]

    def _offset(self, slot: Slot) -> e.Expr:
        """The offset of a value whose home is itself."""
        node, index = slot
        if isinstance(node, Loop) and index < len(node.states):
            return self._state_offset(node, index, self.variables[node, "iterations"])
        for owner, _ in self.variables:
            if node in owner.states:
                return self._state_offset(owner, owner.states.index(node), self.variables[owner, "iteration"])
        return e.convert(self.plan.offsets[slot], e.INDEX)

    def _state_offset(self, node: Loop, index: int, iteration: e.Expr) -> e.Expr:
        """The offset of the state after ``iteration`` iterations; even and odd ones have separate places."""
        even, odd = (
            e.convert(self.plan.offsets[s], e.INDEX) for s in ((node, index), (node.states[index], 0))
        )
        return e.Select(e.Equal(iteration % 2, e.const(0, e.INDEX)), even, odd)

    def _loop_state_offset(self, home: LoopState, type_: TensorType) -> e.Expr:
        iteration = self.variables[home.loop, "iteration"]
        if home.index < len(home.loop.states):
            return self._state_offset(home.loop, home.index, iteration + 1)
        bytes_ = dtypes.bytes_of(type_.dtype) * num_elements(type_.shape)
        return e.convert(self.plan.offsets[home.loop, home.index], e.INDEX) + iteration * bytes_


def slot_type(slot: Slot) -> TensorType:
    """The type of a value."""
    node, index = slot
    return tensor_types(type_of(node))[index]


def buffer_of(
    name: str, type_: Type, scope: str, alignment: int = symbols.WORKSPACE_ALIGNMENT
) -> loop.Buffer:
    """A buffer for a value of ``type_``, aligned to ``alignment`` or, for a parameter, to its elements."""
    assert isinstance(type_, TensorType)
    alignment = dtypes.bytes_of(type_.dtype) if scope == "param" else alignment
    shape = tuple(e.convert(d, e.INDEX) for d in type_.shape)
    return loop.Buffer(name, type_.dtype, shape, scope, (), alignment)


def binds(block: Block) -> list[Bind]:
    """The steps in ``block`` and the blocks in it that bind dimensions."""
    return [step for _, step in steps_of(block) if isinstance(step, Bind)]


def _producers(root: Block) -> dict[Expr, Block]:
    """The block that contains each call and each branch."""
    found: dict[Expr, Block] = {}
    for block, step in steps_of(root):
        match step:
            case Run(made) | Branch(made):
                found[made] = block
    return found


def _unique_name(wanted: str, taken: set[str]) -> str:
    names = symbols.unique_names({**{n: n for n in sorted(taken)}, "": wanted})
    return names[""]
