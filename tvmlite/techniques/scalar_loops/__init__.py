"""Kernels for targets without vectors: short loops, one sum at a time, integer products for bytes, and passes
that save memory between kernels."""

from tvmlite.relay.passes.fusion.reuse_operands import IN_PLACE_RULES
from tvmlite.relay.passes.target_passes import Stage, TargetPass, register
from tvmlite.techniques.common.dot import DOT_INSTRUCTIONS, DotInstructions
from tvmlite.techniques.scalar_loops import convolution, reduction
from tvmlite.techniques.scalar_loops.in_place import convolves_in_place
from tvmlite.techniques.scalar_loops.last_operators import dequantize_in_readers, pad_in_readers
from tvmlite.techniques.scalar_loops.products import scalar_quads
from tvmlite.techniques.scalar_loops.sums_of_two import add_where_wider

__all__ = ["convolution", "reduction"]

DOT_INSTRUCTIONS["scalar_loops"] = DotInstructions(scalar_quads, lambda *_: None)
IN_PLACE_RULES["scalar_loops"] = convolves_in_place

for _pass in (add_where_wider, pad_in_readers, dequantize_in_readers):
    register(
        TargetPass(
            "scalar_loops",
            _pass.__name__,
            Stage.GROUPS,
            lambda options, rule=_pass: rule if options.target.scalar else None,
            lambda _, rule=_pass: rule,
        )
    )
