"""``tvm.contrib.sparse``: sparse matrices in compressed row format (CSR), as arrays and as placeholders."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.te.tensor.declare import placeholder as tensor
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm import nd
from tvmlite.tvm.absent import refusing

_INDEX = "int32"


class CSRNDArray:
    """A sparse matrix: its nonzero elements ``data``, the column of each in ``indices``, and the start and
    end of each row in ``indptr``. It is created from a dense numpy array or from these three parts."""

    stype = "csr"

    def __init__(self, arg1: Any, device: Any = None, shape: Any = None) -> None:
        if isinstance(arg1, tuple):
            self.data, self.indices, self.indptr = arg1
            self.shape = tuple(arguments.instance("CSRNDArray: shape", shape, (tuple, list), "two extents"))
        else:
            dense = arguments.instance(
                "CSRNDArray: arg1", arg1, np.ndarray, "a numpy array, or its three parts"
            )
            rows, columns = np.nonzero(dense)
            begins = np.searchsorted(rows, np.arange(len(dense) + 1))
            self.data = nd.array(dense[rows, columns], device)
            self.indices = nd.array(columns.astype(_INDEX), device)
            self.indptr = nd.array(begins.astype(_INDEX), device)
            self.shape = dense.shape
        self.dtype = str(self.data.dtype)

    def numpy(self) -> np.ndarray:
        """Return the matrix as a dense array."""
        full = np.zeros(self.shape, self.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr.numpy()))
        full[rows, self.indices.numpy()] = self.data.numpy()
        return full

    asnumpy = numpy


class CSRPlaceholderOp:
    """A sparse matrix that is an input: ``data``, ``indices`` and ``indptr`` are its placeholders."""

    stype = "csr"

    def __init__(self, shape: Any, nonzeros: Any, dtype: str, name: str) -> None:
        self.shape, self.dtype, self.name = shape, dtype, name
        self.data: Tensor = tensor((nonzeros,), dtype, f"{name}_data")
        self.indices: Tensor = tensor((nonzeros,), _INDEX, f"{name}_indices")
        self.indptr: Tensor = tensor((shape[0] + 1,), _INDEX, f"{name}_indptr")


def array(source_array: Any, device: Any = None, shape: Any = None, stype: str = "csr") -> CSRNDArray:
    """Convert ``source_array`` to CSR format."""
    _check(stype)
    return CSRNDArray(source_array, device, shape)


def placeholder(
    shape: Any,
    nonzeros: Any = None,
    dtype: str | None = None,
    name: str = "placeholder",
    stype: str | None = None,
) -> CSRPlaceholderOp:
    """Return a sparse matrix of ``shape`` with ``nonzeros`` elements, by default of float32, as an input."""
    _check(stype or "csr")
    return CSRPlaceholderOp(shape, 0 if nonzeros is None else nonzeros, dtype or "float32", name)


def _check(stype: str) -> None:
    if stype != "csr":
        raise arguments.refused("tvm.contrib.sparse: stype", stype, "csr")


__getattr__ = refusing(__name__)
