"""Depthwise convolutions of uint8 by int8, with channels in blocks: four taps of each channel per
instruction.

The pass ``depthwise_bytes`` uses them if the target has the instruction and the extents are known.
"""

from tvmlite.relay.passes.target_passes import Stage, TargetPass, register
from tvmlite.techniques.depthwise_bytes import operator, schedule
from tvmlite.techniques.depthwise_bytes.rule import depthwise_bytes

__all__ = ["operator", "schedule"]

register(
    TargetPass(
        "depthwise_bytes",
        "depthwise_bytes",
        Stage.CONVOLUTION_ALGORITHMS,
        lambda options: depthwise_bytes(options.target),
        lambda target: target and depthwise_bytes(target),
    )
)
