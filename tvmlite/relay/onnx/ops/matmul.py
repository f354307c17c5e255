"""ONNX's matrix products: Gemm, MatMul of any rank, products of integers; and determinants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import Dim, show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops.quantized.group_weights import group_product
from tvmlite.relay.onnx.reading.registry import converter


@converter("MatMul")
def matmul_converter(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """MatMul: numpy's ``a @ b``, for operands of any rank but 0 and of one element type."""
    if node.dtype(a) != node.dtype(b):
        node.bad(f"inputs of types {node.dtype(a)} and {node.dtype(b)}, expected one type")
    return matmul(node, a, b)


def matmul(node: OnnxNode, a: Expr, b: Expr, out_dtype: str = "") -> Expr:
    """Return numpy's ``a @ b`` for vectors, matrices, and batches that broadcast."""
    left, right = node.shape(a), node.shape(b)
    if not left or not right:
        node.bad("of a scalar")
    if len(left) == 1:
        made = matmul(node, node.reshape(a, (1, left[0])), b, out_dtype)
        shape, rows = list(node.shape(made)), -1 if len(right) == 1 else -2
        del shape[rows]
        return node.reshape(made, shape)
    if len(right) == 1:
        made = matmul(node, a, node.reshape(b, (right[0], 1)), out_dtype)
        return node.reshape(made, node.shape(made)[:-1])
    inner, expected = left[-1], right[-2]
    if isinstance(inner, int) and isinstance(expected, int) and inner != expected:
        node.bad(f"shapes {show_shape(left)} and {show_shape(right)} do not multiply")
    if not dims.equal(inner, expected):
        a = assume_shape(node, a, (*left[:-1], expected))
    if len(right) == 2:
        return _matrix_product(node, a, b, out_dtype)
    return _batched_product(node, a, b, out_dtype)


