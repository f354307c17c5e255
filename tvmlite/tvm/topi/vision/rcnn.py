"""``tvm.topi.vision.rcnn``: region proposals, and pooling of regions to one size."""

from __future__ import annotations

from typing import Any

from tvmlite import relay
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import each
from tvmlite.tvm.topi.operate import operate


def _roi_align(
    data: Tensor, rois: Tensor, size: Any, scale: float, mode: Any, ratio: int, layout: str
) -> Tensor:
    kind = {0: "avg", 1: "max"}.get(mode, mode.decode() if isinstance(mode, bytes) else mode)
    return operate(
        "vision.roi_align",
        lambda x, r: relay.vision.roi_align(x, r, each(size, 2), scale, ratio, layout, kind),
        data,
        rois,
    )


def roi_align_nchw(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any, sample_ratio: int = -1
) -> Tensor:
    """Return the regions ``rois`` of NCHW images, pooled to ``pooled_size`` from interpolated samples."""
    return _roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, "NCHW")


def roi_align_nhwc(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any, sample_ratio: int = -1
) -> Tensor:
    """Return the regions ``rois`` of NHWC images, pooled to ``pooled_size`` from interpolated samples."""
    return _roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, "NHWC")


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float) -> Tensor:
    """Return the regions ``rois`` of NCHW images, pooled to ``pooled_size`` by the maximum."""
    size = each(pooled_size, 2)
    return operate(
        "vision.roi_pool", lambda x, r: relay.vision.roi_pool(x, r, size, spatial_scale), data, rois
    )


def proposal(
    cls_prob: Tensor,
    bbox_pred: Tensor,
    im_info: Tensor,
    scales: Any,
    ratios: Any,
    feature_stride: int,
    threshold: float,
    rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int,
    rpn_min_size: int,
    iou_loss: bool,
) -> Tensor:
    """Return the regions that a region proposal network proposes, by descending score."""
    options = feature_stride, threshold, rpn_pre_nms_top_n, rpn_post_nms_top_n, rpn_min_size, iou_loss
    return operate(
        "vision.proposal",
        lambda *x: relay.vision.proposal(*x, tuple(scales), tuple(ratios), *options),
        cls_prob,
        bbox_pred,
        im_info,
    )


__getattr__ = refusing(__name__)
