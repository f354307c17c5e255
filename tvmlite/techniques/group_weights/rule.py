"""The pass that packs constant weights of 4 or 8 bits at compile time in the layout that kernels read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from tvmlite.core import mapped
from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, TupleGetItem, canonical
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops.quantized.group_data import MAX_GROUP
from tvmlite.techniques.group_weights.codes import CODES
from tvmlite.techniques.group_weights.integer_loops import multiplies_bytes
from tvmlite.techniques.group_weights.layout import WORD, pack_groups, pack_words, words_shape
from tvmlite.techniques.group_weights.operator import (
    DENSE,
    DENSE_CODES,
    DENSE_CODES_OFFSET,
    DENSE_OFFSET,
)
from tvmlite.techniques.group_weights.panels import VECTORS

OPERATORS = ((DENSE, DENSE_OFFSET), (DENSE_CODES, DENSE_CODES_OFFSET))
"""The operators for float data and for quantized data, each without and with zero points."""


ALLOWED_BITS, STATED_ERROR = 16, 2.0**-14
"""The bits that float data are rounded to, and the least error bound that allows it: terms have errors of up
to 2^-16 of the largest in their group, results of some 2^-15 of the largest one."""


def pack_group_weights(target: Target, error_bound: float = 0.0) -> Callable[[Module], Module]:
    """The pass for ``target``: ``nn.contrib_dense_group_quantized`` of a constant weight becomes
    ``nn.contrib_dense_group_pack``, with columns in panels of some vectors.

    Float data are rounded to 16 bits if ``error_bound`` allows it and the target multiplies bytes.
    """
    columns = VECTORS * target.lanes("float32")
    data_bits_allowed = ALLOWED_BITS if error_bound >= STATED_ERROR and multiplies_bytes(target) else 0

    def pack_group_weights(module: Module) -> Module:
        main, codes = module.main, {}
        body = rewrite(main.body, lambda node: _pack(node, columns, data_bits_allowed, codes))
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return pack_group_weights


_Codes = dict[tuple[Expr, int, int], Call]
"""The calls that compute codes of data, by the data, group and bits."""


def _pack(node: Expr, columns: int, data_bits_allowed: int, codes: _Codes) -> Expr:
    match node:
        case Call(
            "nn.contrib_dense_group_quantized",
            (data, Constant() as weight, Constant() as scale, Constant() as zero_point),
        ) if _can_pack(node, data, weight, scale):
            depth = tensor_type_of(data).shape[-1]
            assert isinstance(depth, int)
            packed = _packed_weight(node, depth, weight, scale, zero_point, columns)
            data_bits = node["data_bits"] or data_bits_allowed * (node["group"] <= MAX_GROUP[ALLOWED_BITS])
            args = [*(_quantized_data(node, data, data_bits, codes) if data_bits else [data]), *packed]
            attrs = {"bits": node["bits"], "group": node["group"], "units": weight.shape[0]}
            name = OPERATORS[data_bits > 0][len(packed) - 2]
            return Call(name, tuple(args), canonical(attrs), node.span)
        case _:
            return node


def _can_pack(node: Call, data: Expr, weight: Constant, scale: Constant) -> bool:
    """Whether data are float32, groups are whole words, and the weight is not empty."""
    floats = tensor_type_of(data).dtype == "float32" and str(scale.dtype) in ("float32", "float16")
    return floats and node["group"] * node["bits"] % WORD == 0 and weight.size > 0


def _quantized_data(node: Call, data: Expr, data_bits: int, codes: _Codes) -> list[Expr]:
    """The codes of ``data``, their scales and their sums, shared by all its products."""
    key = data, node["group"], data_bits
    if key not in codes:
        codes[key] = make(CODES, data, group=node["group"], data_bits=data_bits, span=node.span)
    return [TupleGetItem(codes[key], n, node.span) for n in range(3)]


def _packed_weight(
    node: Call, depth: int, weight: Constant, scale: Constant, zero_point: Constant, columns: int
) -> list[Expr]:
    """The words of a weight with rows of ``depth`` terms, its scales, and its zero points, if any."""
    bits = node["bits"]
    shape = words_shape(weight.shape[0], depth, bits, node["group"], columns)

    def fill(out: np.ndarray) -> None:
        with mapped.reading(weight.data) as plain:
            pack_words(out, plain, bits)

    words = DeferredConstant(shape, np.dtype("uint32"), fill, node.span)
    groups = (shape[0], scale.shape[1], columns)
    offset = _offset(zero_point, bits, scale.shape)
    packed = [words, _in_panels(_half_if_exact(scale), groups, node)]
    return packed if offset is None else [*packed, _in_panels(offset, groups, node)]


def _half_if_exact(scale: Constant) -> np.ndarray:
    """The scales, in 16 bits if that is exact, since reading them also takes time."""
    values = scale.data
    if values.dtype == np.float16:
        return values
    with np.errstate(over="ignore", under="ignore"):
        short = values.astype(np.float16)
    return short if np.array_equal(short.astype(values.dtype), values) else values


def _offset(zero_point: Constant, bits: int, shape: tuple[int, ...]) -> np.ndarray | None:
    """Zero points ``(n, groups)`` minus the middle code, in 8 bits if they fit; None if all are 0."""
    values, middle = zero_point.data, 1 << (bits - 1)
    if values.dtype == np.uint8:
        whole = values.astype(np.int16) - middle
        made = whole.astype(np.int8)
        made = made if np.array_equal(made, whole) else whole
    else:
        made = values.astype(np.float32) - np.float32(middle)
    return np.broadcast_to(made, shape) if made.any() else None


def _in_panels(values: np.ndarray, shape: tuple[int, int, int], node: Call) -> Constant:
    packed = np.empty(shape, values.dtype)
    pack_groups(packed, values)
    return Constant(packed, node.span)
