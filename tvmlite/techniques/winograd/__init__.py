"""Convolutions of 3x3 windows by Winograd's minimal filtering: fewer multiplications, on transformed tiles.

The pass ``apply_winograd`` uses it if an error bound is given and the estimated time is less.
"""

from tvmlite.relay.passes.target_passes import Options, Pass, Stage, TargetPass, register
from tvmlite.techniques.winograd import operator, schedule
from tvmlite.techniques.winograd.apply_winograd import apply_winograd

__all__ = ["operator", "schedule"]


def _make_pass(options: Options) -> Pass | None:
    if not options.error_bound:
        return None
    # Not for pairs of bfloat16 if there are AMX's tiles, which are faster than any filtering.
    pairs = not options.target.has("amx-bf16")
    return apply_winograd(options.error_bound, pairs, options.decisions)


register(
    TargetPass(
        "winograd",
        "apply_winograd",
        Stage.CONVOLUTION_ALGORITHMS,
        _make_pass,
        lambda target: target and apply_winograd(),
        for_vectors=True,
    )
)
