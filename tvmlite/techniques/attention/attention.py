"""Attention: scores of a few queries at a time, in the cache until they have weighed the values."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import INLINE
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, extent_of, work_of
from tvmlite.te.templates.share import enough, iterations_of, part_for, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import RegisterTile, candidates, register_tile, tile_for
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, TensorRead
from tvmlite.techniques.common.nest import in_registers
from tvmlite.techniques.common.transpose import block_of, transposed_block
from tvmlite.techniques.elementwise.injective import vectorize
from tvmlite.techniques.reduction.reduction import partial_vectors, reduce_row
from tvmlite.techniques.rows.rows import PASSES

STAGES = ("pack", "attention_values", "attention_query", "attention_masked")

KEYS = "attention_keys"
"""The tag of keys in rows, a copy of a panel of which is transposed in registers."""

ENOUGH_HEADS = 8
"""With fewer heads than these, threads share the queries of one head too."""

MANY_HEADS = 4
"""So many heads with the same keys make tiles of one query of each; fewer do if there is but one query."""

MOST_KEYS = 32
"""Blocks of keys that go with a tile's queries: as many as there are registers for."""

TILES_PER_CHUNK = (8, 2, 4, 16)
"""Of a head that is shared, so many tiles are one thread's: each thread packs the keys for itself."""


@template("attention", anchors.ATTENTION)
def attention(group: Group) -> None:
    """One head of keys after the other; within it, tiles of some queries by all keys.

    Keys are packed once a head. A tile has several queries of a head, or one each of heads that share keys.
    It computes its queries' scores, the greatest of each row, the powers, their sums, and the values they
    weigh, each of it read from the nearest cache.

    Knobs: ``tile`` (vectors of features, queries), ``keys``, how many blocks of keys at most go with it,
    ``chunk``, how many tiles of a head that is shared are one thread's, ``partials``, how many vectors
    rows are reduced in.
    """
    output, context = group.tagged("attention_output")[-1], group.tagged("attention_context")[-1]
    host = group.host(output.output(0))
    kept = (*STAGES, *PASSES) if _block(group) is None else (KEYS, *STAGES, *PASSES)
    group.inline_all_but({host.op, *group.tagged(*kept)})
    order, shared = (dict(output.attrs)[name] for name in ("order", "shared"))
    features, queries = extent_of(output.axis[order.index(3)]), extent_of(context.axis[2])
    one_each = shared >= MANY_HEADS or (shared > 1 and queries == 1)
    tile = _tile(group, context, features, shared if one_each else queries)
    once = shared * (queries or tile.rows + 1) <= tile.rows
    _inline_values(group, features, once)
    stage, axes = group.stage(host), group.axes(host)
    ordered = [axes[order.index(k)] for k in range(4)]
    heads, tiles, place, parts = _tiled(stage, ordered, tile, _lanes(group, context), shared, one_each)
    threads = threads_for(group.target, work_of(context))
    if threads > 1:
        heads, shorter = _shared_out(group, stage, context, heads, tiles, threads)
        place = shorter if place is tiles else place
    _accumulate_context(group, context, stage, parts)
    _passes(group, stage, place)
    keys = _scores(group, stage, place, tile)
    places = {"pack": keys if once else (stage, heads), "attention_query": (stage, place)}
    _copies(group, places, (stage, heads))


def _tiled(
    stage: Stage, axes: Sequence[IterVar], tile: RegisterTile, lanes: int, shared: int, one_each: bool
) -> tuple[IterVar, IterVar, IterVar, IterVar]:
    """The result's loops in tiles: over heads of keys, over queries, that in which a tile is computed, and
    over parts of a tile's features.

    A tile has several queries of one of the heads that are ``shared`` keys, or ``one_each`` of several.
    """
    batch, head, row, feature = axes
    vectors, lane = stage.split(feature, factor=lanes)
    parts, vector = stage.split(vectors, factor=tile.blocks)
    tiles, inside = row, [vector]
    if not one_each:
        tiles, rows = stage.split(row, factor=tile.rows)
        inside = [rows, vector]
    place = tiles
    if shared > 1:
        together = _heads_together(shared, tile) if one_each else 1
        head, members = stage.split(head, factor=shared)
        place, member = stage.split(members, factor=together)
        inside = [member, *inside]
    in_registers(stage, inside, lane, [batch, head, *dict.fromkeys((tiles, place)), parts])
    return stage.fuse(batch, head), tiles, place, parts


