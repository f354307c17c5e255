"""Instructions that multiply several narrow numbers at once, and where a schedule may use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvmlite.core.techniques import code_table
from tvmlite.machine.target import Target
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.templates.group import Group, extent_of, number
from tvmlite.te.tensor.tensor import ComputeOp
from tvmlite.techniques.common.quads import Quads

PAIR_LANES = (16, 8, 4)
"""How many sums of pairs ``vdpbf16ps`` makes at once, and of four products ``vpdpbusd``, of registers of each
width."""


@dataclass(frozen=True)
class DotInstructions:
    """What a technique knows of them.

    - ``quads(target)``: how ``target`` makes sums of four products of 8 bits; None: it cannot.
    - ``of(target, dtype, lanes, data)``: the instruction that adds to ``lanes`` sums of ``dtype``: four
      products of 8 bits for int32, else two of bfloat16; the first operand is of dtype ``data``, perhaps
      a word. None where there is none.
    """

    quads: Callable[[Target], Quads | None]
    of: Callable[[Target, str, int, str], TensorIntrin | None]


DOT_INSTRUCTIONS: dict[str, DotInstructions] = code_table({})
"""By technique."""


def multiplies_quads(target: Target) -> int:
    """How many sums of four products of 8 bits ``target`` makes at once; 0: it has no instruction."""
    found = quads_of(target)
    return found.lanes if found else 0


def quads_of(target: Target) -> Quads | None:
    """How ``target`` makes sums of four products of 8 bits, as many at once as it can; None: it cannot."""
    found = [row for known in DOT_INSTRUCTIONS.values() if (row := known.quads(target))]
    return max(found, key=lambda row: row.lanes, default=None)


def multiplies_bytes(target: Target, data: str, weight: str) -> bool:
    """Whether ``target`` multiplies ``data`` with ``weight``, dtypes, four at a time; False also where both
    are bytes and one has the other sign."""
    found = quads_of(target)
    return found is not None and (data, weight) == (found.data, "int8")


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
    data = anchor.inputs[0].dtype
    found = (known.of(group.target, dtype, lanes, data) for known in DOT_INSTRUCTIONS.values())
    return next((one for one in found if one is not None), None)
