"""Instructions that multiply several narrow numbers at once, and where a schedule may use them."""

from __future__ import annotations

from tvmlite.te.intrin import x86
from tvmlite.te.schedules.group import Group, extent_of, number
from tvmlite.te.tensor import ComputeOp
from tvmlite.te.tensor_intrin import TensorIntrin

PAIR_LANES = (16, 8, 4)
"""How many sums of pairs ``vdpbf16ps`` makes at once, of registers of each width."""


def is_paired(anchor: ComputeOp) -> bool:
    """Whether ``anchor`` takes its operands in pairs.

    Weights are then not asked for a panel ahead, and threads take tile by tile: ResNet-50 and BERT-base are
    quicker so, though float32 is slower.
    """
    return bool(dict(anchor.attrs).get("paired"))


def pair_product(group: Group, anchor: ComputeOp) -> TensorIntrin | None:
    """The instruction for sums of two products, where ``anchor`` takes its operands in pairs (its last reduce
    axis), those of the first tensor it reads perhaps as words, and the machine has it; of 16 sums where there
    are more.

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
    if lanes is not None and lanes % PAIR_LANES[0] == 0:
        lanes = PAIR_LANES[0]
    if is_paired(anchor) and lanes in PAIR_LANES and group.target.has("avx512bf16"):
        return x86.dot_16x1x16_bfloat16_float32(lanes, anchor.inputs[0].dtype == "uint32")
    return None
