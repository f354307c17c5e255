"""TVM's fusion classes of operators, ``TOpPattern``."""

from __future__ import annotations

from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.op import Fuse

_OTHERS: dict[Fuse, str] = {
    Fuse.ELEMWISE: """
        cast_like fixed_point_multiply full_like ones_like qnn.dequantize qnn.quantize qnn.requantize trilu
        zeros_like
    """,
    Fuse.BROADCAST: """
        broadcast_to_like expand_dims fixed_point_multiply_per_axis qnn.add qnn.mul qnn.subtract repeat tile
    """,
    Fuse.INJECTIVE: """
        adv_index contrib_reverse_reshape einsum image.grid_sample image.resize1d image.resize2d
        image.resize3d invert_permutation meshgrid ndarray_size nn.batch_flatten nn.batch_to_space_nd
        nn.mirror_pad nn.space_to_batch_nd nn.upsampling nn.upsampling3d qnn.concatenate reshape_like
        slice_like vision.yolo_reorg
    """,
    Fuse.COMM_REDUCE: "collapse_sum_like collapse_sum_to variance",
    Fuse.OUT_ELEMWISE_FUSABLE: """
        nn.adaptive_avg_pool1d nn.adaptive_avg_pool3d nn.adaptive_max_pool1d nn.adaptive_max_pool3d
        nn.batch_norm nn.contrib_conv2d_winograd_weight_transform nn.deformable_conv2d nn.fast_softmax
        nn.log_softmax nn.nll_loss nn.softmax one_hot qnn.avg_pool2d qnn.batch_matmul qnn.conv2d qnn.dense
        vision.roi_align vision.roi_pool
    """,
    Fuse.OPAQUE: "nn.dropout nn.lrn",
}
"""The operators whose fusion class in TVM differs from ours, by TVM's class."""

_CLASSES = {name: fuse for fuse, names in _OTHERS.items() for name in names.split()}


def pattern_of(name: str) -> int:
    """TVM's fusion class of the operator ``name``; an UnsupportedError if there is no such operator."""
    return int(_CLASSES[name] if name in _CLASSES else table.get(name).fuse)
