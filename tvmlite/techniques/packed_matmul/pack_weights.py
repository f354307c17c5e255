"""The pass that stores constant weights of dense layers at compile time in the layout that kernels read.

A dense layer's outputs become the innermost axis, in blocks of one vector, so that a kernel multiplies one
broadcast input value by a vector of weights. With few rows, blocks have several vectors, so that a kernel
reads one contiguous stream (``columns_at_once``). (``alter_op_layout`` is the pass for convolutions.)

With few rows, reading the weight dominates. A weight whose elements were rounded to 16 bits is then stored in
16 bits, even if the kernel computes in float32 (``to_mixed_precision``): one row by 4096 x 4096 takes half
the time, one row by 768 x 768, which fits a cache, as long as in float32. A weight of float32 is stored in a
shorter format if the error bound allows it and a technique offers one (``APPROXIMATIONS``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core import mapped
from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, canonical
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.passes.decisions import Decisions
from tvmlite.relay.passes.precision.to_mixed_precision import has_16_bit_products
from tvmlite.te.templates.group import number, product
from tvmlite.techniques.common.dot import multiplies_bytes, quad_lanes
from tvmlite.techniques.common.quads import QUAD
from tvmlite.techniques.packed_matmul.matrix import FEW_ROWS, columns_at_once

PACKED_DTYPES = ("float32", "float64")

BYTES = ("uint8", "int8")

PAIR_BLOCK = 16
"""The number of sums, of two products each, that ``vdpbf16ps`` computes at once."""


Approximation: TypeAlias = Callable[[Call, Expr, Constant, int, Target, float, Decisions | None], Call | None]

APPROXIMATIONS: dict[str, Approximation] = {}
"""By technique, a function that replaces a dense layer (its call, data, constant weight and number of rows)
by one with the weight in a shorter format, if the error bound allows it and it is faster; else None."""


def pack_weights(
    target: Target,
    precision: str = "float32",
    error_bound: float = 0.0,
    decisions: Decisions | None = None,
) -> Callable[[Module], Module]:
    """The pass for ``target``. ``precision`` is the dtype that weights may have been rounded to;
    ``error_bound`` limits the error of results of few rows, relative to the largest."""
    narrow = None if precision == "float32" or has_16_bit_products(target) else precision
    bound = error_bound if precision == "float32" else 0.0

    def pack_weights(module: Module) -> Module:
        main = module.main
        body = rewrite(main.body, lambda node: _pack(node, target, narrow, bound, decisions))
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return pack_weights


def _pack(node: Expr, target: Target, narrow: str | None, bound: float, decisions: Decisions | None) -> Expr:
    match node:
        case Call("nn.dense", (data, Constant() as weight)) if _can_use_pairs(node, weight, target):
            return _paired_dense(node, data, weight)
        case Call("nn.dense", (data, Constant() as weight)) if _is_integer_product(node, data, weight):
            return _integer_dense(node, data, weight, target)
        case Call("nn.dense", (data, Constant() as weight)) if _can_pack(node, weight):
            return _packed_dense(node, data, weight, target, narrow, bound, decisions)
        case Call("nn.matmul", (data, Constant() as weight)) if not node["transpose_a"] and _can_pack(
            node, weight
        ):
            plain = weight if node["transpose_b"] else _transposed(weight)
            return _packed_dense(node, data, plain, target, narrow, bound, decisions)
        case _:
            return node


def _packed_dense(
    node: Call,
    data: Expr,
    weight: Constant,
    target: Target,
    narrow: str | None,
    bound: float,
    decisions: Decisions | None,
) -> Call:
    """``data (m, k)`` times the rows of ``weight (n, k)``, packed. If rows are few, the weight has the dtype
    ``narrow`` if that represents its elements exactly, or a shorter format if ``bound`` allows it."""
    rows, columns = product(map(number, _type(node).shape[:-1])), weight.shape[0]
    if rows is not None:
        for approximate in APPROXIMATIONS.values():
            if (made := approximate(node, data, weight, rows, target, bound, decisions)) is not None:
                return made
    block = columns_at_once(target, str(weight.dtype), rows, columns, weight.shape[1])
    if narrow is not None and rows is not None and rows <= FEW_ROWS:
        weight = _narrowed_if_exact(weight, narrow)
    attrs = {"units": columns, "out_dtype": node["out_dtype"], "weight_layout": f"NC{block}n"}
    packed = _in_blocks(weight, block, (0, 2, 1), node)
    return Call("nn.contrib_dense_pack", (data, packed), canonical(attrs), node.span)


def _narrowed_if_exact(constant: Constant, dtype: str) -> Constant:
    """``constant`` as ``dtype`` if that represents its elements exactly; else unchanged."""
    weight = constant.data
    with np.errstate(over="ignore"):
        narrow = weight.astype(dtypes.numpy_of(dtype))
    same = np.array_equal(narrow.astype(weight.dtype), weight)
    return Constant(narrow, constant.span) if same else constant


def _transposed(weight: Constant) -> Constant:
    """The transpose of a matrix."""
    if not isinstance(weight, DeferredConstant):
        return Constant(weight.data.T, weight.span)
    columns, rows = weight.shape
    return DeferredConstant((rows, columns), weight.dtype, lambda out: weight.write_to(out.T), weight.span)


def _can_use_pairs(node: Call, weight: Constant, target: Target) -> bool:
    """Whether ``target`` sums two products of bfloat16 at once, and rows of ``weight`` are whole pairs."""
    if str(weight.dtype) != "bfloat16" or not target.has("avx512bf16") or node["out_dtype"] == "float64":
        return False
    return weight.size > 0 and weight.shape[1] % 2 == 0


def _paired_dense(node: Call, data: Expr, weight: Constant) -> Call:
    """``data (m, k)`` times the rows of ``weight (n, k)``, packed with two elements of a row adjacent."""
    attrs = {"units": weight.shape[0], "out_dtype": node["out_dtype"]}
    attrs["weight_layout"] = f"NC{PAIR_BLOCK}n2c"
    packed = _in_blocks(weight, PAIR_BLOCK, (0, 2, 1, 3), node, interleaved=2)
    return Call("nn.contrib_dense_pack", (data, packed), canonical(attrs), node.span)


def _is_integer_product(node: Call, data: Expr, weight: Constant) -> bool:
    """Whether ``node`` sums products of bytes in int32, with a weight of int8."""
    kinds = str(weight.dtype), _type(node).dtype
    return tensor_type_of(data).dtype in BYTES and kinds == ("int8", "int32") and weight.size > 0


def _integer_dense(node: Call, data: Expr, weight: Constant, target: Target) -> Call:
    """``data (m, k)`` times the rows of ``weight (n, k)``, packed. Four elements of a row are adjacent if
    ``target`` sums four products at once and ``weight`` has at least as many rows as it computes sums."""
    columns, k = weight.shape
    rows = product(map(number, _type(node).shape[:-1]))
    alike = multiplies_bytes(target, tensor_type_of(data).dtype, str(weight.dtype))
    lanes = quad_lanes(target) if alike else 0
    attrs = {"units": columns, "out_dtype": "int32"}
    if lanes and columns >= lanes:
        if k % QUAD:
            data = _zero_padded(data, -k % QUAD, node)
            weight = Constant(np.pad(weight.data, ((0, 0), (0, -k % QUAD))), weight.span)
        block = _quad_block(rows, columns, k, lanes, target)
        packed = _in_blocks(weight, block, (0, 2, 1, 3), node, interleaved=QUAD)
        attrs["weight_layout"] = f"NC{block}n{QUAD}c"
    else:
        block = columns_at_once(target, "int32", rows, columns, k)
        packed = _in_blocks(weight, block, (0, 2, 1), node)
        attrs["weight_layout"] = f"NC{block}n"
    return Call("nn.contrib_dense_pack", (data, packed), canonical(attrs), node.span)


def _quad_block(rows: int | None, columns: int, depth: int, lanes: int, target: Target) -> int:
    """The number of columns in a block: ``lanes``, or several times as many if rows are few."""
    if rows is None or rows > FEW_ROWS:
        return lanes
    return columns_at_once(target, "int32", rows, columns, depth) // lanes * lanes


def _zero_padded(data: Expr, count: int, node: Call) -> Expr:
    """``data`` with ``count`` zeros after each row."""
    width = ((0, 0),) * (tensor_type_of(data).ndim - 1) + ((0, count),)
    return make("nn.pad", data, span=node.span, pad_width=width, pad_value=0.0)


def _can_pack(node: Call, weight: Constant) -> bool:
    """Whether data, weight and result share a dtype for which packed kernels exist."""
    result = _type(node)
    return result.dtype in PACKED_DTYPES and str(weight.dtype) == result.dtype and weight.size > 0


def _type(node: Call) -> TensorType:
    result = type_of(node)
    assert isinstance(result, TensorType)
    return result


def _in_blocks(
    weight: Constant, block: int, axes: tuple[int, ...], node: Call, interleaved: int = 0
) -> Constant:
    """``weight (n, k)`` as ``(ceil(n / block), block, k)``, padded with zeros, then with its ``axes``
    permuted. If ``interleaved`` is given, ``k`` is split, with groups of so many elements as the last axis.

    The result is written directly into the library, so that a large weight is not in memory twice.
    """
    count, length = weight.shape
    inner = (block, length // interleaved, interleaved) if interleaved else (block, length)
    whole, rest = divmod(count, block)
    shape = tuple((whole + (rest > 0), *inner)[axis] for axis in axes)
    back = tuple(map(int, np.argsort(axes)))

    def fill(out: np.ndarray) -> None:
        rows, blocked = weight.data, out.transpose(back)
        mapped.copy(blocked[:whole], rows[: whole * block].reshape(whole, *inner))
        if rest:
            mapped.copy(blocked[whole, :rest], rows[whole * block :].reshape(rest, *inner[1:]))
            blocked[whole, rest:] = 0

    return DeferredConstant(shape, weight.dtype, fill, node.span)
