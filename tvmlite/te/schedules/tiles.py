"""Matrix products in AMX's tile registers: which shapes have them, and how large a tile is."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.te.intrin import amx
from tvmlite.te.schedules.dot import is_paired
from tvmlite.te.schedules.group import (
    Group,
    extent_of,
    number,
    product,
    work_of,
    worth_threads,
)
from tvmlite.te.schedules.injective import elementwise_loops
from tvmlite.te.schedules.nest import shared_out, whole_steps
from tvmlite.te.space.choices import OptionChoice, SplitChoice
from tvmlite.te.tensor import ComputeOp

LATENCY = 52
"""Cycles from a product to the next on the same sums."""

LEAST_ROWS = 6
"""Tiles of fewer rows are no quicker than vectors."""

ENOUGH_CHUNKS = 8
"""A parallel loop of fewer iterations takes in the loop over row tiles as well."""


@dataclass(frozen=True)
class Tile:
    """``tiles`` of ``rows`` rows each, times ``blocks`` of 16 columns."""

    blocks: int
    tiles: int
    rows: int

    @property
    def all_rows(self) -> int:
        return self.tiles * self.rows

    @property
    def cycles(self) -> float:
        """Cycles a step of the reduction takes, for each 16 sums."""
        work = self.tiles * self.blocks * self.rows
        loads = (self.all_rows + self.blocks * amx.DEPTH // 2) / 2
        return max(work, loads, LATENCY) / work


def fits(group: Group, anchor: ComputeOp) -> bool:
    """Whether the target has tiles and ``anchor`` takes whole steps of bfloat16 of known number."""
    if not group.target.has(amx.NEEDS) or not is_paired(anchor):
        return False
    channels = extent_of(anchor.reduce_axis[0])
    if channels is None or channels % (amx.DEPTH // 2) or extent_of(anchor.axis[-1]) != amx.LANES:
        return False
    return anchor.inputs[0].dtype == "bfloat16" and product(extent_of(a) for a in anchor.axis) is not None


def tiles_of(rows: int, blocks: int, images: int = 0) -> list[Tile]:
    """The tiles that ``rows`` by ``blocks`` come apart into, the quickest first; with ``images``, rows of so
    many images, a tile a row's."""
    found: list[Tile] = []
    for wide in range(1, amx.REGISTERS):
        for several in range(1, amx.REGISTERS):
            if several * wide + wide + 1 > amx.REGISTERS or blocks % wide:
                continue
            for high in range(LEAST_ROWS, amx.MOST_ROWS + 1):
                if images and not rows % high and not images % several:
                    found.append(Tile(wide, several, high))
                if not images and not rows % (several * high):
                    found.append(Tile(wide, several, high))
    return sorted(found, key=lambda tile: (tile.cycles, -tile.all_rows * tile.blocks, -tile.rows))


def tiled_product(group: Group, anchor: ComputeOp) -> bool:
    """Schedule a dense layer by tiles, if there are some for it.

    Knobs: ``tile`` (blocks of columns, tiles, rows of a tile), ``steps``, how many steps of the reduction a
    turn takes, those of ``shared_out``.
    """
    if not fits(group, anchor):
        return False
    row, outer, lane = anchor.axis
    unpack = group.readers(anchor.output(0))[0].output(0)
    if number(unpack.shape[-1]) != product([extent_of(outer), extent_of(lane)]):
        return False
    rows, blocks = extent_of(row), extent_of(outer)
    assert rows is not None
    assert blocks is not None
    choices = tiles_of(rows, blocks)
    host = group.host(unpack)
    stage, config = group.stage(host), group.config
    if not choices:
        return False
    group.inline_all_but({host.op})
    config.define_split(
        "tile",
        rows,
        num_outputs=4,
        policy="candidate",
        candidate=[(-1, one.blocks, one.tiles, one.rows) for one in choices],
    )
    best = choices[0]
    config.suggest("tile", SplitChoice((-1, best.blocks, best.tiles, best.rows)))
    tile = Tile(*config["tile"].size[1:])
    *lead, column = group.axes(host)
    column_blocks, lanes = stage.split(column, factor=amx.LANES)
    column_tiles, inner_blocks = stage.split(column_blocks, factor=tile.blocks)
    row_tiles, inner_rows = stage.split(stage.fuse(*lead), factor=tile.all_rows)
    stage.reorder(column_tiles, row_tiles, inner_rows, inner_blocks, lanes)
    stage.unroll(inner_blocks)
    stage.vectorize(lanes)
    few = blocks // tile.blocks < ENOUGH_CHUNKS
    panels = {"columns": (0, blocks // tile.blocks), "rows": (1, rows // tile.all_rows)}
    parallel = worth_threads(work_of(anchor))
    place = shared_out(group, stage, [], [column_tiles, row_tiles], panels, parallel, 0 if few else 1)
    computed = group.stage(anchor)
    computed.compute_at(stage, place)
    k, pair = anchor.reduce_axis
    turn, step = computed.split(k, factor=amx.DEPTH // 2)
    config.define_knob("steps", whole_steps(turn))
    config.suggest("steps", OptionChoice(1))
    inside = []
    if config["steps"].val > 1:
        turn, again = computed.split(turn, factor=config["steps"].val)
        computed.unroll(again)
        inside = [again]
    computed.reorder(turn, *inside, row, outer, lane, step, pair)
    computed.tensorize(row, amx.product_bfloat16_float32(tile.rows, tile.tiles, tile.blocks))
    for tensor in group.outputs:
        if tensor is not host:
            elementwise_loops(group, tensor)
    return True
