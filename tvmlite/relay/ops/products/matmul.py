"""Matrix products: dense layers with plain and packed weights, matmul, batched products."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError, UnsupportedError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import Dim, TensorType, same_dim, same_shape, show_shape
from tvmlite.relay.ops.common import fault, is_one, product_of, ravelled, unravelled
from tvmlite.relay.ops.convolutions.conv import converted, result_dtype, sum_dtype
from tvmlite.relay.ops.register import anchored
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers

PANEL = 16
"""The number of columns in a panel of a matrix that the kernel itself packs."""


def _shape_mismatch(
    call: Call, a: TensorType, b: TensorType, names: Sequence[str] = ("data", "weight")
) -> TypeInferError:
    return fault(call, f"{names[0]} is {show_shape(a.shape)}, {names[1]} is {show_shape(b.shape)}")


def _check_units(call: Call, columns: Dim, name: str, weight: TensorType) -> None:
    """Raise a type error if ``units`` is given and is not the number of columns of the result."""
    if call["units"] is not None and not same_dim(call["units"], columns):
        raise fault(call, f"units is {call['units']}, {name} is {show_shape(weight.shape)}")


def dense_type(call: Call, data: TensorType, weight: TensorType) -> TensorType:
    """The type relation: ``(..., k)`` by ``(n, k)`` gives ``(..., n)``."""
    if data.ndim < 1 or weight.ndim != 2 or not same_dim(data.shape[-1], weight.shape[1]):
        raise _shape_mismatch(call, data, weight)
    _check_units(call, weight.shape[0], "weight", weight)
    return TensorType((*data.shape[:-1], weight.shape[0]), result_dtype(call, data.dtype))


def dense_numpy(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The reference of ``nn.dense``: ``data @ weight.T``, summed in ``sum_dtype``."""
    return _product_numpy(call, data, weight.T)


