"""Convolutions with channels in blocks of one vector: vectors of output channels times scalars of the data.

``alter_op_layout`` puts the regions of a graph into blocks that gain by it; ``conv_blocked`` has the
operators, ``convolution`` the schedules. ``decompose_conv_transpose`` turns transposed convolutions into
convolutions.
"""

from tvmlite.relay.passes.target_passes import Stage, TargetPass, register
from tvmlite.techniques.blocked_conv import conv_blocked, convolution, row_windows
from tvmlite.techniques.blocked_conv.alter_op_layout import alter_op_layout
from tvmlite.techniques.blocked_conv.decompose_conv_transpose import decompose_conv_transpose

__all__ = ["conv_blocked", "convolution", "row_windows"]

register(
    TargetPass(
        "blocked_conv",
        "decompose_conv_transpose",
        Stage.CONVOLUTIONS,
        lambda _: decompose_conv_transpose,
        lambda _: decompose_conv_transpose,
    )
)
register(
    TargetPass(
        "blocked_conv",
        "alter_op_layout",
        Stage.CHANNELS,
        lambda options: alter_op_layout(options.target, options.decisions),
        lambda target: target and alter_op_layout(target),
        for_vectors=True,
    )
)
