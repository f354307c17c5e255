"""Matrix products over packed panels: ``pack_weights`` stores constant weights in blocks of columns at
compile time, ``matrix`` multiplies them in register tiles, ``depth`` cuts long reductions into parts."""

from tvmlite.relay.passes.target_passes import Stage, TargetPass, register
from tvmlite.techniques.packed_matmul import matrix
from tvmlite.techniques.packed_matmul.pack_weights import pack_weights

__all__ = ["matrix"]

register(
    TargetPass(
        "packed_matmul",
        "pack_weights",
        Stage.WEIGHTS,
        lambda options: pack_weights(
            options.target, options.precision, options.error_bound, options.decisions
        ),
        lambda target: target and pack_weights(target),
        for_vectors=True,
    )
)
