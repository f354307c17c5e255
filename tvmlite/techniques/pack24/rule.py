"""Where weights are kept in 24 bits: large ones of dense layers that few rows meet."""

from __future__ import annotations

import numpy as np

from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Call, Constant, Expr, canonical
from tvmlite.relay.passes.decisions import decide
from tvmlite.techniques.pack24 import operator as dense_24
from tvmlite.techniques.packed_matmul.matrix import FEW_ROWS

LEAST_BYTES = 256 << 10
"""A weight of fewer is read from a near cache, and putting a fourth of it together takes as long."""

KEPT = 0.9
"""Of a weight of 24 bits, with the columns that fill up its last block, no more than this share of what
float32 takes is to be read."""


def in_24_bits(
    node: Call, data: Expr, weight: Constant, rows: int, target: Target, bound: float
) -> Call | None:
    """The dense layer ``node``, ``data`` times the rows of ``weight``, with the weight in 24 bits; None where
    ``bound`` does not allow that, it is not quicker, or it was decided to keep all of it
    (``relay.passes.decisions``)."""
    if bound < dense_24.STATED_ERROR or not _fits_24(weight, rows, target):
        return None
    if decide("weight", lambda: [[node]], ("float32", "24 bits"), "24 bits") != "24 bits":
        return None
    return _dense_24(node, data, weight.data, rows)


def _columns_24(rows: int) -> int:
    """How many columns a block has: for one row and two, as many as two groups."""
    return dense_24.GROUP * (2 if rows <= 2 else 1)


def _fits_24(constant: Constant, rows: int, target: Target) -> bool:
    """Whether a weight of float32 that ``rows`` rows meet is worth keeping in 24 bits."""
    if rows > FEW_ROWS or str(constant.dtype) != "float32" or target.lanes("float32") != dense_24.LANES:
        return False
    weight = constant.data
    columns, block = weight.shape[0], _columns_24(rows)
    read = -(-columns // block) * block * (dense_24.VECTORS - 1) / dense_24.VECTORS
    worth = weight.nbytes >= LEAST_BYTES and read <= KEPT * columns
    return worth and bool(max(weight.max(), -weight.min()) < dense_24.LARGEST)


def _dense_24(node: Call, data: Expr, weight: np.ndarray, rows: int) -> Call:
    """``data`` times the rows of ``weight``, kept in 24 bits."""
    block = _columns_24(rows)
    packed = Constant(dense_24.packed24(weight, block), node.span)
    attrs = {"units": weight.shape[0], "weight_layout": f"NC{block}n"}
    return Call(dense_24.DENSE, (data, packed), canonical(attrs), node.span)
