"""Region proposals of Faster R-CNN, as in TVM."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir.attributes import INTEGER, NUMBER, QUANTITIES, Attribute
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import TensorType, same_dim, show_shape
from tvmlite.relay.ops import loops, windows
from tvmlite.relay.ops.common import expect_extent, fault, intrinsic, one_dtype
from tvmlite.relay.ops.reductions.sort import MergeSort
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

F32 = "float32"


def _anchors(call: Call) -> list[tuple[float, ...]]:
    """The anchors around the first pixel: each scale for each ratio."""
    base, found = float(call["feature_stride"]), []
    for ratio in call["ratios"]:
        for scale in call["scales"]:
            width = math.floor(math.sqrt(math.floor(base * base / ratio)) + 0.5) * scale
            height = math.floor(width / scale * ratio + 0.5) * scale
            middle, half = 0.5 * (base - 1), (0.5 * (width - 1), 0.5 * (height - 1))
            found.append((middle - half[0], middle - half[1], middle + half[0], middle + half[1]))
    return found


def _infer(call: Call, cls_prob: TensorType, bbox_pred: TensorType, im_info: TensorType) -> TensorType:
    if one_dtype(call, cls_prob, bbox_pred, im_info) != F32:
        raise fault(call, f"dtypes are {cls_prob.dtype}, expected {F32}")
    windows.check_rank(call, "cls_prob", cls_prob, 4)
    windows.check_rank(call, "bbox_pred", bbox_pred, 4)
    for name in ("scales", "ratios"):
        if not call[name] or min(call[name]) <= 0:
            raise fault(call, f"{name} are {call[name]}, expected numbers above 0")
    if call["feature_stride"] < 1 or call["rpn_post_nms_top_n"] < 1:
        raise fault(
            call,
            f"feature_stride is {call['feature_stride']}, rpn_post_nms_top_n is "
            f"{call['rpn_post_nms_top_n']}, expected at least 1",
        )
    count = len(call["scales"]) * len(call["ratios"])
    expect_extent(call, "the number of channels of cls_prob", cls_prob.shape[1], 2 * count)
    expect_extent(call, "the number of channels of bbox_pred", bbox_pred.shape[1], 4 * count)
    for axis in (0, 2, 3):
        expect_extent(call, f"the extent {axis} of bbox_pred", bbox_pred.shape[axis], cls_prob.shape[axis])
    if (
        im_info.ndim != 2
        or not same_dim(im_info.shape[1], 3)
        or not same_dim(im_info.shape[0], cls_prob.shape[0])
    ):
        raise fault(call, f"im_info is {show_shape(im_info.shape)}, expected (batch, 3)")
    return TensorType((cls_prob.shape[0] * call["rpn_post_nms_top_n"], 5), F32)


def _numpy(call: Call, cls_prob: np.ndarray, bbox_pred: np.ndarray, im_info: np.ndarray) -> np.ndarray:
    batch, _, height, width = cls_prob.shape
    anchors, stride, top = _anchors(call), call["feature_stride"], call["rpn_post_nms_top_n"]
    f32, result = np.float32, np.zeros((batch * top, 5), np.float32)
    for b in range(batch):
        image_height, image_width, scale = im_info[b]
        min_size, rows = f32(scale * call["rpn_min_size"]), []
        for y, x in np.ndindex(height, width):
            for k, anchor in enumerate(anchors):
                box = np.array(anchor, np.float64) + np.array([x, y, x, y]) * stride
                delta = bbox_pred[b, 4 * k : 4 * k + 4, y, x].astype(np.float64)
                if call["iou_loss"]:
                    box = box + delta
                else:
                    size = box[2:] - box[:2] + 1
                    middle = delta[:2] * size + box[:2] + 0.5 * (size - 1)
                    half = 0.5 * (np.exp(delta[2:]) * size - 1)
                    box = np.concatenate([middle - half, middle + half])
                box = np.clip(box, 0, [image_width - 1, image_height - 1, image_width - 1, image_height - 1])
                score = cls_prob[b, len(anchors) + k, y, x]
                if y >= int(image_height / stride) or x >= int(image_width / stride):
                    score = f32(-1)
                if min(box[2:] - box[:2] + 1) < min_size:
                    box, score = box + min_size / 2 * np.array([-1, -1, 1, 1]), f32(-1)
                rows.append((*box, score))
        order = np.argsort([-row[4] for row in rows], kind="stable")
        most = call["rpn_pre_nms_top_n"]
        boxes = np.array(rows)[order[: most if most > 0 else None], :4]
        kept: list[np.ndarray] = []
        for box in boxes:
            if all(_overlap_numpy(box, other) <= call["threshold"] for other in kept):
                kept.append(box)
        for place in range(top):
            result[b * top + place] = (b, *kept[place % len(kept)])
    return result


def _overlap_numpy(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + 1, 0)
    common = sides.prod()
    return common / ((a[2:] - a[:2] + 1).prod() + (b[2:] - b[:2] + 1).prod() - common)


@statement(
    "vision.proposal",
    infer=_infer,
    reference=_numpy,
    attrs={
        **{name: Attribute(REQUIRED, lambda _: QUANTITIES) for name in ("scales", "ratios")},
        "feature_stride": Attribute(REQUIRED, lambda _: INTEGER),
        "threshold": Attribute(REQUIRED, lambda _: NUMBER),
        **{
            name: Attribute(REQUIRED, lambda _: INTEGER)
            for name in ("rpn_pre_nms_top_n", "rpn_post_nms_top_n", "rpn_min_size")
        },
        "iou_loss": False,
    },
)
def proposal(call: Call, cls_prob: Tensor, bbox_pred: Tensor, im_info: Tensor) -> Tensor:
    """Region proposals: ``rpn_post_nms_top_n`` rows ``(batch, x0, y0, x1, y1)`` for each image.

    Anchors around each pixel of ``cls_prob`` are moved by ``bbox_pred``, and scaled unless ``iou_loss``. Of
    the ``rpn_pre_nms_top_n`` best, those whose intersection over union with a better one exceeds
    ``threshold`` are dropped. If too few are left, they are repeated.

    ``im_info`` is height, width and scale of each image. The first half of the channels of ``cls_prob`` is
    for the background. Boxes smaller than ``rpn_min_size`` times the scale come last.
    """
    return _Proposal(call, cls_prob).tensor([cls_prob, bbox_pred, im_info])


def _number(value: float) -> e.Expr:
    return e.const(float(value), F32)


class _Proposal:
    """The loops of proposals."""

    def __init__(self, call: Call, cls_prob: Tensor) -> None:
        self.call, self.anchors = call, _anchors(call)
        self.batches, _, self.height, self.width = cls_prob.shape
        self.count = self.height * self.width * len(self.anchors)
        self.boxes = loops.buffer("boxes", (self.count, 5), F32)
        self.kept = loops.buffer("kept", (self.count,), loops.INT)
        self.number_kept = loops.Cell("number_kept")
        self.is_kept = loops.Cell("apart", "bool")

    def tensor(self, given: list[Tensor]) -> Tensor:
        """Return the result."""
        shape = (self.batches * self.call["rpn_post_nms_top_n"], 5)
        return loops.extern("proposal", given, [(shape, F32)], self._body)[0]

    def _body(
        self, scores: loop.Buffer, moves: loop.Buffer, info: loop.Buffer, out: loop.Buffer
    ) -> loop.Stmt:
        self.scores, self.moves, self.info, self.out = scores, moves, info, out

        def one(b: e.Expr) -> loop.Stmt:
            order = MergeSort(lambda k: loops.load(self.boxes, k, 4), self.count, ascending=False)
            steps = [
                loops.nest((self.height, self.width), lambda y, x: self._pixel(b, y, x), name="p"),
                self.number_kept.set(0),
                order.then(self._select),
                loops.over(self.call["rpn_post_nms_top_n"], lambda k: self._write(b, k), "w"),
            ]
            return loops.allocated(
                loop.sequence(*steps), self.boxes, self.kept, self.number_kept, self.is_kept
            )

        return loops.over(self.batches, one, "b", kind=loop.PARALLEL)

    def _pixel(self, b: e.Expr, y: e.Expr, x: e.Expr) -> loop.Stmt:
        return loop.sequence(*(self._anchor(b, y, x, k) for k in range(len(self.anchors))))

    def _anchor(self, b: e.Expr, y: e.Expr, x: e.Expr, k: int) -> loop.Stmt:
        stride, count = self.call["feature_stride"], len(self.anchors)
        image_height, image_width, scale = (loops.load(self.info, b, part) for part in range(3))
        min_size = scale * _number(self.call["rpn_min_size"])
        across, down = (e.cast(F32, place * stride) for place in (x, y))
        corners = [
            _number(part) + shift
            for part, shift in zip(self.anchors[k], (across, down, across, down), strict=True)
        ]
        deltas = [loops.load(self.moves, b, 4 * k + part, y, x) for part in range(4)]
        box = self._apply_deltas(corners, deltas)
        limits = (image_width, image_height, image_width, image_height)
        box = [
            e.Max(e.Min(part, limit - _number(1)), _number(0))
            for part, limit in zip(box, limits, strict=True)
        ]
        outside = e.any_of([
            place >= e.cast(loops.INT, side / _number(stride))
            for place, side in ((y, image_height), (x, image_width))
        ])  # fmt: skip
        score = e.Select(outside, _number(-1), loops.load(self.scores, b, count + k, y, x))
        sides = [box[2] - box[0] + _number(1), box[3] - box[1] + _number(1)]
        small = e.any_of([side < min_size for side in sides])
        half = min_size * _number(0.5)
        grown = [box[0] - half, box[1] - half, box[2] + half, box[3] + half]
        row = (y * self.width + x) * count + k
        values = [e.Select(small, a, c) for a, c in zip(grown, box, strict=True)]
        puts = [*values, e.Select(small, _number(-1), score)]
        return loop.sequence(
            *(loops.store(self.boxes, (row, part), value) for part, value in enumerate(puts))
        )

    def _apply_deltas(self, corners: list[e.Expr], deltas: list[e.Expr]) -> list[e.Expr]:
        if self.call["iou_loss"]:
            return [corner + delta for corner, delta in zip(corners, deltas, strict=True)]
        low, high = [], []
        for axis in (0, 1):
            size = corners[axis + 2] - corners[axis] + _number(1)
            middle = deltas[axis] * size + (corners[axis] + _number(0.5) * (size - _number(1)))
            half = _number(0.5) * (intrinsic("exp", deltas[axis + 2]) * size - _number(1))
            low.append(middle - half)
            high.append(middle + half)
        return [*low, *high]

    def _select(self, at: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
        most: Any = loops.index(self.count)
        if self.call["rpn_pre_nms_top_n"] > 0:
            most = e.Min(*e.match(most, self.call["rpn_pre_nms_top_n"]))

        def consider(k: e.Expr) -> loop.Stmt:
            return loops.let("own", at(k), self._consider)

        return loops.over(most, consider, "k")

    def _consider(self, own: e.Expr) -> loop.Stmt:
        def compare(k: e.Expr) -> loop.Stmt:
            overlaps = self._overlap(own, loops.load(self.kept, k)) > _number(self.call["threshold"])
            return loop.If(overlaps, self.is_kept.set(False))

        place = self.number_kept.value
        keep = loop.sequence(loops.store(self.kept, (place,), own), self.number_kept.set(place + 1))
        return loop.sequence(
            self.is_kept.set(True), loops.over(place, compare, "o"), loop.If(self.is_kept.value, keep)
        )

    def _overlap(self, own: e.Expr, other: e.Expr) -> e.Expr:
        """The intersection over union of two boxes, which include their last pixels."""
        a, b = ([loops.load(self.boxes, one, part) for part in range(4)] for one in (own, other))
        one, zero = _number(1), _number(0)
        sides = [e.Max(e.Min(a[k + 2], b[k + 2]) - e.Max(a[k], b[k]) + one, zero) for k in (0, 1)]
        common = sides[0] * sides[1]
        first, second = ((x[2] - x[0] + one) * (x[3] - x[1] + one) for x in (a, b))
        return common / (first + second - common)

    def _write(self, b: e.Expr, k: e.Expr) -> loop.Stmt:
        count = e.Max(*e.match(self.number_kept.value, 1))

        def row(source: e.Expr) -> loop.Stmt:
            place = b * self.call["rpn_post_nms_top_n"] + k
            parts = [
                loops.store(self.out, (place, c + 1), loops.load(self.boxes, source, c)) for c in range(4)
            ]
            return loop.sequence(loops.store(self.out, (place, 0), e.cast(F32, b)), *parts)

        return loops.let("source", loops.load(self.kept, k % count), row)
