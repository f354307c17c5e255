"""Anchor boxes of single-shot detectors, and Darknet's reorganization, as in TVM."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite.relay.ir.attributes import INTEGER, NUMBER, QUANTITIES, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import REQUIRED, Rounding, make
from tvmlite.relay.ir.types import Dim, TensorType, TupleType, normal_dim, same_shape, show_shape
from tvmlite.relay.ops import loops, windows
from tvmlite.relay.ops.common import FLOAT, expect, fault, intrinsic, one_dtype, scalar_of
from tvmlite.relay.ops.register import Indices, injective, statement
from tvmlite.relay.ops.written_out import reshaped, written_out
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _numbers(*default: float) -> Attribute:
    return Attribute(default, lambda _: QUANTITIES)


def _several(call: Call, name: str, count: int | None = None) -> tuple[float, ...]:
    values = call[name] if isinstance(call[name], tuple) else (call[name],)
    if not values or (count is not None and len(values) != count):
        wanted = "at least one number" if count is None else f"{count} numbers"
        raise fault(call, f"{name} is {values}, expected {wanted}")
    return values


def _prior_type(call: Call, data: TensorType) -> TensorType:
    windows.check_rank(call, "data", data, 4)
    expect(call, "data is", data.dtype, FLOAT)
    _several(call, "steps", 2)
    _several(call, "offsets", 2)
    if min(_several(call, "sizes")) <= 0 or min(_several(call, "ratios")) <= 0:
        raise fault(call, f"sizes are {call['sizes']}, ratios are {call['ratios']}, expected them above 0")
    return TensorType((1, normal_dim(data.shape[2] * data.shape[3] * _kinds(call)), 4), data.dtype)


def _kinds(call: Call) -> int:
    return len(_several(call, "sizes")) + len(_several(call, "ratios")) - 1


def _shapes_of(call: Call) -> list[tuple[float, float]]:
    """The size and the square root of the ratio of each kind of box.

    These are every size with ratio 1, then the first size with every ratio but the first.
    """
    sizes, ratios = _several(call, "sizes"), _several(call, "ratios")
    return [*((s, 1.0) for s in sizes), *((sizes[0], math.sqrt(r)) for r in ratios[1:])]


def _prior_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    height, width = data.shape[2:]
    rows = []
    step_y, step_x = (s if s > 0 else 1 / n for s, n in zip(call["steps"], (height, width), strict=True))
    for y in range(height):
        for x in range(width):
            cy, cx = (y + call["offsets"][0]) * step_y, (x + call["offsets"][1]) * step_x
            for size, root in _shapes_of(call):
                w, h = size * height / width * root / 2, size / root / 2
                rows.append((cx - w, cy - h, cx + w, cy + h))
    made = np.array(rows, np.float64).reshape(1, -1, 4)
    return (np.clip(made, 0, 1) if call["clip"] else made).astype(data.dtype)


@injective(
    "vision.multibox_prior",
    rounding=Rounding.MANY,
    infer=_prior_type,
    reference=_prior_numpy,
    attrs={
        "sizes": _numbers(1.0),
        "ratios": _numbers(1.0),
        "steps": _numbers(-1.0, -1.0),
        "offsets": _numbers(0.5, 0.5),
        "clip": False,
    },
)
def multibox_prior(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Anchor boxes ``(1, boxes, (x0, y0, x1, y1))`` around each pixel of ``data``, relative to the image.

    A pixel has one box for each of ``sizes``, then one of the first size for each further of ``ratios``.
    ``steps`` are the distances between pixels, rows first, by default those of the image; ``offsets`` is
    where the centre is in a pixel. The elements of the data are not read.
    """
    height, width = data.shape[2:]
    kinds, dtype = _kinds(call), data.dtype
    place, kind = i[1] // kinds, i[1] % kinds

    def number(value: float) -> e.Expr:
        return e.const(float(value), dtype)

    def spread(value: Any) -> e.Expr:
        return scalar_of(value, dtype) if isinstance(value, e.Expr) else number(value)

    middles = []
    for index, extent, step, offset in zip(
        (place // width, place % width), (height, width), call["steps"], call["offsets"], strict=True
    ):
        spacing = number(step) if step > 0 else e.Div(number(1), spread(extent))
        middles.append((e.cast(dtype, index) + number(offset)) * spacing)
    shapes = _shapes_of(call)
    box_width, box_height = (_chosen(kind, [number(x) for x in row]) for row in (
        [size * root / 2 for size, root in shapes], [size / root / 2 for size, root in shapes],
    ))  # fmt: skip
    box_width = box_width * spread(height) / spread(width)
    cy, cx = middles
    value = _chosen(i[2], [cx - box_width, cy - box_height, cx + box_width, cy + box_height])
    return e.Max(e.Min(value, number(1)), number(0)) if call["clip"] else value


def _chosen(which: e.Expr, values: list[e.Expr]) -> e.Expr:
    """Return the element ``which`` of ``values``."""
    found = values[0]
    for position, value in enumerate(values[1:], start=1):
        found = e.Select(which >= position, value, found)
    return found


# --- boxes from anchors -----------------------------------------------------------------------------


def _transform_type(call: Call, cls_prob: TensorType, loc_pred: TensorType, anchor: TensorType) -> TupleType:
    expect(call, "cls_prob is", one_dtype(call, cls_prob, loc_pred, anchor), FLOAT)
    _several(call, "variances", 4)
    if cls_prob.ndim != 3:
        raise fault(call, f"cls_prob is {show_shape(cls_prob.shape)}, expected (batch, classes, anchors)")
    batch, _, count = cls_prob.shape
    numbers: Dim = normal_dim(count * 4)
    fits = same_shape(loc_pred.shape, (batch, numbers)) and same_shape(anchor.shape, (1, count, 4))
    if not fits:
        raise fault(
            call,
            f"loc_pred is {show_shape(loc_pred.shape)}, anchor is {show_shape(anchor.shape)}, expected "
            f"{show_shape((batch, numbers))} and {show_shape((1, count, 4))}",
        )
    return TupleType((TensorType((batch, count, 6), cls_prob.dtype), TensorType((batch,), "int32")))


def _transform_numpy(
    call: Call, cls_prob: np.ndarray, loc_pred: np.ndarray, anchor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    batch, classes, count = cls_prob.shape
    rows, valid = np.full((batch, count, 6), -1, cls_prob.dtype), np.zeros(batch, np.int32)
    if classes < 2:
        return rows, valid
    vx, vy, vw, vh = call["variances"]
    for b in range(batch):
        best = cls_prob[b, 1:].argmax(axis=0)
        for j in range(count):
            score = cls_prob[b, 1 + best[j], j]
            if score < call["threshold"] or not score > -1:
                continue
            x0, y0, x1, y1 = anchor[0, j].astype(np.float64)
            px, py, pw, ph = loc_pred[b, 4 * j : 4 * j + 4].astype(np.float64)
            cx, cy = px * vx * (x1 - x0) + (x0 + x1) / 2, py * vy * (y1 - y0) + (y0 + y1) / 2
            w, h = np.exp(pw * vw) * (x1 - x0) / 2, np.exp(ph * vh) * (y1 - y0) / 2
            box = np.array([cx - w, cy - h, cx + w, cy + h])
            rows[b, valid[b]] = (best[j], score, *(np.clip(box, 0, 1) if call["clip"] else box))
            valid[b] += 1
    return rows, valid


@statement(
    "vision.multibox_transform_loc",
    infer=_transform_type,
    reference=_transform_numpy,
    attrs={
        "clip": True,
        "threshold": Attribute(0.01, lambda _: NUMBER),
        "variances": _numbers(0.1, 0.1, 0.2, 0.2),
    },
)
def multibox_transform_loc(call: Call, cls_prob: Tensor, loc_pred: Tensor, anchor: Tensor) -> list[Tensor]:
    """Decode boxes from anchors: rows (class, score, x0, y0, x1, y1), and their number in each batch.

    An anchor gives a row if the best of its classes, apart from the background class 0, has a score of at
    least ``threshold``. The first class after the background is 0. ``loc_pred``, times ``variances``, moves
    and scales the anchor; ``clip`` limits it to 0 .. 1. The remaining rows are -1.
    """
    batch, classes, count = cls_prob.shape
    dtype = cls_prob.dtype

    def number(value: float) -> e.Expr:
        return e.const(float(value), dtype)

    def body(
        scores: loop.Buffer, moves: loop.Buffer, anchors: loop.Buffer, rows: loop.Buffer, valid: loop.Buffer
    ) -> loop.Stmt:
        def one(b: e.Expr) -> loop.Stmt:
            best, score, place = loops.Cell("best"), loops.Cell("score", dtype), loops.Cell("place")

            def empty(j: e.Expr) -> loop.Stmt:
                return loops.over(6, lambda x: loops.store(rows, (b, j, x), number(-1)), "x")

            def compare(j: e.Expr, k: e.Expr) -> loop.Stmt:
                own = loops.load(scores, b, k, j)
                return loop.If(score.value < own, loop.sequence(best.set(k), score.set(own)))

            def box(j: e.Expr) -> list[e.Expr]:
                x0, y0, x1, y1 = (loops.load(anchors, 0, j, c) for c in range(4))
                px, py, pw, ph = (
                    loops.load(moves, b, j * 4 + c) * number(v) for c, v in enumerate(call["variances"])
                )
                width, height = x1 - x0, y1 - y0
                cx, cy = px * width + (x0 + x1) * number(0.5), py * height + (y0 + y1) * number(0.5)
                w = intrinsic("exp", pw) * width * number(0.5)
                h = intrinsic("exp", ph) * height * number(0.5)
                corners: list[e.Expr] = [cx - w, cy - h, cx + w, cy + h]
                if call["clip"]:
                    corners = [e.Max(e.Min(c, number(1)), number(0)) for c in corners]
                return corners

            def anchor_of(j: e.Expr) -> loop.Stmt:
                at = place.value
                values = [e.cast(dtype, best.value - 1), score.value, *box(j)]
                puts = [loops.store(rows, (b, at, x), value) for x, value in enumerate(values)]
                good = e.And(best.value > 0, number(call["threshold"]) <= score.value)
                return loop.sequence(
                    best.set(0),
                    score.set(number(-1)),
                    loops.over(loops.index(classes) - 1, lambda k: compare(j, k), "k", start=1),
                    loop.If(good, loop.sequence(*puts, place.set(at + 1))),
                )

            parts = loops.over(count, empty, "e"), place.set(0), loops.over(count, anchor_of, "j")
            done = loops.store(valid, (b,), place.value)
            return loops.allocated(loop.sequence(*parts, done), best, score, place)

        return loops.over(batch, one, "b", kind=loop.PARALLEL)

    kinds: list[Any] = [((batch, count, 6), dtype), ((batch,), "int32")]
    return loops.extern("multibox_transform_loc", [cls_prob, loc_pred, anchor], kinds, body)


# --- yolo_reorg -------------------------------------------------------------------------------------


def _reorg_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    (n, c, h, w), s = data.shape, call["stride"]
    out_channels, flat = c // (s * s), data.reshape(-1)
    b, k, j, i = np.indices(data.shape)
    x, y = i * s + k // out_channels % s, j * s + k // out_channels // s
    places = x + w * s * (y + h * s * (k % out_channels + out_channels * b))
    return flat[places].reshape(n, c * s * s, h // s, w // s)


@written_out(
    "vision.yolo_reorg", reference=_reorg_numpy, attrs={"stride": Attribute(REQUIRED, lambda _: INTEGER)}
)
def yolo_reorg(call: Call, data: Expr) -> Expr:
    """Darknet's reorganization: ``(n, c, h, w)`` to ``(n, c * stride**2, h / stride, w / stride)``."""
    shape, s = tensor_type_of(data).shape, call["stride"]
    if len(shape) != 4 or any(not isinstance(extent, int) for extent in shape[1:]):
        raise fault(call, f"data is {show_shape(shape)}, expected 4 axes, all but the batch of known extents")
    n, c, h, w = shape
    if s < 1 or c % (s * s) or h % s or w % s:
        raise fault(
            call,
            f"data is {show_shape(shape)}, stride is {s}, which must divide the sides and, squared, the "
            "channels",
        )
    wide = reshaped(data, (n, c // (s * s), h * s, w * s))
    made = make("nn.space_to_depth", wide, block_size=s)
    return reshaped(made, (n, c * s * s, h // s, w // s))
