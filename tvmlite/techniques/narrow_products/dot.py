"""Instructions that multiply several narrow numbers at once, and where a schedule may use them."""

from __future__ import annotations

from tvmlite.machine.target import Target
from tvmlite.te.intrin import x86
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.templates.group import Group, extent_of, number
from tvmlite.te.tensor.tensor import ComputeOp

PAIR_LANES = (16, 8, 4)
"""How many sums of pairs ``vdpbf16ps`` makes at once, and of four products ``vpdpbusd``, of registers of each
width."""


def multiplies_quads(target: Target) -> int:
    """How many sums of four products of 8 bits ``target`` makes at once; 0: it has no instruction."""
    return next((lanes for lanes, needs in x86.QUADS.items() if any(map(target.has, needs))), 0)


def is_paired(anchor: ComputeOp) -> bool:
    """Whether ``anchor`` takes its operands in pairs, or in fours.

    Weights are then not asked for a panel ahead, and threads take tile by tile: ResNet-50 and BERT-base are
    quicker so, though float32 is slower.
    """
    return bool(dict(anchor.attrs).get("paired"))


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
    if anchor.output(0).dtype == "int32":
        widest = multiplies_quads(group.target)
        lanes = widest if widest and lanes % widest == 0 else lanes
        return x86.dot_16x1x16_uint8_int8_int32(lanes) if lanes in PAIR_LANES and widest >= lanes else None
    if lanes % PAIR_LANES[0] == 0:
        lanes = PAIR_LANES[0]
    if lanes in PAIR_LANES and group.target.has("avx512bf16"):
        return x86.dot_16x1x16_bfloat16_float32(lanes, anchor.inputs[0].dtype == "uint32")
    return None
