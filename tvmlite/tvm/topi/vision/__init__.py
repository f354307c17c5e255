"""``tvm.topi.vision``: object detection operators on boxes and regions of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import relay
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm import lazy
from tvmlite.tvm.topi.operate import operate


def get_valid_counts(
    data: Tensor, score_threshold: Any = 0, id_index: int = 0, score_index: int = 1
) -> list[Tensor]:
    """Return for each image the number of boxes with a score above ``score_threshold``, the boxes with these
    moved to the front, and their indices. The remaining entries are -1."""
    least = relay.const(float(score_threshold), data.dtype)
    return operate(
        "vision.get_valid_counts",
        lambda x: relay.vision.get_valid_counts(x, least, id_index, score_index),
        data,
    )


def non_max_suppression(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: int = -1,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Any:
    """Suppress boxes of ``data`` that overlap a kept box with a higher score by ``iou_threshold`` or more.
    Return the indices of the kept boxes and their number or, without ``return_indices``, the boxes."""
    options = force_suppress, top_k, coord_start, score_index, id_index, return_indices, invalid_to_bottom
    return operate(
        "vision.non_max_suppression",
        lambda x, n, i: relay.vision.non_max_suppression(
            x, n, i, relay.const(max_output_size, "int32"), relay.const(iou_threshold, "float32"), *options
        ),
        data,
        valid_count,
        indices,
    )


def all_class_non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Any,
    iou_threshold: Any,
    score_threshold: Any,
    output_format: str = "onnx",
) -> list[Tensor]:
    """Return rows (batch, class, box) for the boxes that are kept, those of each class by descending score,
    and their number, a tensor of one element. The limits are numbers or tensors."""
    if output_format != "onnx":
        raise UnsupportedError(
            f"topi.vision.all_class_non_max_suppression: output_format is {output_format!r}, expected 'onnx'",
            Span.of_caller(),
        )
    limits = [
        _limit(one, dtype)
        for one, dtype in (
            (max_output_boxes_per_class, "int64"),
            (iou_threshold, "float32"),
            (score_threshold, "float32"),
        )
    ]
    make = relay.vision.all_class_non_max_suppression
    return operate("vision.all_class_non_max_suppression", make, boxes, scores, *limits)


def _limit(given: Any, dtype: str) -> Any:
    """A number as an array, or a tensor of one element as a tensor, of the shape (1,)."""
    if isinstance(given, Tensor):
        return operate("cast", lambda x: relay.reshape(relay.cast(x, dtype), (1,)), given)
    return np.array([given.value if isinstance(given, e.Const) else given], dtype)


def reorg(data: Tensor, stride: int) -> Tensor:
    """Return ``data`` with blocks of ``stride`` by ``stride`` pixels as channels, as YOLO's reorg layer."""
    return operate("vision.yolo_reorg", lambda x: relay.vision.yolo_reorg(x, stride), data)


__getattr__, _lazy = lazy.attributes(
    __name__, "rcnn ssd", {".rcnn": "proposal roi_align_nchw roi_align_nhwc roi_pool_nchw"}
)

__all__ = ["all_class_non_max_suppression", "get_valid_counts", "non_max_suppression", "reorg", *_lazy]  # pyright: ignore[reportUnsupportedDunderAll]
