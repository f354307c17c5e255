"""The pass that puts the channels of convolution networks in blocks of one vector: TVM's AlterOpLayout.

Values that must have the same layout form a region: they are connected by operators that write the layout
they read (``tied_operators``). Convolutions read either layout and so separate regions. By default, a region
is converted to blocks if the element moves that this saves (a convolution stores vectors, a depthwise one or
a pooling computes with them) outweigh those at its borders, where ``layout_transform`` converts values.

Each region is a decision (``passes.decisions``). If the costs of kernels are known, the best layouts for all
regions together are proposed (``layout_program``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, Tuple
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops import windows
from tvmlite.relay.passes.decisions import LAYOUT, Decisions, decide
from tvmlite.techniques.blocked_conv import layout_rules as rules
from tvmlite.techniques.blocked_conv import tied_operators
from tvmlite.techniques.blocked_conv.layout_program import Cost, Program, Region
from tvmlite.techniques.blocked_conv.tied_operators import Tied
from tvmlite.techniques.common.quads import QUAD

BORDER_COST = 1.5
"""The cost of moving an element across a border, relative to the move that an operator on blocks saves. Both
are moves of elements of one dtype, so estimates in cycles (``te.cost``) would only scale both."""


def alter_op_layout(target: Target, decisions: Decisions | None = None) -> Callable[[Module], Module]:
    """The pass for ``target``: a block is a vector of it, or half or a quarter of one with few channels."""

    def alter_op_layout(module: Module) -> Module:
        main = module.main
        body = _Rewriter(_regions(main.body, target, decisions), target).rewrite(main.body)
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return alter_op_layout


# --- regions ------------------------------------------------------------------------------------


class _Regions:
    """The region of each value that may be in blocks, and the convolutions and tied operators among them."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.of: dict[Expr, Region] = {}
        self.convolutions: dict[Expr, None] = {}
        self.tied: dict[Expr, Tied] = {}

    def add(self, value: Expr) -> Region:
        if value not in self.of:
            self.of[value] = Region({value: None})
        return self.of[value]

    def tie(self, values: Iterable[Expr]) -> None:
        """Merge the regions of ``values``."""
        first, *others = (self.add(value) for value in values)
        for other in others:
            if other is not first:
                if len(other.values) > len(first.values):
                    first, other = other, first
                first.merge(other)
                for value in other.values:
                    self.of[value] = first

    def block(self, value: Expr) -> int:
        """The block of channels of ``value``; 0 for channels-first."""
        return self.of[value].block if value in self.of else 0

    def all(self) -> list[Region]:
        return list(dict.fromkeys(self.of.values()))

    def calls(self, region: Region) -> list[Call]:
        """The calls that compute values of ``region``."""
        made = (value for value in region.values if value in self.tied or value in self.convolutions)
        return [value for value in made if isinstance(value, Call)]


def _regions(body: Expr, target: Target, decisions: Decisions | None) -> _Regions:
    """The regions of ``body``, with their blocks chosen."""
    found = _Regions(target)
    nodes = [node for node in postorder(body) if isinstance(node, Expr)]
    for node in nodes:
        lanes = rules.lanes_of(node, target) if rules.spatial_rank(node) is not None else 0
        if rules.is_convolution(node, lanes) or rules.quad_block(node, target):
            found.convolutions[node] = None
            found.add(node).gain += _elements(node)
        elif (tied := tied_operators.tied(node, lanes)) is not None:
            found.tied[node] = tied
            found.tie((node, *tied.ties))
            if not tied_operators.is_elementwise(node):
                found.of[node].gain += _elements(node)
    _mark_borders(nodes, body, found)
    _decide(found, target, decisions)
    return found


def _decide(found: _Regions, target: Target, decisions: Decisions | None) -> None:
    """Choose the block of each region: by the default rule, by known costs, or as decided."""
    by_rule = {region: _block(region, target) for region in found.all()}
    choices = {
        region: _alternatives(region, block, target) for region, block in by_rule.items() if region.gain
    }
    cost = None if decisions is None else decisions.cost
    proposed = {} if cost is None else _program(found, choices, cost).solve(by_rule)
    for region, default in by_rule.items():
        region.block = default
        if region in choices:
            names = {_name(block): block for block in choices[region]}
            proposal = _name(proposed[region]) if region in proposed else None
            region.block = names[
                decide(
                    decisions,
                    LAYOUT,
                    lambda own=region: [found.calls(own)],
                    tuple(names),
                    _name(default),
                    proposal,
                )
            ]


def _alternatives(region: Region, default: int, target: Target) -> list[int]:
    """The blocks to choose from: none, the two largest possible, and the default."""
    largest = _blocks(region, target)[-2:]
    return sorted({0, default, *largest})


def _program(found: _Regions, blocks: Mapping[Region, list[int]], cost: Cost) -> Program:
    """The optimization problem over the possible ``blocks`` of the regions."""
    return Program(blocks, found.of, tuple(found.convolutions), found.tied, found.target, cost)


def _name(block: int) -> str:
    return f"blocks of {block}" if block else "plain"


