"""``tvm.topi.vision.ssd``: the boxes of single-shot detectors (SSD)."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite import relay, te
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.operate import operate
from tvmlite.tvm.topi.vision import non_max_suppression


def multibox_prior(
    data: Tensor,
    sizes: Sequence[float] = (1,),
    ratios: Sequence[float] = (1,),
    steps: Sequence[float] = (-1, -1),
    offsets: Sequence[float] = (0.5, 0.5),
    clip: bool = False,
) -> Tensor:
    """Return the anchor boxes around each pixel of ``data``, one for each size and each further ratio."""
    given = [tuple(float(one) for one in group) for group in (sizes, ratios, steps, offsets)]
    return operate("vision.multibox_prior", lambda x: relay.vision.multibox_prior(x, *given, clip), data)


def multibox_transform_loc(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
) -> list[Tensor]:
    """Return rows (class, score, x0, y0, x1, y1) for the anchors whose best class has a score of at least
    ``threshold``, each moved and scaled by ``loc_pred``, and their number for each image."""
    return operate(
        "vision.multibox_transform_loc",
        lambda *x: relay.vision.multibox_transform_loc(*x, clip, threshold, tuple(variances)),
        cls_prob,
        loc_pred,
        anchor,
    )


def multibox_detection(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Tensor:
    """Return the boxes of ``multibox_transform_loc`` after ``non_max_suppression``."""
    boxes, count = multibox_transform_loc(cls_prob, loc_pred, anchor, clip, threshold, variances)
    options = -1, nms_threshold, force_suppress, nms_topk
    indices = te.compute(boxes.shape[:2], lambda n, i: i, name="indices")
    return non_max_suppression(boxes, count, indices, *options, return_indices=False)


__getattr__ = refusing(__name__)
