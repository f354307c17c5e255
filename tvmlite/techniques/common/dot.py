"""Instructions that multiply several narrow numbers at once, and where a schedule may use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvmlite.core.techniques import code_table
from tvmlite.machine.target import Target
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.templates.group import Group, extent_of, number
from tvmlite.te.tensor.tensor import ComputeOp

PAIR_LANES = (16, 8, 4)
"""How many sums of pairs ``vdpbf16ps`` makes at once, and of four products ``vpdpbusd``, of registers of each
width."""


@dataclass(frozen=True)
class DotInstructions:
    """What a technique knows of them.

    - ``quads(target)``: how many sums of four products of 8 bits ``target`` makes at once; 0: it cannot.
    - ``of(target, dtype, lanes, words)``: the instruction that adds to ``lanes`` sums of ``dtype``: four
      products of 8 bits for int32, else two of bfloat16; the first operand comes perhaps in ``words``.
      None where there is none.
    """

    quads: Callable[[Target], int]
    of: Callable[[Target, str, int, bool], TensorIntrin | None]


DOT_INSTRUCTIONS: dict[str, DotInstructions] = code_table({})
"""By technique."""


def multiplies_quads(target: Target) -> int:
    """How many sums of four products of 8 bits ``target`` makes at once; 0: it has no instruction."""
    return max((known.quads(target) for known in DOT_INSTRUCTIONS.values()), default=0)


def is_paired(anchor: ComputeOp) -> bool:
    """Whether ``anchor`` takes its operands in pairs, or in fours."""
    return bool(dict(anchor.attrs).get("paired"))


def tile_by_tile(anchor: ComputeOp) -> bool:
    """Whether weights are not asked for a panel ahead, and threads take tile by tile: in bfloat16 ResNet-50
    and BERT-base are quicker so, though float32 is slower, and bytes are: a first tile waits for memory."""
    return is_paired(anchor) and anchor.output(0).dtype != "int32"


def pair_product(group: Group, anchor: ComputeOp) -> TensorIntrin | None:
    """The instruction for sums of two products, where ``anchor`` takes its operands in pairs (its last reduce
    axis), those of the first tensor it reads perhaps as words, and the machine has it; of 16 sums where there
    are more. For operands of 8 bits in fours, that for sums of four.

    None also where fewer results are read than it makes at once: loops compute no others.
    """
    lanes = extent_of(anchor.axis[-1])
    (unpack, *_) = group.readers(anchor.output(0))
    columns = {"matmul_unpack": -1, "conv2d_unpack": 1}.get(
        unpack.tag if isinstance(unpack, ComputeOp) else ""
    )
    read = lanes if columns is None else number(unpack.output(0).shape[columns])
    if lanes is not None and read is not None and read < lanes:
        return None
    if not is_paired(anchor) or lanes is None:
        return None
    dtype = anchor.output(0).dtype
    if dtype == "int32":
        widest = multiplies_quads(group.target)
        lanes = widest if widest and lanes % widest == 0 else lanes
    elif lanes % PAIR_LANES[0] == 0:
        lanes = PAIR_LANES[0]
    if lanes not in PAIR_LANES:
        return None
    words = anchor.inputs[0].dtype == "uint32"
    found = (known.of(group.target, dtype, lanes, words) for known in DOT_INSTRUCTIONS.values())
    return next((one for one in found if one is not None), None)
