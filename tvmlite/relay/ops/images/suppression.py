"""Non-maximum suppression: of overlapping boxes, keep the one with the highest score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, TupleType, num_elements, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.reductions.sort import MergeSort
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _type(call: Call, *types: TensorType) -> TupleType:
    boxes, scores, *_ = types
    fits = boxes.ndim == scores.ndim == 3 and same_shape(
        (boxes.shape[0], boxes.shape[1], 4), (scores.shape[0], scores.shape[2], boxes.shape[2])
    )
    if not fits:
        raise fault(
            call,
            f"boxes are {show_shape(boxes.shape)}, scores are {show_shape(scores.shape)}, "
            "expected (batch, boxes, 4) and (batch, classes, boxes)",
        )
    if [one.dtype for one in types] != ["float32", "float32", "int64", "float32", "float32"]:
        raise fault(call, "expected boxes, scores and thresholds of float32, and a number of int64")
    return TupleType((TensorType((num_elements(scores.shape), 3), "int64"), TensorType((1,), "int64")))


def _corners(box: np.ndarray, center: bool) -> np.ndarray:
    """Return the two corners of a box, the lesser coordinates first."""
    if center:
        middle, half = box[:2], box[2:] / np.float32(2)
        return np.concatenate([middle - half, middle + half])
    return np.concatenate([np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])])


def _overlap(a: np.ndarray, b: np.ndarray) -> np.float32:
    """The intersection over union of two boxes."""
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    areas = [np.prod(x[2:] - x[:2], dtype=np.float32) for x in (a, b)]
    common = np.prod(sides, dtype=np.float32)
    union = areas[0] + areas[1] - common
    return np.float32(common / union) if union > 0 else np.float32(0)


def _numpy(call: Call, boxes: np.ndarray, scores: np.ndarray, *limits: np.ndarray) -> tuple[np.ndarray, ...]:
    most, overlap, least = (limit.reshape(-1)[0] for limit in limits)
    rows: list[tuple[int, int, int]] = []
    for batch, kind in np.ndindex(scores.shape[:2]):
        chosen: list[int] = []
        for box in np.argsort(-scores[batch, kind], kind="stable").tolist():
            own = _corners(boxes[batch, box], call["center_point_box"])
            others = [_corners(boxes[batch, one], call["center_point_box"]) for one in chosen]
            is_kept = all(_overlap(own, other) <= overlap for other in others)
            if len(chosen) < most and scores[batch, kind, box] > least and is_kept:
                chosen.append(box)
        rows += [(batch, kind, box) for box in chosen]
    table = np.zeros((scores.size, 3), np.int64)
    table[: len(rows)] = np.reshape(rows, (-1, 3))
    return table, np.array([len(rows)], np.int64)


@statement(
    "vision.all_class_non_max_suppression", infer=_type, reference=_numpy, attrs={"center_point_box": False}
)
def all_class_non_max_suppression(
    call: Call,
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Tensor,
    iou_threshold: Tensor,
    score_threshold: Tensor,
) -> list[Tensor]:
    """Return rows (batch, class, box) of kept boxes, best first in a class, then zeros; and their number.

    A box is kept if its score is above ``score_threshold``, its intersection over union with each kept box is
    at most ``iou_threshold``, and fewer than ``max_output_boxes_per_class`` are kept. Boxes are two corners,
    or centre and sides with ``center_point_box``. TVM's operator also accepts numbers for the three limits,
    and has ``output_format``; here the limits are expressions, an int64 and two float32, and the rows are
    ONNX's.
    """
    batches, kinds, count = scores.shape
    rows_shape = (num_elements(scores.shape), 3)

    def body(*buffers: loop.Buffer) -> loop.Stmt:
        boxes_in, scores_in, max_outputs, max_overlap, min_score, rows, total = buffers
        place, start = loops.Cell("place"), loops.Cell("start")
        is_kept = loops.Cell("apart", "bool")

        def corners(batch: e.Expr, box: e.Expr) -> list[e.Expr]:
            a, b, c, d = (loops.load(boxes_in, batch, box, k) for k in range(4))
            if call["center_point_box"]:
                tall, wide = (e.Mul(side, e.const(0.5, "float32")) for side in (c, d))
                return [e.Sub(a, tall), e.Sub(b, wide), e.Add(a, tall), e.Add(b, wide)]
            return [e.Min(a, c), e.Min(b, d), e.Max(a, c), e.Max(b, d)]

        def overlap(a: list[e.Expr], b: list[e.Expr]) -> e.Expr:
            zero = e.const(0.0, "float32")
            sides = [e.Max(e.Sub(e.Min(a[k + 2], b[k + 2]), e.Max(a[k], b[k])), zero) for k in range(2)]
            common = e.Mul(*sides)
            first, second = (e.Mul(e.Sub(x[2], x[0]), e.Sub(x[3], x[1])) for x in (a, b))
            union = e.Sub(e.Add(first, second), common)
            nonempty = union > zero
            return e.Select(nonempty, e.Div(common, e.Select(nonempty, union, e.const(1.0, "float32"))), zero)

        def consider(batch: e.Expr, kind: e.Expr, box: e.Expr) -> loop.Stmt:
            def compare(k: e.Expr) -> loop.Stmt:
                other = corners(batch, loops.load(rows, start.value + k, 2))
                overlaps = overlap(corners(batch, box), other) > loops.load(max_overlap, 0)
                return loop.If(overlaps, is_kept.set(False))

            keep = [loops.store(rows, (place.value, k), v) for k, v in enumerate((batch, kind, box))]
            decide = loop.sequence(
                is_kept.set(True),
                loops.over(place.value - start.value, compare, "other"),
                loop.If(is_kept.value, loop.sequence(*keep, place.set(place.value + 1))),
            )
            good = loops.load(scores_in, batch, kind, box) > loops.load(min_score, 0)
            room = place.value - start.value < loops.load(max_outputs, 0)
            return loop.If(e.And(good, room), decide)

        def one_class(batch: e.Expr, kind: e.Expr) -> loop.Stmt:
            order = MergeSort(lambda k: loops.load(scores_in, batch, kind, k), count, ascending=False)

            def each(at: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
                return loops.over(
                    count, lambda k: loops.let("box", at(k), lambda box: consider(batch, kind, box)), "k"
                )

            return loop.sequence(start.set(place.value), order.then(each))

        empty = loops.nest(rows_shape, lambda *i: loops.store(rows, i, e.const(0, "int64")), name="z")
        classes = loops.nest((batches, kinds), one_class)
        done = loops.store(total, (0,), place.value)
        return loops.allocated(loop.sequence(empty, place.set(0), classes, done), place, start, is_kept)

    given = [boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold]
    outputs = [(rows_shape, "int64"), ((1,), "int64")]
    return loops.extern("suppression", given, outputs, body)
