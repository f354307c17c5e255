"""Anchors: the kind of computation that determines the schedule of a fused group, and thus its templates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Anchor:
    """A kind of computation that templates are registered for.

    ``stores_once``: its templates store each element of a result once, when complete, and read element-wise
    operands in the statement that stores it, so the result may be written in place of such an operand.
    """

    name: str
    stores_once: bool = False

    def __str__(self) -> str:
        return self.name


ELEMENTWISE = Anchor("injective", stores_once=True)
"""Each element of the result reads some elements of the inputs; includes transposes, slices, gathers."""
DENSE = Anchor("dense", stores_once=True)
BATCH_MATMUL = Anchor("batch_matmul", stores_once=True)
CONVOLUTION = Anchor("conv2d", stores_once=True)
"""Convolutions of any rank, including depthwise and transposed ones."""
POOL = Anchor("pool")
"""Reductions over a sliding window."""
REDUCTION = Anchor("reduction")
"""Reductions over whole axes, possibly with other stages before or after them."""
PLANE_REDUCTION = Anchor("reduce", stores_once=True)
"""Reductions over whole planes, with one result for each."""
SOFTMAX = Anchor("softmax")
NORMALIZATION = Anchor("norm")
ATTENTION = Anchor("attention")
STATEMENT = Anchor("extern")
"""A user-defined loop nest."""