def _heads_together(shared: int, tile: RegisterTile) -> int:
    """Of how many of the heads that share keys a tile has queries: all tiles of as many."""
    return max(n for n in range(1, min(shared, tile.rows) + 1) if shared % n == 0)


def _block(group: Group) -> int | None:
    """Rows and columns of the blocks in which keys are transposed in registers; None: an element at a
    time."""
    (rows,) = group.tagged(KEYS)
    block, size = block_of(group.target), extent_of(rows.axis[4])
    whole = block is not None and size is not None and size % block == 0
    return block if whole and rows.output(0).dtype == "float32" else None


def _inline_values(group: Group, features: int | None, once: bool) -> None:
    """Values are read where they lie, if there are whole vectors of them: in rows, or ``once``."""
    (values,) = group.tagged("attention_values")
    formula = group.formula(values)
    (body,) = formula.body
    whole = (features or 1) % _lanes(group, values) == 0
    match body:
        case e.Call("if_then_else", (_, read, _)) if whole:
            body = read
    plain = isinstance(body, TensorRead) and _walks(body.indices[-1], formula.axis[-1].var)
    if plain or (once and whole):
        group.stage(values).compute_inline()


def _lanes(group: Group, op: ComputeOp) -> int:
    return group.target.lanes(op.output(0).dtype)


def _walks(index: e.Expr, var: e.Expr) -> bool:
    """Whether ``index`` is ``var`` plus something that does not depend on it."""
    while isinstance(index, e.Add) and index is not var:
        first, second = (var in postorder(side) for side in (index.a, index.b))
        if first == second:
            return False
        index = index.a if first else index.b
    return index is var


