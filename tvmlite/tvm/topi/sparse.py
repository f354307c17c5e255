"""``tvm.topi.sparse``: products with CSR matrices (``tvm.contrib.sparse``)."""

from __future__ import annotations

from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.contrib.sparse import CSRPlaceholderOp
from tvmlite.tvm.topi.nn.sparse import sparse_dense
from tvmlite.tvm.topi.transform import transpose


def csrmm(a: CSRPlaceholderOp, b: Tensor, c: Tensor | None = None) -> Tensor:
    """Return the product of the CSR matrix ``a`` (m, k) and ``b`` (k, n), plus ``c``, which has one element
    per row."""
    made = sparse_dense(transpose(b), *_parts("topi.sparse.csrmm: a", a), sparse_lhs=True)
    return made if c is None else te.compute(made.shape, lambda i, j: made[i, j] + c[i], name="biased")


csrmv = csrmm


def dense(data: Any, weight: Any, bias: Tensor | None = None) -> Tensor:
    """Return ``data`` times the transpose of ``weight``, one of which is a CSR matrix, plus ``bias``."""
    if isinstance(data, CSRPlaceholderOp):
        made = sparse_dense(weight, *_parts("topi.sparse.dense: data", data), sparse_lhs=True)
    else:
        made = sparse_dense(data, *_parts("topi.sparse.dense: weight", weight))
    return made if bias is None else te.compute(made.shape, lambda i, j: made[i, j] + bias[j], name="biased")


def _parts(name: str, matrix: Any) -> tuple[Tensor, Tensor, Tensor]:
    kept = arguments.instance(name, matrix, CSRPlaceholderOp, "a tvm.contrib.sparse.placeholder")
    return kept.data, kept.indices, kept.indptr


__getattr__ = refusing(__name__)
