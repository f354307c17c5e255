"""Matrix products computed by numpy's BLAS library."""

from __future__ import annotations

from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.te.tensor.registry import MATMUL
from tvmlite.tvm import topi
from tvmlite.tvm.absent import refusing


def matmul(
    lhs: te.Tensor,
    rhs: te.Tensor,
    transa: bool = False,
    transb: bool = False,
    dtype: Any = None,
    tag: str = "",
) -> te.Tensor:
    """Return the product of two matrices, optionally transposed, as a separate stage."""
    for name, one in (("lhs", lhs), ("rhs", rhs)):
        arguments.instance(f"matmul: {name}", one, te.Tensor, "a tensor")
        if one.ndim != 2:
            raise arguments.refused(f"matmul: {name}", one, "a tensor of 2 axes")
    arguments.boolean("matmul: transa", transa)
    arguments.boolean("matmul: transb", transb)
    rows, columns = lhs.shape[1 if transa else 0], rhs.shape[0 if transb else 1]
    return te.extern(
        (rows, columns),
        [lhs, rhs],
        lambda ins, outs: te.call_packed(MATMUL, ins[0], ins[1], outs[0], transa, transb),
        name="C",
        dtype=dtype,
        tag=tag,
    )


def batch_matmul(
    lhs: te.Tensor,
    rhs: te.Tensor,
    transa: bool = False,
    transb: bool = False,
    iterative: bool = False,
    **kwargs: Any,
) -> te.Tensor:
    """Return the products of two batches of matrices, like ``topi.nn.batch_matmul``; ``iterative`` has no
    effect."""
    if kwargs:
        raise arguments.refused("batch_matmul: options", sorted(kwargs), "none of these")
    return topi.nn.batch_matmul(lhs, rhs, transpose_a=transa, transpose_b=transb)


__getattr__ = refusing(__name__)
