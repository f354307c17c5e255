"""Operations on sparse matrices in compressed row formats (CSR and BSR)."""

from __future__ import annotations

from typing import Any

from tvmlite import relay
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.operate import operate


def sparse_dense(
    dense_data: Tensor,
    sparse_data: Tensor,
    sparse_indices: Tensor,
    sparse_indptr: Tensor,
    sparse_lhs: bool = False,
) -> Tensor:
    """Return ``dense_data`` times the transpose of a CSR or BSR matrix or, with ``sparse_lhs``, that matrix
    times the transpose of ``dense_data``."""

    def formula(*x: Any) -> Any:
        made = relay.nn.sparse_dense(*x)
        return relay.transpose(made, (1, 0)) if sparse_lhs else made

    return operate("nn.sparse_dense", formula, dense_data, sparse_data, sparse_indices, sparse_indptr)


def sparse_transpose(sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor) -> list[Tensor]:
    """Return the data, indices and row pointers of the transpose of a square CSR matrix."""
    return operate(
        "nn.sparse_transpose", relay.nn.sparse_transpose, sparse_data, sparse_indices, sparse_indptr
    )


def sparse_add(
    dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor
) -> Tensor:
    """Return ``dense_data`` plus a CSR matrix."""
    return operate(
        "nn.sparse_add", relay.nn.sparse_add, dense_data, sparse_data, sparse_indices, sparse_indptr
    )


__getattr__ = refusing(__name__)
