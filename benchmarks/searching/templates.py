"""Search spaces: templates with tiles on several levels, without any hint which settings are good.

Spatial loops are split in three, reduction loops in two; a tile is the innermost of each, unrolled, and its
innermost loop is a vector. Knobs: every length, the order of the loops on each level, the loop that is the
vector, and whether reduction loops are unrolled. The spaces of Ansor's sketches for one core are similar
(Zheng et al., OSDI 2020, "SSRSRS").
"""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite import autotune, te
from tvmlite.machine.target import Target

LANES = Target.parse("native").lanes("float32")
"""The channels of a block and the columns of a panel: a vector of this machine."""


@autotune.template("bench.conv")
def conv(size: int, inputs: int, outputs: int, kernel: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A convolution of stride 1 on blocks of channels; its data is already padded."""
    count, border = inputs // LANES, size + kernel - 1
    data = te.placeholder((count, border, border, LANES), name="D")
    weight = te.placeholder((outputs // LANES, count, kernel, kernel, LANES, LANES), name="W")
    c, i = te.reduce_axis((0, count), "c"), te.reduce_axis((0, LANES), "i")
    v, u = te.reduce_axis((0, kernel), "v"), te.reduce_axis((0, kernel), "u")
    result = te.compute(
        (outputs // LANES, size, size, LANES),
        lambda o, y, x, lane: te.sum(data[c, y + v, x + u, i] * weight[o, c, v, u, i, lane], [c, v, u, i]),
        "R",
    )
    return _tiled(result, [c, v, u, i]), [data, weight, result]


@autotune.template("bench.depthwise")
def depthwise(size: int, channels: int, kernel: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A depthwise convolution; its data is already padded."""
    count, border = channels // LANES, size + kernel - 1
    data = te.placeholder((count, border, border, LANES), name="D")
    weight = te.placeholder((count, kernel, kernel, LANES), name="W")
    v, u = te.reduce_axis((0, kernel), "v"), te.reduce_axis((0, kernel), "u")
    result = te.compute(
        (count, size, size, LANES),
        lambda o, y, x, lane: te.sum(data[o, y + v, x + u, lane] * weight[o, v, u, lane], [v, u]),
        "R",
    )
    return _tiled(result, [v, u]), [data, weight, result]


@autotune.template("bench.dense")
def dense(rows: int, inner: int, columns: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Rows multiplied by a weight whose columns are stored in panels."""
    data = te.placeholder((rows, inner), name="D")
    weight = te.placeholder((columns // LANES, inner, LANES), name="W")
    k = te.reduce_axis((0, inner), "k")
    result = te.compute(
        (rows, columns // LANES, LANES),
        lambda y, o, lane: te.sum(data[y, k] * weight[o, k, lane], k),
        "R",
    )
    return _tiled(result, [k]), [data, weight, result]


@autotune.template("bench.batch_matmul")
def batch_matmul(batch: int, rows: int, inner: int, columns: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A batch of matrix products, without packing."""
    left = te.placeholder((batch, rows, inner), name="A")
    right = te.placeholder((batch, inner, columns // LANES, LANES), name="B")
    k = te.reduce_axis((0, inner), "k")
    result = te.compute(
        (batch, rows, columns // LANES, LANES),
        lambda b, y, o, lane: te.sum(left[b, y, k] * right[b, k, o, lane], k),
        "R",
    )
    return _tiled(result, [k]), [left, right, result]


@autotune.template("bench.softmax")
def softmax(rows: int, columns: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Softmax of each row; knobs set the loops of its four parts over a row, and the size of their pieces."""
    x = te.placeholder((rows, columns), name="X")
    k, q = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "q")
    most = te.compute((rows,), lambda i: te.max(x[i, k], k), "most")
    power = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - most[i]), "power")
    total = te.compute((rows,), lambda i: te.sum(power[i, q], q), "total")
    result = te.compute((rows, columns), lambda i, j: power[i, j] / total[i], "R")
    s = te.create_schedule(result.op)
    cfg = autotune.get_config()
    cfg.define_split("rows", rows, num_outputs=2, max_factor=16)
    place, row = cfg["rows"].apply(s, result, result.op.axis[0])
    cfg.define_knob("power", ["inline", "stored"])
    for tensor in (most, total):
        _partial(cfg, s, tensor, result, place)
    if cfg["power"].val == "inline":
        s[power].compute_inline()
    else:
        s[power].compute_at(s[result], place)
    for tensor, axis in ((power, power.op.axis), (result, (row, result.op.axis[1]))):
        cfg.define_split(f"{tensor.name}.columns", columns, num_outputs=3, policy="power2", max_factor=128)
        cfg.define_knob(f"{tensor.name}.order", ["rows outside", "rows inside"])
        if tensor is result or cfg["power"].val == "stored":
            outer, several, lane = cfg[f"{tensor.name}.columns"].apply(s, tensor, axis[1])
            if cfg[f"{tensor.name}.order"].val == "rows inside":
                s[tensor].reorder(outer, axis[0], several, lane)
            s[tensor].unroll(several)
            s[tensor].vectorize(lane)
    return s, [x, result]


def _partial(
    cfg: autotune.ConfigEntity, s: te.Schedule, tensor: te.Tensor, host: te.Tensor, place: te.IterVar
) -> None:
    """A reduction of rows to partial results, which are then combined."""
    name = tensor.name
    (axis,) = tensor.op.reduce_axis
    cfg.define_split(f"{name}.parts", axis, num_outputs=3, policy="power2", max_factor=128)
    cfg.define_knob(f"{name}.order", ["rows outside", "rows inside"])
    _, several, lane = cfg[f"{name}.parts"].apply(s, tensor, axis)
    block = s[tensor].fuse(several, lane)
    partial = s.rfactor(tensor, block, 1)
    s[partial].compute_at(s[host], place)
    row, lanes = s[partial].op.axis
    (outer,) = s[partial].op.reduce_axis
    several, lane = s[partial].split(lanes, factor=cfg[f"{name}.parts"].size[2])
    if cfg[f"{name}.order"].val == "rows inside":
        s[partial].reorder(outer, row, several, lane)
    else:
        s[partial].reorder(row, outer, several, lane)
    s[partial].unroll(several)
    s[partial].vectorize(lane)
    s[tensor].compute_at(s[host], place)


def _tiled(result: te.Tensor, reduces: Sequence[te.IterVar]) -> te.Schedule:
    """Tiles of sums in a separate buffer, with knobs for the loop that it is attached to and all else."""
    s = te.create_schedule(result.op)
    cfg = autotune.get_config()
    sums = s.cache_write(result, "local")
    *spatial, lane = s[result].op.axis
    levels = []
    for axis in spatial:
        cfg.define_split(f"{axis.var.name}", axis, num_outputs=3)
        levels.append(cfg[f"{axis.var.name}"].apply(s, result, axis))
    outer, middle, inner = ([level[n] for level in levels] for n in range(3))
    for name, axes in (("outer", outer), ("middle", middle)):
        cfg.define_reorder(name, axes, "all")
    loops = [
        *cfg["outer"].apply(s, result, outer),
        *cfg["middle"].apply(s, result, middle),
    ]
    s[result].reorder(*loops, *inner, lane)
    for axis in inner:
        s[result].unroll(axis)
    s[result].vectorize(lane)
    s[sums].compute_at(s[result], loops[-1])
    tile = list(s[sums].op.axis)
    parts = []
    for axis in s[sums].op.reduce_axis:
        cfg.define_split(f"{axis.var.name}", axis, num_outputs=2)
        parts.append(cfg[f"{axis.var.name}"].apply(s, sums, axis))
    around, within = [part[0] for part in parts], [part[1] for part in parts]
    cfg.define_reorder("around", around, "all")
    around = cfg["around"].apply(s, sums, around)
    cfg.define_reorder("tile", tile, "all")
    *unrolled, vector = cfg["tile"].apply(s, sums, tile)
    s[sums].reorder(*around, *within, *unrolled, vector)
    cfg.define_knob("unroll", [False, True])
    for axis in [*(within if cfg["unroll"].val else []), *unrolled]:
        s[sums].unroll(axis)
    s[sums].vectorize(vector)
    return s
