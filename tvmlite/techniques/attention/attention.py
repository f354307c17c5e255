"""Attention in cache: the scores of a few queries at a time are used before they leave it."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import INLINE
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, extent_of, work_of
from tvmlite.te.templates.share import chunk_size, enough, iterations_of, share, threads_for
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
"""The tag of the keys in rows; a copy of a panel of them is transposed in registers."""

ENOUGH_HEADS = 8
"""With fewer heads, the queries of one head are divided among threads as well."""

MANY_HEADS = 4
"""With at least so many heads for the same keys, a tile has one query of each; else if there is one query."""

MOST_KEYS = 32
"""The most blocks of keys for a tile's queries, in effect as many as fit in the registers."""

TILES_PER_CHUNK = (8, 2, 4, 16)
"""The tiles that a thread takes of a head divided among threads, each of which packs the keys for itself."""


@template("attention", anchors.ATTENTION)
def attention(group: Group) -> None:
    """Process one head of keys after the other; within it, tiles of some queries by all keys.

    Keys are packed once per head. A tile has several queries of a head, or one query of each of the heads
    that share keys. It computes the scores of its queries, the maximum of each row, the exponentials, their
    sums, and the weighted sums of the values, each read from the nearest cache.

    Knobs: ``tile`` (vectors of features, queries), ``keys``, the most blocks of keys that are multiplied with
    a tile at once, ``chunk``, the number of tiles one thread takes of a head that is divided among threads,
    ``partials``, the number of vectors of partial results of a row.
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
        heads, shorter = _divide_among_threads(group, stage, context, heads, tiles, threads)
        place = shorter if place is tiles else place
    _accumulate_context(group, context, stage, parts)
    _schedule_row_passes(group, stage, place)
    keys = _schedule_scores(group, stage, place, tile)
    places = {"pack": keys if once else (stage, heads), "attention_query": (stage, place)}
    _schedule_copies(group, places, (stage, heads))


def _tiled(
    stage: Stage, axes: Sequence[IterVar], tile: RegisterTile, lanes: int, shared: int, one_each: bool
) -> tuple[IterVar, IterVar, IterVar, IterVar]:
    """Tile the loops of the result; return those over heads of keys, over tiles of queries, the loop in which
    a tile is computed, and the loop over parts of a tile's features.

    ``shared`` heads have the same keys. A tile has several queries of one of them, or (``one_each``) one
    query of each of several.
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
        together = _heads_per_tile(shared, tile) if one_each else 1
        head, members = stage.split(head, factor=shared)
        place, member = stage.split(members, factor=together)
        inside = [member, *inside]
    in_registers(stage, inside, lane, [batch, head, *dict.fromkeys((tiles, place)), parts])
    return stage.fuse(batch, head), tiles, place, parts


def _heads_per_tile(shared: int, tile: RegisterTile) -> int:
    """The number of heads in a tile, of ``shared`` that share keys: the largest divisor that fits."""
    return max(n for n in range(1, min(shared, tile.rows) + 1) if shared % n == 0)


def _block(group: Group) -> int | None:
    """The size of the square blocks in which keys are transposed in registers; None if element by element."""
    (rows,) = group.tagged(KEYS)
    block, size = block_of(group.target), extent_of(rows.axis[4])
    whole = block is not None and size is not None and size % block == 0
    return block if whole and rows.output(0).dtype == "float32" else None


def _inline_values(group: Group, features: int | None, once: bool) -> None:
    """Inline the values, so that they are read without a copy, if they consist of whole vectors: if they are
    contiguous rows, or are read only ``once``."""
    (values,) = group.tagged("attention_values")
    formula = group.formula(values)
    (body,) = formula.body
    whole = (features or 1) % _lanes(group, values) == 0
    match body:
        case e.Call("if_then_else", (_, read, _)) if whole:
            body = read
    plain = isinstance(body, TensorRead) and _has_unit_coefficient(body.indices[-1], formula.axis[-1].var)
    if plain or (once and whole):
        group.stage(values).compute_inline()


def _lanes(group: Group, op: ComputeOp) -> int:
    return group.target.lanes(op.output(0).dtype)