def _mark_borders(nodes: list[Expr], body: Expr, found: _Regions) -> None:
    """Record which values are also needed channels-first if their region is in blocks, or come that way."""
    for value, region in found.of.items():
        if value not in found.tied and value not in found.convolutions and not isinstance(value, Constant):
            region.borders[value] = None
    fields = {node.args[0] for node in found.tied if isinstance(node, Call)}  # tuples of concatenations
    for node in nodes:
        if node in found.convolutions or (isinstance(node, Tuple) and node in fields):
            continue
        ties = found.tied[node].ties if node in found.tied else ()
        for child in node.children():
            if child in found.of and child not in ties:  # type: ignore[operator]
                found.of[child].borders[child] = None  # type: ignore[index]
    if body in found.of:
        found.of[body].borders[body] = None


def _block(region: Region, target: Target) -> int:
    """The default block for ``region``: the one with the fewest vectors; 0 if blocks are not profitable."""
    if region.gain <= BORDER_COST * sum(_elements(value) for value in region.borders):
        return 0
    channels = [rules.channels_of(value) for value in region.values]
    blocks = (block for block in _blocks(region, target) if block)
    return min(blocks, key=lambda block: sum(-(-count // block) for count in channels), default=0)


def _blocks(region: Region, target: Target) -> list[int]:
    """The blocks that ``region`` can be in, 0 first."""
    lanes = min(rules.lanes_of(value, target) for value in region.values)
    found = [0, *(block for block in (lanes // 4, lanes // 2, lanes) if block > 1)]
    if block := rules.tile_block(region.values, target):
        found.append(block)
    return found


def _elements(value: Expr) -> float:
    """The number of elements of ``value``, with likely extents for named dimensions."""
    total = 1.0
    for extent in tensor_type_of(value).shape:
        total *= rules.likely_extent(extent)
    return total


# --- the new graph ------------------------------------------------------------------------------


class _Rewriter:
    """The values of the new graph, in either layout, by the values of the old one."""

    def __init__(self, regions: _Regions, target: Target) -> None:
        self.regions, self.target = regions, target
        self.plain: dict[Expr, Expr] = {}
        self.blocked: dict[tuple[Expr, int], Expr] = {}

    def rewrite(self, body: Expr) -> Expr:
        for node in postorder(body):
            assert isinstance(node, Expr)
            block = self.regions.block(node)
            if node in self.regions.convolutions:
                self._convolution(node, block)
            elif block and node in self.regions.tied:
                self.blocked[node, block] = self._tied(node, block)
            elif not isinstance(node, Tuple):  # tuples are built when needed: fields may be in blocks
                self.plain[node] = node.map_children(self.as_plain)
        return self.as_plain(body)

    def as_plain(self, value: Expr) -> Expr:
        """``value`` channels-first."""
        stack = [value]
        while stack:
            node = stack.pop()
            if node in self.plain:
                continue
            inner = [one for one in node.fields if one not in self.plain] if isinstance(node, Tuple) else []
            if inner:
                stack += (node, *inner)
            elif isinstance(node, Tuple):
                self.plain[node] = node.map_children(self.plain.__getitem__)
            else:
                self.plain[node] = self._from_blocks(node, self.regions.block(node))
        return self.plain[value]

    def _from_blocks(self, value: Expr, block: int) -> Expr:
        """``value``, which is in blocks, channels-first."""
        type_, channels = tensor_type_of(value), rules.channels_of(value)
        blocked = self.blocked[value, block]
        if channels % block == 0 and all(isinstance(n, int) and n == 1 for n in type_.shape[2:]):
            return make("reshape", blocked, newshape=type_.shape, allowzero=True, span=_span(value))
        return rules.from_blocks(blocked, block, channels, _span(value))

    def as_blocked(self, value: Expr, block: int) -> Expr:
        """``value`` in blocks of ``block`` channels."""
        if (value, block) not in self.blocked:
            rank = tensor_type_of(value).ndim - 2
            layouts = windows.LAYOUTS[rank], rules.blocked_layout(rank, block)
            self.blocked[value, block] = rules.relayout(self.as_plain(value), *layouts, _span(value))
        return self.blocked[value, block]

    def _convolution(self, node: Expr, written: int) -> None:
        assert isinstance(node, Call)
        read = self.regions.block(node.args[0])
        quads = rules.quad_block(node, self.target)
        if quads and read % QUAD:
            read = 0
        if rules.channels_of(node.args[0]) > QUAD:  # fewer are one word, which the convolution itself builds
            tiles = written == rules.BYTE_BLOCK and rules.can_use_tiles(node, self.target)
            read = read or (rules.BYTE_BLOCK if tiles else quads)
        data = self.as_blocked(node.args[0], read) if read else self.as_plain(node.args[0])
        made = rules.convolution(node, data, read, written, self.regions.target)
        if written:
            self.blocked[node, written] = made
        else:
            self.plain[node] = made

    def _tied(self, node: Expr, block: int) -> Expr:
        assert isinstance(node, Call)
        tied = self.regions.tied[node]
        (first, *_) = node.args
        args = first.fields if isinstance(first, Tuple) else node.args
        return tied.convert(
            block,
            tuple(self.as_blocked(a, block) if a in tied.ties else self.as_plain(a) for a in args),
        )


def _span(value: Expr):
    return getattr(value, "span", None)
