"""Attention: scores of a few queries at a time, in the cache until they have weighed the values."""

from __future__ import annotations

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
from tvmlite.techniques.elementwise.injective import vectorize
from tvmlite.techniques.reduction.reduction import partial_vectors, reduce_row
from tvmlite.techniques.rows.rows import PASSES

STAGES = ("pack", "attention_values", "attention_query", "attention_masked")

ENOUGH_HEADS = 8
"""With fewer heads than these, threads share the queries of one head too."""

MANY_HEADS = 4
"""So many heads of queries with the same keys make a tile of one query of each; of fewer, a tile has several."""

MOST_KEYS = 32
"""Blocks of keys that go with a tile's queries: as many as there are registers for."""

TILES_PER_CHUNK = (8, 2, 4, 16)
"""Of a head that is shared, so many tiles are one thread's: each thread packs the keys for itself."""


@template("attention", anchors.ATTENTION)
def attention(group: Group) -> None:
    """One head of keys after the other; within it, tiles of some queries by all keys.

    Keys are packed once a head. Where several heads of queries share them, a tile has queries of several, or
    all of these: so a single query of each makes a whole tile. A tile computes its queries' scores, the
    greatest of each row, the powers, their sums, and the values they weigh, each of it read from the nearest
    cache.

    Knobs: ``tile`` (vectors of features, queries), ``keys``, how many blocks of keys at most go with it,
    ``chunk``, how many tiles of a head that is shared are one thread's, ``partials``, how many vectors
    rows are reduced in.
    """
    output, context = group.tagged("attention_output")[-1], group.tagged("attention_context")[-1]
    host = group.host(output.output(0))
    group.inline_all_but({host.op, *group.tagged(*STAGES, *PASSES)})
    order = dict(output.attrs)["order"]
    features = extent_of(output.axis[order.index(3)])
    _inline_plain_values(group, features)
    shared = dict(output.attrs)["shared"]
    tile = _tile(group, context, features, shared)
    stage, axes = group.stage(host), group.axes(host)
    batch, head, row, feature = (axes[order.index(k)] for k in range(4))
    vectors, lane = stage.split(feature, factor=_lanes(group, context))
    parts, vector = stage.split(vectors, factor=tile.blocks)
    if shared == 1:
        tiles, rows = stage.split(row, factor=tile.rows)
        in_registers(stage, [rows, vector], lane, [batch, head, tiles, parts])
        inner = []
    else:
        together = _heads_together(shared, tile.rows)
        tiles, rows = stage.split(row, factor=tile.rows // together)
        head, member = stage.split(head, factor=shared)
        members, member = stage.split(member, factor=together)
        in_registers(stage, [member, rows, vector], lane, [batch, head, tiles, members, parts])
        inner = [members]
    heads = stage.fuse(batch, head)
    threads = threads_for(group.target, work_of(context))
    if threads > 1:
        heads, tiles = _shared_out(group, stage, context, heads, tiles, threads)
    (*_, place) = tiles, *inner
    _accumulate_context(group, context, stage, parts)
    _passes(group, stage, place)
    _scores(group, stage, place, tile)
    _copies(group, stage, heads, place)


def _heads_together(shared: int, rows: int) -> int:
    """How many of the heads that are ``shared`` keys a tile of ``rows`` has queries of."""
    return max(n for n in range(1, min(shared, rows) + 1) if shared % n == 0)


def _inline_plain_values(group: Group, features: int | None) -> None:
    """Values that lie in rows already are read where they lie, if there are whole vectors of them."""
    (values,) = group.tagged("attention_values")
    formula = group.formula(values)
    (body,) = formula.body
    match body:
        case e.Call("if_then_else", (_, read, _)) if (features or 1) % _lanes(group, values) == 0:
            body = read
    if isinstance(body, TensorRead) and _walks(body.indices[-1], formula.axis[-1].var):
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


def _tile(group: Group, context: ComputeOp, features: int | None, shared: int) -> RegisterTile:
    """Queries, those of heads that share keys together, by vectors of features, as suits the product with the values; where registers are few, as many
    vectors as a panel of keys has, and queries as suit both products: 5 queries by 2 vectors are much
    quicker there than 3 by 4, of which a panel's two vectors make no more than 6 sums."""
    dtype, lanes = context.output(0).dtype, _lanes(group, context)
    vectors = None if features is None else -(-features // lanes)
    queries = extent_of(context.axis[2])
    if shared >= MANY_HEADS:
        queries = shared
    elif queries is not None:
        queries *= shared
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


def _scores(group: Group, host: Stage, place: IterVar, tile: RegisterTile) -> None:
    """A tile's scores: rows of queries by blocks of keys, accumulated in registers."""
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


def _blocks_beside(rows: int, panels: int | None, vectors: int, registers: int) -> int:
    """How many blocks of keys go with ``rows`` of queries into the registers."""
    fitting = (registers - 1) // ((rows + 1) * vectors)
    return max(1, fitting if panels is None else min(fitting, panels))


def _copies(group: Group, host: Stage, heads: IterVar, tiles: IterVar) -> None:
    """Keys in panels, and values that had to be computed, once a head; scaled queries once a tile."""
    for op in group.tagged("pack", "attention_values", "attention_query"):
        stage = group.stage(op)
        if stage.attach_type == INLINE:
            continue
        stage.compute_at(host, tiles if op.tag == "attention_query" else heads)
        vectorize(stage, op.axis[-1], extent_of(op.axis[-1]), _lanes(group, op))