def _has_unit_coefficient(index: e.Expr, var: e.Expr) -> bool:
    """Whether ``index`` is ``var`` plus something that does not depend on it."""
    while isinstance(index, e.Add) and index is not var:
        first, second = (var in postorder(side) for side in (index.a, index.b))
        if first == second:
            return False
        index = index.a if first else index.b
    return index is var


def _tile(group: Group, context: ComputeOp, features: int | None, queries: int | None) -> RegisterTile:
    """The knob ``tile``: some of ``queries`` (None: unknown) by vectors of features. The default suits the
    product with the values; with few registers, it has as many vectors as a panel of keys, and suits both
    products: 5 queries by 2 vectors are much faster than 3 by 4, whose scores are only 3 by 2 vectors."""
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


def _divide_among_threads(
    group: Group, stage: Stage, context: ComputeOp, heads: IterVar, tiles: IterVar, threads: int
) -> tuple[IterVar, IterVar]:
    """Divide heads among the threads, and the tiles of each head if heads are few."""
    count = iterations_of(stage, heads)
    part = "a head"
    if not enough(count, ENOUGH_HEADS, threads):
        default = chunk_size(iterations_of(stage, tiles), count, TILES_PER_CHUNK[0], threads)
        several = group.knob("chunk", list(dict.fromkeys((*TILES_PER_CHUNK, default))), default)
        part = "some queries, and copies all keys of their head"
        chunks, tiles = stage.split(tiles, factor=several)
        heads = stage.fuse(heads, chunks)
    share(stage, heads, threads, part)
    return heads, tiles


def _accumulate_context(group: Group, context: ComputeOp, host: Stage, place: IterVar) -> None:
    """Schedule the weighted sums of the values for a tile: accumulators in registers."""
    stage = group.stage(context)
    lanes = _lanes(group, context)
    stage.compute_at(host, place)
    batch, head, row, feature = context.axis
    if (extent_of(feature) or 1) % lanes == 0:
        stage.align_bounds(feature, lanes)
    vector, lane = stage.split(feature, factor=lanes)
    in_registers(stage, [head, row, vector], lane, [batch, *context.reduce_axis])


def _schedule_row_passes(group: Group, host: Stage, place: IterVar) -> None:
    """Schedule the maxima, the exponentials and their sums, row by row."""
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


def _schedule_scores(group: Group, host: Stage, place: IterVar, tile: RegisterTile) -> tuple[Stage, IterVar]:
    """Schedule a tile's scores: rows of queries by blocks of keys, accumulated in registers. Return the stage
    of the masked scores and its loop over groups of blocks."""
    (masked,), (scores,) = group.tagged("attention_masked"), group.tagged("attention_scores")
    stage = group.stage(masked)
    stage.compute_at(host, place)
    batch, head, row, key = masked.axis
    width, panels = extent_of(scores.axis[4]), extent_of(scores.axis[3])
    assert width is not None
    vectors = max(1, width // _lanes(group, scores))
    fitting = _blocks_that_fit(tile.rows, panels, vectors, group.target.vector_registers)
    blocks = min(fitting, group.knob("keys", (MOST_KEYS, 1, 2, 3)))
    block, lane = stage.split(key, factor=width)
    parts, block = stage.split(block, factor=blocks)
    in_registers(stage, [head, row, block], lane, [batch, parts])
    products = group.stage(scores)
    products.compute_at(stage, parts)
    batch, head, row, block, lane = scores.axis
    in_registers(products, [head, row, block], lane, [batch, *scores.reduce_axis])
    return stage, parts


def _blocks_that_fit(rows: int, panels: int | None, vectors: int, registers: int) -> int:
    """The number of blocks of keys whose scores for ``rows`` queries fit in the registers."""
    fitting = (registers - 1) // ((rows + 1) * vectors)
    return max(1, fitting if panels is None else min(fitting, panels))


def _schedule_copies(
    group: Group, places: dict[str, tuple[Stage, IterVar]], heads: tuple[Stage, IterVar]
) -> None:
    """Schedule packed keys, computed values and scaled queries at ``places``, by tag, or once per head."""
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
    """Compute panels of keys by blocks that are transposed in registers."""
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
