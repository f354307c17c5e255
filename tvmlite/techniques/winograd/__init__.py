"""Convolutions by Winograd's minimal filtering."""

from tvmlite.relay.passes.target_passes import Options, Pass, Stage, TargetPass, register
from tvmlite.techniques.winograd import operator, schedule
from tvmlite.techniques.winograd.apply_winograd import apply_winograd

__all__ = ["operator", "schedule"]


def _within(options: Options) -> Pass | None:
    if not options.error_bound:
        return None
    # Pairs of bfloat16: not beside AMX's tiles, which are quicker than any filtering.
    pairs = not options.target.has("amx-bf16")
    return apply_winograd(options.error_bound, pairs, options.decisions)


register(
    TargetPass(
        "winograd",
        "apply_winograd",
        Stage.CONVOLUTION_ALGORITHMS,
        _within,
        lambda target: target and apply_winograd(),
        for_vectors=True,
    )
)
