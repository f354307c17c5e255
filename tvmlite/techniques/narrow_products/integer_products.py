"""Products of numbers that were bytes are products of bytes.

Quantized models state a product as one of floats, ``(q - z) s`` by ``(w - y) t``. Its sums are those of whole
numbers, ``s t (sum(q w') - z sum(w'))`` with ``w' = w - y``, which processors with ``vpdpbusd`` make four
terms at a time, exactly, from a quarter of the bytes. Sums of floats have no last bits to keep
(``quantized_chains``): these are the nearest to the exact ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, constant
from tvmlite.relay.ir.op import is_view, make
from tvmlite.relay.ir.types import same_dim
from tvmlite.techniques.common.dot import multiplies_quads

MOST_TERMS = (2**31 - 1) // (255 * 255)
"""Terms of a sum of products of bytes, less their zero points, that int32 holds."""


def integer_products(target: Target) -> Callable[[Module], Module]:
    """The pass for ``target``; nothing is done for one without products of bytes."""

    def integer_products(module: Module) -> Module:
        main = module.main
        body = rewrite(main.body, _as_integers) if multiplies_quads(target) else main.body
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return integer_products


@dataclass(frozen=True)
class _Quantized:
    """``(values - zero) * scale``, with arrays of one element, or one a place along ``axis``."""

    values: Expr
    scale: np.ndarray
    zero: np.ndarray
    axis: int


def _as_integers(node: Expr) -> Expr:
    """``node``, a product of quantized rows and quantized weights, as one of bytes."""
    match node:
        case Call("nn.matmul", (data, weight)) if not node["transpose_a"]:
            rows, columns = _quantized(data), _quantized(weight)
            if rows is None or columns is None or not _fits(node, rows, columns):
                return node
            return _product(node, rows, columns)
    return node


def _fits(node: Call, rows: _Quantized, columns: _Quantized) -> bool:
    """Whether rows have one scale, weights are constant with one a column, and int32 holds the sums."""
    values, axis = columns.values, 0 if node["transpose_b"] else 1
    if not isinstance(values, Constant) or len(values.shape) != 2 or tensor_type_of(node).dtype != "float32":
        return False
    by_column = columns.scale.size == columns.zero.size == 1 or columns.axis % 2 == axis
    whole = rows.scale.size == rows.zero.size == 1 and tensor_type_of(rows.values).dtype == "uint8"
    return whole and by_column and values.shape[1 - axis] <= MOST_TERMS


def _product(node: Call, rows: _Quantized, columns: _Quantized) -> Expr:
    """The product, ``(rows, columns)``, by ``nn.dense`` of bytes; as it is where weights less their zero
    points are no bytes."""
    assert isinstance(columns.values, Constant)
    stored = columns.values.data if node["transpose_b"] else columns.values.data.T
    weight = stored.astype(np.int32) - columns.zero.astype(np.int32).reshape(-1, 1)
    if not weight.size or weight.min() < -128 or weight.max() > 127:
        return node
    data, span = rows.values, node.span
    if not same_dim(tensor_type_of(data).shape[-1], weight.shape[1]):
        data = make("reshape", data, newshape=(-1, weight.shape[1]), span=span)
    made = make("nn.dense", data, Constant(weight.astype(np.int8), span), out_dtype="int32", span=span)
    if rows.zero.any():
        sums = weight.sum(axis=1, dtype=np.int32) * rows.zero.astype(np.int32).reshape(())
        made = make("subtract", made, constant(sums, "int32"), span=span)
    scale = rows.scale.reshape(()) * np.broadcast_to(columns.scale, weight.shape[:1])
    made = make(
        "multiply", make("cast", made, dtype="float32", span=span), constant(scale, "float32"), span=span
    )
    return make("reshape", made, newshape=tensor_type_of(node).shape, span=span)


def _quantized(value: Expr) -> _Quantized | None:
    """What ``value`` is dequantized of; through views, if that has one scale for all."""
    match value:
        case Call("qnn.dequantize", (values, scale, zero)):
            parts = _known(scale), _known(zero)
            if parts[0] is None or parts[1] is None:
                return None
            return _Quantized(values, parts[0], parts[1], value["axis"])
        case Call(args=(data,)) if is_view(value):
            found = _quantized(data)
            return found if found is not None and found.scale.size == found.zero.size == 1 else None
    return None


def _known(value: Expr) -> np.ndarray | None:
    """The elements of a constant, or of one whose type is changed."""
    match value:
        case Constant():
            return value.data
        case Call("cast", (Constant(data),)):
            return data.astype(value["dtype"])
    return None
