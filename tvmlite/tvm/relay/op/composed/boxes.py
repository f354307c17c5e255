"""TVM's functions for non-maximum suppression of boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.relay.expr import Tuple, TupleWrapper, const
from tvmlite.tvm.relay.op.arguments import argument_type, known_type
from tvmlite.tvm.relay.op.builders import function

_ALL = 2**31 - 1
"""A limit that no class reaches, and the end of an axis in a slice."""


def non_max_suppression(
    data: Any,
    valid_count: Any,
    indices: Any,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    *args: Any,
    **options: Any,
) -> Any:
    """The boxes of ``data`` that do not overlap a box of a higher score by more than ``iou_threshold``.

    Without ``return_indices``, ``indices`` need not be a matrix: it is then replaced by zeros.
    """
    known = known_type(indices)
    if options.get("return_indices") is False and getattr(known, "ndim", 2) != 2:
        indices = function("zeros")(argument_type(data).shape[:2], "int32")
    if not isinstance(max_output_size, nodes.Expr):
        max_output_size = const(max_output_size, "int32")
    if not isinstance(iou_threshold, nodes.Expr):
        iou_threshold = const(iou_threshold, "float32")
    given = (data, valid_count, indices, max_output_size, iou_threshold)
    return function("vision.non_max_suppression")(*given, *args, **options)


def all_class_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> Any:
    """Non-maximum suppression for each class. The limits are numbers or tensors; a number below 0 for
    ``max_output_boxes_per_class`` means no limit.

    With the format ``"onnx"``, the results are rows (batch, class, box) and their count. With
    ``"tensorflow"``, they are, for each batch, rows (class, box) with room for all boxes of all classes,
    their scores, and the count of selected boxes; the entries after the selected ones are 0.
    """
    if output_format not in ("onnx", "tensorflow"):
        raise TvmliteError(
            f"all_class_non_max_suppression: output_format is {show(output_format)}, expected 'onnx' or "
            "'tensorflow'",
            Span.of_caller(),
        )
    if isinstance(max_output_boxes_per_class, int) and max_output_boxes_per_class < 0:
        max_output_boxes_per_class = _ALL
    given = ((max_output_boxes_per_class, "int64"), (iou_threshold, "float32"), (score_threshold, "float32"))
    limits = (
        function("cast")(function("reshape")(one, (1,)), dtype)
        if isinstance(one, nodes.Expr) else const(np.array([one]), dtype) for one, dtype in given
    )  # fmt: skip
    rows = function("vision.all_class_non_max_suppression")(boxes, scores, *limits)
    return rows if output_format == "onnx" else _by_batch(scores, rows[0], rows[1])


def _by_batch(scores: Any, rows: Any, count: Any) -> TupleWrapper:
    """The results in the ``"tensorflow"`` format, from the first ``count`` of ``rows`` (batch, class, box),
    which are sorted by batch."""
    batches, classes, boxes = argument_type(scores).shape
    dtype = argument_type(scores).dtype
    numbers = function("arange")(0, argument_type(rows).shape[0], 1, dtype="int64")
    stays = function("less")(numbers, count)
    rows = function("where")(function("expand_dims")(stays, 1), rows, const(0, "int64"))
    batch = function("take")(rows, const(0), axis=1)
    found = function("zeros")((batches,), "int64")
    found = function("scatter_elements")(found, batch, function("cast")(stays, "int64"), 0, "add")
    starts = function("cumsum")(found, axis=0, exclusive=True)
    # rows that are not selected are added as 0 to index 0
    place = function("subtract")(numbers, function("take")(starts, batch, axis=0))
    place = function("where")(stays, place, const(0, "int64"))
    places = function("stack")([batch, place], axis=0)

    def put(values: Any, dtype: str, *rest: int) -> Any:
        zeros = function("zeros")((batches, classes * boxes, *rest), dtype)
        return function("scatter_nd")(zeros, places, values, mode="add")

    indices = put(function("strided_slice")(rows, (0, 1), (_ALL, 3)), "int64", 2)
    own = function("gather_nd")(scores, function("transpose")(rows, (1, 0)))
    own = function("where")(stays, own, const(0, dtype))
    return TupleWrapper(Tuple((indices, put(own, dtype), found)), 3)
