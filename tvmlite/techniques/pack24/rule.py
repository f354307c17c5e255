"""The rule for 24-bit weights: large float32 weights of dense layers with few rows, within an error bound."""

from __future__ import annotations

import numpy as np

from tvmlite.core import mapped
from tvmlite.machine.target import Target
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.nodes import Call, Constant, Expr, canonical
from tvmlite.relay.passes.decisions import Decisions, decide
from tvmlite.techniques.pack24 import operator as dense_24
from tvmlite.techniques.packed_matmul.matrix import FEW_ROWS

KEPT = 0.9
"""The largest size of a 24-bit weight, with the padding of its last block, relative to float32."""


def in_24_bits(
    node: Call,
    data: Expr,
    weight: Constant,
    rows: int,
    target: Target,
    bound: float,
    decisions: Decisions | None,
) -> Call | None:
    """The dense layer ``node``, ``data`` times the rows of ``weight``, with the weight in 24 bits; None if
    ``bound`` does not allow that, it is not faster, or the decision is to keep float32
    (``relay.passes.decisions``)."""
    if bound < dense_24.STATED_ERROR or not _fits_24(weight, rows, target):
        return None
    if decide(decisions, "weight", lambda: [[node]], ("float32", "24 bits"), "24 bits") != "24 bits":
        return None
    return _dense_24(node, data, weight, rows)


def _columns_24(rows: int) -> int:
    """The number of columns in a block: two groups for one or two rows, else one."""
    return dense_24.GROUP * (2 if rows <= 2 else 1)


def _fits_24(constant: Constant, rows: int, target: Target) -> bool:
    """Whether a float32 weight of a layer with ``rows`` rows is worth storing in 24 bits: a small one is read
    from a near cache, and assembling a fourth of it takes as long as reading it all."""
    if rows > FEW_ROWS or str(constant.dtype) != "float32" or target.lanes("float32") != dense_24.LANES:
        return False
    columns, block = constant.shape[0], _columns_24(rows)
    read = -(-columns // block) * block * (dense_24.VECTORS - 1) / dense_24.VECTORS
    if constant.nbytes < target.machine.working_sets.uncompressed_weight or read > KEPT * columns:
        return False
    with mapped.reading(constant.data) as weight:
        return bool(max(weight.max(), -weight.min()) < dense_24.LARGEST)


def _dense_24(node: Call, data: Expr, weight: Constant, rows: int) -> Call:
    """``data`` times the rows of ``weight``, stored in 24 bits."""

    def fill(out: np.ndarray) -> None:
        with mapped.reading(weight.data) as plain:
            dense_24.pack24(out, plain)

    shape = dense_24.packed24_shape(weight.shape, _columns_24(rows))
    packed = DeferredConstant(shape, np.dtype("uint32"), fill, node.span)
    attrs = {"units": weight.shape[0], "weight_layout": f"NC{_columns_24(rows)}n"}
    return Call(dense_24.DENSE, (data, packed), canonical(attrs), node.span)