def _tile(group: Group, context: ComputeOp, features: int | None, queries: int | None) -> RegisterTile:
    """Some of ``queries`` (None: unknown) by vectors of features, as suits the product with the values; where
    registers are few, as many vectors as a panel of keys has, and queries as suit both products: 5 queries by
    2 vectors are much quicker there than 3 by 4, of which a panel's two vectors make no more than 6 sums."""
    dtype, lanes = context.output(0).dtype, _lanes(group, context)
    vectors = None if features is None else -(-features // lanes)
    best = tile_for(group.target, dtype, lanes, queries, vectors)
    (scores,) = group.tagged("attention_scores")
    panel = max(1, (extent_of(scores.axis[4]) or 1) // lanes)
    if group.target.machine.few_registers and vectors is not None and vectors % panel == 0:
        rows = register_tile(queries, 1, panel, group.target.machine).rows
        best = RegisterTile(rows, panel)
    made = candidates(queries, 1, vectors, 1, group.target.machine, (-1, best.blocks, 1, best.rows))
    sizes = [(-1, wide, high) for _, wide, _, high in made]
    wide, high = group.tile(queries, sizes, sizes[0])
    return RegisterTile(high, wide)


def _shared_out(
    group: Group, stage: Stage, context: ComputeOp, heads: IterVar, tiles: IterVar, threads: int
) -> tuple[IterVar, IterVar]:
    """Share heads out among the threads, and the tiles of each where heads are few."""
    count = iterations_of(stage, heads)
    part = "a head"
    if not enough(count, ENOUGH_HEADS, threads):
        default = part_for(iterations_of(stage, tiles), count, TILES_PER_CHUNK[0], threads)
        several = group.knob("chunk", list(dict.fromkeys((*TILES_PER_CHUNK, default))), default)
        part = "some queries, and copies all keys of their head"
        chunks, tiles = stage.split(tiles, factor=several)
        heads = stage.fuse(heads, chunks)
    share(stage, heads, threads, part)
    return heads, tiles


def _accumulate_context(group: Group, context: ComputeOp, host: Stage, place: IterVar) -> None:
    """The values that a tile's powers weigh: accumulators in registers."""
    stage = group.stage(context)
    lanes = _lanes(group, context)
    stage.compute_at(host, place)
    batch, head, row, feature = context.axis
    if (extent_of(feature) or 1) % lanes == 0:
        stage.align_bounds(feature, lanes)
    vector, lane = stage.split(feature, factor=lanes)
    in_registers(stage, [head, row, vector], lane, [batch, *context.reduce_axis])


def _passes(group: Group, host: Stage, place: IterVar) -> None:
    """The greatest, the powers and their sums, row by row."""
    readers = {op: group.readers(op.output(0)) for op in group.tagged(*PASSES)}
    for op, (reader, *others) in readers.items():
        stage = group.stage(op)
        if not others and isinstance(reader, ComputeOp) and reader.tag == "row_scalar":
            stage.compute_at(group.stage(reader), reader.axis[-1])
        else:
            stage.compute_at(host, place)
        if op.tag == "row_reduce":
            row, formula = op.axis[-1], group.formula(op)
            for partial in reduce_row(group, op, formula, partial_vectors(group, formula)):
                group.stage(partial).compute_at(stage, row)
        elif op.tag == "row_powers":
            vectorize(stage, op.axis[-1], extent_of(op.axis[-1]), _lanes(group, op))


def _scores(group: Group, host: Stage, place: IterVar, tile: RegisterTile) -> tuple[Stage, IterVar]:
    """A tile's scores: rows of queries by blocks of keys, accumulated in registers; gives the loop over
    these blocks."""
    (masked,), (scores,) = group.tagged("attention_masked"), group.tagged("attention_scores")
    stage = group.stage(masked)
    stage.compute_at(host, place)
    batch, head, row, key = masked.axis
    width, panels = extent_of(scores.axis[4]), extent_of(scores.axis[3])
    assert width is not None
    vectors = max(1, width // _lanes(group, scores))
    fitting = _blocks_beside(tile.rows, panels, vectors, group.target.vector_registers)
    blocks = min(fitting, group.knob("keys", (MOST_KEYS, 1, 2, 3)))
    block, lane = stage.split(key, factor=width)
    parts, block = stage.split(block, factor=blocks)
    in_registers(stage, [head, row, block], lane, [batch, parts])
    products = group.stage(scores)
    products.compute_at(stage, parts)
    batch, head, row, block, lane = scores.axis
    in_registers(products, [head, row, block], lane, [batch, *scores.reduce_axis])
    return stage, parts


def _blocks_beside(rows: int, panels: int | None, vectors: int, registers: int) -> int:
    """How many blocks of keys go with ``rows`` of queries into the registers."""
    fitting = (registers - 1) // ((rows + 1) * vectors)
    return max(1, fitting if panels is None else min(fitting, panels))


def _copies(group: Group, places: dict[str, tuple[Stage, IterVar]], heads: tuple[Stage, IterVar]) -> None:
    """Keys in panels, values that have to be computed, and scaled queries, by their tags at ``places``, or
    once a head."""
    for op in group.tagged("pack", "attention_values", "attention_query"):
        stage = group.stage(op)
        if stage.attach_type == INLINE:
            continue
        stage.compute_at(*places.get(op.tag, heads))
        block = _block(group) if op.tag == "pack" else None
        if block is None:
            vectorize(stage, op.axis[-1], extent_of(op.axis[-1]), _lanes(group, op))
        else:
            _transpose(group, stage, op, block)


def _transpose(group: Group, stage: Stage, panels: ComputeOp, block: int) -> None:
    """Panels of keys by blocks that are transposed in registers."""
    (rows,) = group.tagged(KEYS)
    *_, panel, k, lane = panels.axis
    size, width = extent_of(k), extent_of(lane)
    assert size is not None
    assert width is not None
    stage.align_bounds(lane, width)
    blocks, k = stage.split(k, factor=block)
    parts, lane = stage.split(lane, factor=block)
    stage.reorder(panel, blocks, parts, k, lane)
    stage.tensorize(k, transposed_block(block, size, width))
    own = group.stage(rows)
    own.compute_at(stage, panel)
    vectorize(own, rows.axis[-1], size, block)
