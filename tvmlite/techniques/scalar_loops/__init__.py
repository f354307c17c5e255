"""Machines without vectors: short loops, one sum at a time, and integer products for bytes."""

from tvmlite.relay.passes.fusion.reuse_operands import IN_PLACE_RULES
from tvmlite.techniques.common.dot import DOT_INSTRUCTIONS, DotInstructions
from tvmlite.techniques.scalar_loops import convolution, reduction
from tvmlite.techniques.scalar_loops.in_place import convolves_in_place
from tvmlite.techniques.scalar_loops.products import multiplies_bytes

__all__ = ["convolution", "reduction"]

DOT_INSTRUCTIONS["scalar_loops"] = DotInstructions(multiplies_bytes, lambda *_: None)
IN_PLACE_RULES["scalar_loops"] = convolves_in_place
