"""Dense layers with weights of 4 or 8 bits, in groups of consecutive terms that have a scale each.

Few bits take less time to read, which dominates with few rows. Codes are decoded in registers, or multiplied
as bytes by quantized data. The pass ``pack_group_weights`` packs constant weights at compile time.
"""

from tvmlite.relay.passes.target_passes import Stage, TargetPass, register
from tvmlite.techniques.group_weights import codes, operator
from tvmlite.techniques.group_weights.rule import pack_group_weights

__all__ = ["codes", "operator"]

register(
    TargetPass(
        "group_weights",
        "pack_group_weights",
        Stage.WEIGHTS,
        lambda options: pack_group_weights(options.target, options.error_bound),
        lambda target: target and pack_group_weights(target),
    )
)
