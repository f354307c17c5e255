"""Machines without vectors: short loops, one sum at a time, and integer products for bytes."""

from tvmlite.techniques.common.dot import DOT_INSTRUCTIONS, DotInstructions
from tvmlite.techniques.scalar_loops import convolution, reduction
from tvmlite.techniques.scalar_loops.products import multiplies_bytes

__all__ = ["convolution", "reduction"]

DOT_INSTRUCTIONS["scalar_loops"] = DotInstructions(multiplies_bytes, lambda *_: None)