def _matrix_product(node: OnnxNode, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """A product with one matrix for every row of ``a``: a dense layer if the matrix is constant."""
    if isinstance(b, Constant):
        weight = Constant(b.data.T, node.span)
        return node.make("nn.dense", a, weight, out_dtype=out_dtype)
    if (made := group_product(node, a, b, units_first=False)) is not None:
        return made
    lead, k = node.shape(a)[:-1], node.shape(a)[-1]
    flat = node.reshape(a, (node.product(lead), k))
    made = node.make("nn.matmul", flat, b, out_dtype=out_dtype)
    return node.reshape(made, (*lead, node.shape(b)[1]))


def _batched_product(node: OnnxNode, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """A batched product; leading axes are broadcast and flattened."""
    left, right = node.shape(a), node.shape(b)
    rank = max(len(left), len(right))
    a, b = node.expand_to_rank(a, rank), node.expand_to_rank(b, rank)
    left, right = node.shape(a), node.shape(b)
    batch = []
    for x, y in zip(left[:-2], right[:-2], strict=True):
        if isinstance(x, int) and isinstance(y, int) and 1 not in (x, y) and x != y:
            node.bad(f"shapes {show_shape(left)} and {show_shape(right)} do not multiply")
        batch.append(y if dims.equal(x, 1) else x)
    flat = [_flatten_batch(node, v, batch) for v in (a, b)]
    made = node.make("nn.batch_matmul", *flat, transpose_a=False, transpose_b=False, out_dtype=out_dtype)
    return node.reshape(made, (*batch, left[-2], right[-1]))


def _flatten_batch(node: OnnxNode, value: Expr, batch: Sequence[object]) -> Expr:
    """``value`` with rank 3: its batch axes flattened, with extent 1 if they are all 1."""
    shape = node.shape(value)
    if all(dims.equal(d, 1) for d in shape[:-2]):
        return node.reshape(value, (1, *shape[-2:]))
    wanted = tuple(batch)
    if not any(
        dims.equal(have, 1) and not dims.equal(want, 1) for have, want in zip(shape, wanted, strict=False)
    ):
        value = assume_shape(node, value, (*wanted, *shape[-2:]))  # type: ignore[arg-type]
    else:
        fitted = tuple(
            have if dims.equal(have, 1) else want for have, want in zip(shape, wanted, strict=False)
        )
        value = assume_shape(node, value, (*fitted, *shape[-2:]))  # type: ignore[arg-type]
        value = node.broadcast_to(value, (*wanted, *shape[-2:]))  # type: ignore[arg-type]
    return node.reshape(value, (node.product(wanted), *shape[-2:]))  # type: ignore[arg-type]


@converter("Gemm", since=7)
def gemm(node: OnnxNode, a: Expr, b: Expr, c: Expr | None = None) -> Expr:
    """Gemm: ``alpha * a @ b + beta * c``."""
    if node.rank(a) != 2 or node.rank(b) != 2:
        node.bad(f"of shapes {show_shape(node.shape(a))} and {show_shape(node.shape(b))}, expected matrices")
    alpha, beta = node.attr("alpha"), node.attr("beta")
    trans_a, trans_b = node.flag("transA"), node.flag("transB")
    dtype = node.dtype(a)
    if isinstance(b, Constant):
        weight = b if trans_b else Constant(b.data.T, node.span)
        data = node.transpose(a, (1, 0)) if trans_a else a
        if not dims.equal(node.shape(data)[1], weight.data.shape[1]):
            _check_inner(node, data, weight)
            data = assume_shape(node, data, (node.shape(data)[0], weight.data.shape[1]))
        made = node.make("nn.dense", data, weight)
    elif (grouped := _grouped_gemm(node, a, b, trans_a, trans_b)) is not None:
        made = grouped
    else:
        made = node.make("nn.matmul", a, b, transpose_a=trans_a, transpose_b=trans_b)
    if alpha != 1.0:
        made = node.multiply(made, node.const(_factor(node, alpha, dtype), dtype))
    if c is None or beta == 0.0:
        return made
    if beta != 1.0:
        c = node.multiply(c, node.const(_factor(node, beta, dtype), dtype))
    return node.add(made, c)


def _grouped_gemm(node: OnnxNode, a: Expr, b: Expr, trans_a: bool, trans_b: bool) -> Expr | None:
    """The product with a weight of few bits that stays packed; None if ``b`` is not one."""
    data = node.transpose(a, (1, 0)) if trans_a else a
    depth = node.shape(b)[1 if trans_b else 0]
    if not dims.equal(node.shape(data)[1], depth):
        if isinstance(node.shape(data)[1], int):
            return None
        data = assume_shape(node, data, (node.shape(data)[0], depth))
    return group_product(node, data, b, units_first=trans_b)


def _factor(node: OnnxNode, value: float, dtype: str) -> float:
    if not dtypes.is_float(dtype) and not float(value).is_integer():
        node.unsupported(f"a factor of {value} for {dtype}")
    return value


def _check_inner(node: OnnxNode, data: Expr, weight: Constant) -> None:
    inner = node.shape(data)[1]
    if isinstance(inner, int):
        node.bad(
            f"a matrix of {inner} columns times one of {weight.data.shape[1]} rows, expected equal numbers"
        )


def check_parameter(node: OnnxNode, name: str, value: Expr | None, extent: Dim, dtype: str = "") -> None:
    """Reject the scale or zero point ``name`` unless it has 1 or ``extent`` elements of ``dtype``, if
    given."""
    if value is None:
        return
    if dtype and node.dtype(value) != dtype:
        node.bad(f"{name} is {node.dtype(value)}, expected {dtype}")
    (count,) = node.shape(value) if node.rank(value) == 1 else (1,)
    if isinstance(count, int) and isinstance(extent, int) and count not in (1, extent):
        node.bad(f"{name} has {count} numbers, expected 1" + (f" or {extent}" if extent != 1 else ""))


@converter("MatMulInteger")
def matmul_integer(
    node: OnnxNode, a: Expr, b: Expr, a_zero: Expr | None = None, b_zero: Expr | None = None
) -> Expr:
    """MatMulInteger: the product of integers minus their zero points, in int32."""
    check_parameter(node, "the zero point of a", a_zero, _extent(node, a, -2), node.dtype(a))
    check_parameter(node, "the zero point of b", b_zero, _extent(node, b, -1), node.dtype(b))
    if isinstance(b, Constant) and (b_zero is None or isinstance(b_zero, Constant)):
        if node.rank(b) == 2 and {node.dtype(a), node.dtype(b)} <= {"int8", "uint8"}:
            return _integer_product(node, a, b.data, a_zero, None if b_zero is None else b_zero.data)
    if a_zero is None and b_zero is None:
        return matmul(node, a, b, "int32")
    left = centred(node, a, a_zero, rows=True)
    right = centred(node, b, b_zero, rows=False)
    return matmul(node, left, right, "int32")


def _extent(node: OnnxNode, value: Expr, axis: int) -> Dim:
    """The extent of an axis counted from the end; 1 for a vector or scalar."""
    return node.shape(value)[axis] if node.rank(value) > 1 else 1


def _integer_product(
    node: OnnxNode, a: Expr, b: np.ndarray, a_zero: Expr | None, b_zero: np.ndarray | None
) -> Expr:
    """``a @ b`` of bytes minus their zero points, by a product of uint8 and int8, which processors support.

    ``(a - za)(b - zb) = ab - za * (sum(b) - k * zb) - zb * sum(a)``, in int32 that wraps: the sums of a
    constant ``b`` are known, those of ``a`` are computed if ``zb`` is not 0. Bytes of the other signedness
    are shifted by 128, and so are their zero points.
    """
    moved = 128 if b.dtype == np.uint8 else 0
    weight, zero = b.astype(np.int32) - moved, (0 if b_zero is None else b_zero.astype(np.int32)) - moved
    zero = np.broadcast_to(zero, (1, b.shape[1])).reshape(-1).astype(np.int32)
    if node.dtype(a) == "int8":
        a, a_zero = as_uint8(node, a, a_zero)
    made = matmul(node, a, Constant(weight.astype(np.int8), node.span), "int32")
    if a_zero is not None:
        sums = Constant(weight.sum(0, dtype=np.int32) - b.shape[0] * zero, node.span)
        factor = _zero_point(node, node.cast(a_zero, "int32"), rows=True)
        made = node.subtract(made, node.multiply(factor, sums))
    if zero.any():
        kept = node.rank(a) > 1
        sums = node.make("sum", node.cast(a, "int32"), axis=(-1,), keepdims=kept)
        scaled = node.multiply(sums, Constant(zero, node.span))
        made = node.subtract(made, scaled)
    return made


def as_uint8(node: OnnxNode, data: Expr, zero: Expr | None) -> tuple[Expr, Expr]:
    """Return int8 data shifted by 128, and its zero point, in int32."""
    zero = node.const(0, "int32") if zero is None else node.cast(zero, "int32")
    moved = node.cast(node.add(node.cast(data, "int32"), 128), "uint8")
    return moved, node.add(zero, 128)


def _zero_point(node: OnnxNode, zero: Expr, rows: bool) -> Expr:
    """A zero point shaped to broadcast: a vector is for rows, or for columns."""
    shape = node.shape(zero)
    if len(shape) == 1 and dims.equal(shape[0], 1):
        return node.reshape(zero, ())
    return node.reshape(zero, (shape[0], 1)) if len(shape) == 1 and rows else zero


def centred(node: OnnxNode, data: Expr, zero: Expr | None, rows: bool) -> Expr:
    """Return ``data - zero`` in int32; a vector of zero points is for rows, or for columns."""
    made = node.cast(data, "int32")
    if zero is None:
        return made
    zero = _zero_point(node, node.cast(zero, "int32"), rows)
    return node.subtract(made, zero)


@converter("Det", since=11)
def determinant(node: OnnxNode, data: Expr) -> Expr:
    """Det as linalg.det, for each matrix in the last two axes."""
    return node.make("linalg.det", data)
