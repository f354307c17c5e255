"""The choice of a layout for each region by the costs of kernels: NeoCPU's global search.

Each region of ``alter_op_layout`` is a variable whose values are its layouts. The cost of a convolution
depends on the layouts it reads and writes, that of poolings and depthwise convolutions on their region's, and
at a border there is the cost of a transform. Element-wise operators do not count: they are fused into these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function, Tuple, Var, canonical
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import windows
from tvmlite.techniques.blocked_conv import layout_rules as rules
from tvmlite.techniques.blocked_conv import tied_operators
from tvmlite.techniques.blocked_conv.tied_operators import Tied
from tvmlite.techniques.blocked_conv.variable_elimination import Table, minimum_cost

Cost = Callable[[Function], float]
"""Seconds of a group's kernel; infinity if not known."""


@dataclass(eq=False)
class Region:
    """Values that have the same layout; ``block`` is its block of channels, 0 for channels-first.

    With blocks, the values in ``borders`` need a transform from or to channels-first. ``gain`` is the number
    of element moves that blocks save.
    """

    values: dict[Expr, None] = field(default_factory=dict)
    gain: float = 0
    borders: dict[Expr, None] = field(default_factory=dict)
    block: int = 0

    def merge(self, other: Region) -> None:
        """Merge ``other`` into this region: its values, its borders and its gain."""
        self.values.update(other.values)
        self.borders.update(other.borders)
        self.gain += other.gain


@dataclass
class Program:
    """The layouts ``blocks`` (0: channels-first) that each region may have, and their costs.

    ``of`` is the region of a value; ``convolutions`` and ``tied`` are the operators that compute blocks.
    """

    blocks: Mapping[Region, Sequence[int]]
    of: Mapping[Expr, Region]
    convolutions: Sequence[Expr]
    tied: Mapping[Expr, Tied]
    target: Target
    cost: Cost
    tables: list[Table[Region]] = field(default_factory=list)

    def solve(self, otherwise: Mapping[Region, int]) -> dict[Region, int]:
        """The block of each region with the least total cost; ``otherwise`` gives it if no cost is known."""
        for node in sorted(self.convolutions, key=_multiply_adds, reverse=True):
            self._add_convolution(node)
        for node, tied in self.tied.items():
            if not tied_operators.is_elementwise(node):
                self._add(self.of[node], partial(_tied_group, node, tied))
        for region in self.blocks:
            for value in region.borders:
                made = value in self.tied or value in self.convolutions
                self._add(region, partial(_transform, value, made))
        sizes = {region: len(blocks) for region, blocks in self.blocks.items()}
        places = {region: list(blocks).index(otherwise[region]) for region, blocks in self.blocks.items()}
        chosen = minimum_cost(sizes, [_with_default(table, places) for table in self.tables], places)
        return {region: self.blocks[region][place] for region, place in chosen.items()}

    def _add_convolution(self, node: Expr) -> None:
        """Add the costs of the convolution ``node`` by the layouts that it reads and writes."""
        assert isinstance(node, Call)
        read, written = self.of.get(node.args[0]), self.of[node]
        variables = tuple(
            one for one in dict.fromkeys((read, written)) if one is not None and one in self.blocks
        )
        costs: dict[tuple[int, ...], float] = {}
        for places in itertools.product(*(range(len(self.blocks[one])) for one in variables)):
            chosen = {one: self.blocks[one][place] for one, place in zip(variables, places, strict=True)}
            blocks = [0 if one is None else chosen.get(one, 0) for one in (read, written)]
            costs[places] = self.cost(_convolution_group(node, blocks[0], blocks[1], self.target))
        self._table(variables, costs)

    def _add(self, region: Region, group: Callable[[int], Function | None]) -> None:
        """Add the costs of the kernel ``group(block)`` by the block of ``region``; None means no kernel."""
        if region in self.blocks:
            groups = [group(block) for block in self.blocks[region]]
            costs = {(n,): 0.0 if one is None else self.cost(one) for n, one in enumerate(groups)}
            self._table((region,), costs)

    def _table(self, variables: tuple[Region, ...], costs: dict[tuple[int, ...], float]) -> None:
        if variables:
            self.tables.append(Table(variables, costs))


def _with_default(table: Table[Region], places: Mapping[Region, int]) -> Table[Region]:
    """``table``; if even the cost of the layouts at ``places`` is unknown, a table that enforces these."""
    default = tuple(places[region] for region in table.variables)
    if math.isfinite(table.costs[default]):
        return table
    return Table(table.variables, {key: 0.0 if key == default else math.inf for key in table.costs})


def _multiply_adds(node: Expr) -> int:
    """The multiply-adds of a convolution: those with the most are measured first, while there is time."""
    assert isinstance(node, Call)
    pixels = math.prod(rules.likely_extent(extent) for extent in tensor_type_of(node).shape)
    return pixels * math.prod(windows.as_ints(tensor_type_of(node.args[1]).shape)[1:])


# --- the kernels ----------------------------------------------------------------------------------


def _convolution_group(node: Call, read: int, written: int, target: Target) -> Function:
    data = Var("data", _in_blocks(node.args[0], read))
    return _group(rules.convolution(node, data, read, written, target), (data,))


def _tied_group(node: Expr, tied: Tied, block: int) -> Function:
    assert isinstance(node, Call)
    (first, *_) = node.args
    given = first.fields if isinstance(first, Tuple) else node.args
    inputs = {value: Var("data", _in_blocks(value, block)) for value in tied.ties}
    args = tuple(inputs.get(value, value) for value in given)
    if block:
        return _group(tied.convert(block, args), inputs.values())
    plain = (Tuple(args),) if isinstance(first, Tuple) else args
    return _group(replace(node, args=plain), inputs.values())


def _transform(value: Expr, made: bool, block: int) -> Function | None:
    """The kernel that transforms ``value`` out of blocks if it is ``made`` in them, else into them; None if
    none is needed."""
    type_ = tensor_type_of(value)
    pixel = all(isinstance(extent, int) and extent == 1 for extent in type_.shape[2:])
    if not block or (made and pixel and rules.channels_of(value) % block == 0):  # that is a view
        return None
    plain = windows.LAYOUTS[type_.ndim - 2]
    layouts = (f"{plain}{block}c", plain) if made else (plain, f"{plain}{block}c")
    data = Var("data", _in_blocks(value, block if made else 0))
    return _group(make("layout_transform", data, src_layout=layouts[0], dst_layout=layouts[1]), (data,))


def _in_blocks(value: Expr, block: int) -> TensorType:
    """The type of ``value`` in blocks of ``block`` channels."""
    type_ = tensor_type_of(value)
    if not block:
        return type_
    batch, _, *spatial = type_.shape
    return TensorType((batch, -(-rules.channels_of(value) // block), *spatial, block), type_.dtype)


def _group(body: Expr, inputs: Iterable[Var]) -> Function:
    """``body`` as a kernel of ``inputs``, with further parameters for values that do not depend on these."""
    depends: set[Expr] = set(inputs)
    params = dict.fromkeys(depends)
    made: dict[Expr, Expr] = {one: one for one in depends}
    for node in postorder(body):
        assert isinstance(node, Expr)
        if node in depends or not any(child in depends for child in node.children()):
            continue
        depends.add(node)
        for child in node.children():
            if child not in made:
                made[child] = Var("weight", tensor_type_of(child))  # type: ignore[index,arg-type]
                params[made[child]] = None  # type: ignore[index]
        made[node] = node.map_children(made.__getitem__)
    return Function(tuple(params), made[body], canonical({"Primitive": 1}))  # type: ignore[arg-type]
