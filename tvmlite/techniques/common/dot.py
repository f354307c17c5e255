"""Dot-product instructions, which add several products of narrow numbers to each sum, and when they apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvmlite.core.techniques import code_table
from tvmlite.machine.target import Target
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.templates.group import Group, extent_of, number
from tvmlite.te.tensor.tensor import ComputeOp
from tvmlite.techniques.common.quads import QuadInstruction

PAIR_LANES = (16, 8, 4)
"""The number of sums of ``vdpbf16ps`` (of two products each) and ``vpdpbusd`` (of four), for registers of
512, 256 and 128 bits."""


@dataclass(frozen=True)
class DotInstructions:
    """The dot-product instructions that a technique provides.

    - ``quads(target)``: how ``target`` sums four products of bytes; None if it cannot.
    - ``instruction(target, dtype, lanes, data)``: the instruction that adds to each of ``lanes`` sums of
      ``dtype`` four products of bytes (int32) or two of bfloat16. The first operand is of dtype ``data``,
      which may be that of a word that holds several elements. None if there is no such instruction.
    """

    quads: Callable[[Target], QuadInstruction | None]
    instruction: Callable[[Target, str, int, str], TensorIntrin | None]


DOT_INSTRUCTIONS: dict[str, DotInstructions] = code_table({})
"""The instructions by technique."""


def quad_lanes(target: Target) -> int:
    """The number of sums to each of which ``target`` adds four products of bytes at once; 0 without such an
    instruction."""
    found = quads_of(target)
    return found.lanes if found else 0


def quads_of(target: Target) -> QuadInstruction | None:
    """How ``target`` sums four products of bytes, with the most sums at once; None if it cannot."""
    found = [row for known in DOT_INSTRUCTIONS.values() if (row := known.quads(target))]
    return max(found, key=lambda row: row.lanes, default=None)


def multiplies_bytes(target: Target, data: str, weight: str) -> bool:
    """Whether ``target`` sums four products of elements of the dtypes ``data`` and ``weight`` at once; False
    also for bytes of another signedness than the instruction's."""
    found = quads_of(target)
    return found is not None and (data, weight) == (found.data, "int8")


def is_paired(anchor: ComputeOp) -> bool:
    """Whether ``anchor`` multiplies its operands in pairs or groups of four, as its last reduce axis."""
    return bool(dict(anchor.attrs).get("paired"))


def takes_single_tiles(anchor: ComputeOp) -> bool:
    """Whether the next panel of weights is not prefetched and threads take single tiles. With bfloat16,
    ResNet-50 and BERT-base are faster so; float32 and bytes are slower: a panel's first tile waits for
    memory."""
    return is_paired(anchor) and anchor.output(0).dtype != "int32"


def pair_product(group: Group, anchor: ComputeOp) -> TensorIntrin | None:
    """The dot-product instruction for ``anchor``, if its operands are paired (``is_paired``) and the target
    has one: for bfloat16 with sums of two products, for bytes with sums of four. Elements of the first tensor
    may be stored as words. Of more than 16 sums of bfloat16, the instruction computes 16.

    None also if fewer results are read than it computes at once: loops compute only results that are read.
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
        widest = quad_lanes(group.target)
        lanes = widest if widest and lanes % widest == 0 else lanes
    elif lanes % PAIR_LANES[0] == 0:
        lanes = PAIR_LANES[0]
    if lanes not in PAIR_LANES:
        return None
    data = anchor.inputs[0].dtype
    found = (known.instruction(group.target, dtype, lanes, data) for known in DOT_INSTRUCTIONS.values())
    return next((one for one in found if one is not None), None)
