"""Dense layers whose weight is kept in 4 or 8 bits, in groups with a scale each."""

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
