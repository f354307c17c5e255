"""Anchors: which kind of computation decides the schedule of a fused group, and so its templates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Anchor:
    """A kind of computation that templates are registered for.

    ``stores_once`` says that its templates store each element of a result once, complete, and read
    element-wise operands in the statement that stores it: the result may then lie where such an operand was.
    """

    name: str
    stores_once: bool = False

    def __str__(self) -> str:
        return self.name


ELEMENTWISE = Anchor("injective", stores_once=True)
"""Each element of the result from some elements of the inputs: also transposes, slices, gathers."""
DENSE = Anchor("dense", stores_once=True)
BATCH_MATMUL = Anchor("batch_matmul", stores_once=True)
CONVOLUTION = Anchor("conv2d", stores_once=True)
"""Convolutions of any rank, depthwise and transposed ones too."""
POOL = Anchor("pool")
"""Reductions over a window that slides along."""
REDUCTION = Anchor("reduction")
"""Reductions over whole axes, before or after which other stages may stand."""
PLANE_REDUCTION = Anchor("reduce", stores_once=True)
"""Reductions over whole planes, one result each."""
SOFTMAX = Anchor("softmax")
NORMALIZATION = Anchor("norm")
ATTENTION = Anchor("attention")
STATEMENT = Anchor("extern")
"""A loop nest that is given as it is."""