def _product_numpy(call: Call, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    dtype = result_dtype(call, a.dtype.name)
    work = np.dtype(sum_dtype(dtype))
    return (a.astype(work) @ b.astype(work)).astype(dtypes.numpy_of(dtype))


@anchored(
    "nn.dense",
    infer=dense_type,
    reference=dense_numpy,
    attrs={"units": None, "out_dtype": ""},
    schedule=anchors.DENSE,
)
def dense(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """``data @ weight.T``: ``(..., k)`` by ``(n, k)`` gives ``(..., n)``."""
    panels = packed_panels(weight, transposed=True)
    return _panel_product(call, data, panels, weight.shape[0])


def packed_columns(call: Call) -> int:
    """The number of columns in a block of a packed weight: 16 for ``NC16n``, ``NC16n2c`` and ``NC16n4c``."""
    return _packing(call)[0]


def _packing(call: Call) -> tuple[int, int]:
    """Return the columns of a block, and the number of rows of the weight stored next to each other.

    That is two for ``vdpbf16ps``, four for ``vpdpbusd``, or one.
    """
    found = re.fullmatch(r"NC([1-9]\d*)n(?:([24])c)?", call["weight_layout"])
    if found is None:
        raise UnsupportedError(
            f"{call.op}: weight_layout {call['weight_layout']!r} is not supported; one such as 'NC16n' is",
            call.span,
        )
    return int(found[1]), int(found[2] or 1)


def dense_pack_type(call: Call, data: TensorType, weight: TensorType) -> TensorType:
    """``(..., k)`` by ``(units / n, k, n)``, or ``(units / n, k / c, n, c)``, gives ``(..., units)``."""
    block, dot_length = _packing(call)
    inside = (block, dot_length) if dot_length > 1 else (block,)
    if data.ndim < 1 or weight.ndim != 2 + len(inside) or not same_shape(weight.shape[2:], inside):
        raise _shape_mismatch(call, data, weight)
    if not same_dim(data.shape[-1], weight.shape[1] * dot_length):
        raise _shape_mismatch(call, data, weight)
    return TensorType((*data.shape[:-1], _units(call, weight)), result_dtype(call, data.dtype))


def _units(call: Call, weight: Any) -> Dim:
    """The number of columns of the result, without those that packing added."""
    block, stored = packed_columns(call), weight.shape[0] * packed_columns(call)
    units = stored if call["units"] is None else call["units"]
    if not same_dim(units, stored):
        if not (isinstance(units, int) and isinstance(stored, int) and stored - block < units <= stored):
            raise fault(call, f"units is {units}, weight is {show_shape(weight.shape)}")
    return units


def dense_pack_numpy(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The reference of ``nn.contrib_dense_pack``: unpacks the weight and crops the columns of padding."""
    if weight.ndim == 4:
        weight = weight.swapaxes(2, 3).reshape(weight.shape[0], -1, weight.shape[2])
    plain = np.moveaxis(weight, 1, 0).reshape(weight.shape[1], -1)
    return _product_numpy(call, data, plain[:, : call["units"]])


@anchored(
    "nn.contrib_dense_pack",
    infer=dense_pack_type,
    reference=dense_pack_numpy,
    attrs={"weight_layout": "NC16n", "units": None, "out_dtype": ""},
    schedule=anchors.DENSE,
)
def dense_pack(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """``data`` times a weight whose columns are packed in blocks, as ``weight_layout`` says."""
    return _panel_product(call, data, weight, _units(call, weight), _packing(call)[1])


def _matrix_extents(shape: Sequence[Dim], transposed: bool) -> tuple[Dim, Dim]:
    """Return the rows and columns of the matrices in the last two axes."""
    rows, columns = shape[-2:]
    return (columns, rows) if transposed else (rows, columns)


def matmul_type(call: Call, a: TensorType, b: TensorType) -> TensorType:
    """The type relation: ``(m, k)`` by ``(k, n)`` gives ``(m, n)``, each transposed on request."""
    if a.ndim != 2 or b.ndim != 2:
        raise _shape_mismatch(call, a, b, ("tensor_a", "tensor_b"))
    m, k = _matrix_extents(a.shape, call["transpose_a"])
    inner, n = _matrix_extents(b.shape, call["transpose_b"])
    if not same_dim(k, inner):
        raise _shape_mismatch(call, a, b, ("tensor_a", "tensor_b"))
    _check_units(call, n, "tensor_b", b)
    return TensorType((m, n), result_dtype(call, a.dtype))


def matmul_numpy(call: Call, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The reference of ``nn.matmul`` and ``nn.batch_matmul``, each operand transposed on request."""
    a = a.swapaxes(-1, -2) if call["transpose_a"] else a
    b = b.swapaxes(-1, -2) if call["transpose_b"] else b
    return _product_numpy(call, a, b)


@anchored(
    "nn.matmul",
    infer=matmul_type,
    reference=matmul_numpy,
    attrs={"units": None, "out_dtype": "", "transpose_a": False, "transpose_b": False},
    schedule=anchors.DENSE,
)
def matmul(call: Call, tensor_a: te.Tensor, tensor_b: te.Tensor) -> te.Tensor:
    """The product of two matrices, transposed first with ``transpose_a`` and ``transpose_b``."""
    return _product(call, tensor_a, tensor_b)


def batch_matmul_type(call: Call, a: TensorType, b: TensorType) -> TensorType:
    """The type relation: ``(b, m, k)`` by ``(b, k, n)`` gives ``(b, m, n)``; a batch of 1 is broadcast."""
    if a.ndim != 3 or b.ndim != 3:
        raise _shape_mismatch(call, a, b, ("tensor_a", "tensor_b"))
    m, k = _matrix_extents(a.shape, call["transpose_a"])
    inner, n = _matrix_extents(b.shape, call["transpose_b"])
    batch = b.shape[0] if is_one(a.shape[0]) else a.shape[0]
    if not same_dim(k, inner) or not (is_one(b.shape[0]) or same_dim(b.shape[0], batch)):
        raise _shape_mismatch(call, a, b, ("tensor_a", "tensor_b"))
    return TensorType((batch, m, n), result_dtype(call, a.dtype))


@anchored(
    "nn.batch_matmul",
    infer=batch_matmul_type,
    reference=matmul_numpy,
    attrs={"out_dtype": "", "transpose_a": False, "transpose_b": True},
    schedule=anchors.BATCH_MATMUL,
)
def batch_matmul(call: Call, tensor_a: te.Tensor, tensor_b: te.Tensor) -> te.Tensor:
    """The product of the matrices of each batch; by default, that of ``tensor_b`` is transposed first."""
    return _product(call, tensor_a, tensor_b)


def packed_panels(b: te.Tensor, transposed: bool) -> te.Tensor:
    """Pack the columns of ``b`` in panels of PANEL: ``panels[.., j, k, i] = b[.., k, j * PANEL + i]``.

    Zero past the last column. This is a separate stage, tagged ``pack``: whether the copy is made or inlined
    is the schedule's choice.
    """
    lead = b.shape[:-2]
    k, n = _matrix_extents(b.shape, transposed)
    whole = isinstance(n, int) and n % PANEL == 0

    def element(*at: Any) -> e.Expr:
        column = at[-3] * PANEL + at[-1]
        read = b[(*at[:-3], column, at[-2])] if transposed else b[(*at[:-3], at[-2], column)]
        if whole:
            return read
        return e.Call("if_then_else", (column < n, read, e.const(0, b.dtype)), b.dtype)

    return te.compute(
        (*lead, (n + (PANEL - 1)) // PANEL, k, PANEL),
        element,
        name="panels",
        tag="pack",
        attrs={"transposed": transposed},
    )


def _panel_product(
    call: Call, data: te.Tensor, panels: te.Tensor, columns: Dim, dot_length: int = 1
) -> te.Tensor:
    """``data[.., k]`` times ``panels[j, k, i]``: all leading axes of the data are rows of one matrix.

    With ``dot_length`` above 1, the panels are ``panels[j, k / dot_length, i, k % dot_length]``.
    """
    dtype, block = result_dtype(call, data.dtype), panels.shape[2]
    work, lead = sum_dtype(dtype), data.shape[:-1]
    k = te.reduce_axis(panels.shape[1], name="k")
    inside = te.reduce_axis(dot_length, name="pair")

    def element(row: Any, outer: Any, inner: Any) -> e.Expr:
        if dot_length == 1:
            read = data[(*unravelled(row, lead), k)]
            return reducers.sum(read.astype(work) * panels[outer, k, inner].astype(work), k)
        read = data[(*unravelled(row, lead), k * dot_length + inside)]
        return reducers.sum(read.astype(work) * panels[outer, k, inner, inside].astype(work), [k, inside])

    shape = (product_of(lead), panels.shape[0], block)
    product = te.compute(shape, element, name="dense", tag="matmul_packed", attrs={"paired": dot_length > 1})
    return converted(unpacked(product, lead, columns), dtype)


def unpacked(product: te.Tensor, lead: tuple[Dim, ...], columns: Dim) -> te.Tensor:
    """Reshape ``product[row, block, lane]`` to ``(*lead, columns)``."""
    block = product.shape[-1]
    return te.compute(
        (*lead, columns),
        lambda *at: product[ravelled(at[:-1], lead), at[-1] // block, at[-1] % block],
        name="dense_unpacked",
        tag="matmul_unpack",
    )


def _product(call: Call, a: te.Tensor, b: te.Tensor) -> te.Tensor:
    """Multiply the matrices in the last two axes of ``a`` and ``b``, after at most one batch axis."""
    dtype = result_dtype(call, a.dtype)
    work, swap = sum_dtype(dtype), bool(call["transpose_a"])
    (m, inner), (_, n) = _matrix_extents(a.shape, swap), _matrix_extents(b.shape, call["transpose_b"])
    panels = packed_panels(b, bool(call["transpose_b"]))
    k = te.reduce_axis(inner, name="k")
    lead = () if a.ndim == 2 else (b.shape[0] if is_one(a.shape[0]) else a.shape[0],)

    def element(*at: Any) -> e.Expr:
        row, outer, column = at[-3:]
        left = (0,) if lead and is_one(a.shape[0]) else at[:-3]
        right = (0,) if lead and is_one(b.shape[0]) else at[:-3]
        x = a[(*left, k, row)] if swap else a[(*left, row, k)]
        return reducers.sum(x.astype(work) * panels[(*right, outer, k, column)].astype(work), k)

    product = te.compute((*lead, m, panels.shape[-3], PANEL), element, name="matmul", tag="matmul_packed")
    result = te.compute(
        (*lead, m, n),
        lambda *at: product[(*at[:-1], at[-1] // PANEL, at[-1] % PANEL)],
        name="matmul_unpacked",
        tag="matmul_unpack",
    )
    return converted(result, dtype)
