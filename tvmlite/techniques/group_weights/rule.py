"""Constant weights of few bits are packed once, at compile time, as the kernels read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from tvmlite.core import mapped
from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, canonical
from tvmlite.techniques.group_weights.layout import WORD, pack_groups, pack_words, words_shape
from tvmlite.techniques.group_weights.loops import VECTORS
from tvmlite.techniques.group_weights.operator import DENSE, DENSE_OFFSET


def pack_group_weights(target: Target) -> Callable[[Module], Module]:
    """The pass for ``target``: ``nn.contrib_dense_group_quantized`` of a constant weight becomes
    ``nn.contrib_dense_group_pack``, with columns in panels of some vectors."""
    columns = VECTORS * target.lanes("float32")

    def pack_group_weights(module: Module) -> Module:
        main = module.main
        body = rewrite(main.body, lambda node: _pack(node, columns))
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return pack_group_weights


def _pack(node: Expr, columns: int) -> Expr:
    match node:
        case Call(
            "nn.contrib_dense_group_quantized",
            (data, Constant() as weight, Constant() as scale, Constant() as zero_point),
        ) if _can_pack(node, data, weight, scale):
            return _packed(node, data, weight, scale, zero_point, columns)
        case _:
            return node


def _can_pack(node: Call, data: Expr, weight: Constant, scale: Constant) -> bool:
    """Whether data are float32, groups are whole words, and there is a weight."""
    floats = tensor_type_of(data).dtype == "float32" and str(scale.dtype) in ("float32", "float16")
    return floats and node["group"] * node["bits"] % WORD == 0 and weight.size > 0


def _packed(
    node: Call, data: Expr, weight: Constant, scale: Constant, zero_point: Constant, columns: int
) -> Call:
    bits, group, units = node["bits"], node["group"], weight.shape[0]
    depth = tensor_type_of(data).shape[-1]
    assert isinstance(depth, int)
    shape = words_shape(units, depth, bits, group, columns)

    def fill(out: np.ndarray) -> None:
        with mapped.reading(weight.data) as plain:
            pack_words(out, plain, bits)

    words = DeferredConstant(shape, np.dtype("uint32"), fill, node.span)
    groups = (shape[0], scale.shape[1], columns)
    offset = _offset(zero_point, bits, scale.shape)
    args = [data, words, _in_panels(_short(scale), groups, node)]
    args += [] if offset is None else [_in_panels(offset, groups, node)]
    attrs = {"bits": bits, "group": group, "units": units}
    return Call(DENSE if offset is None else DENSE_OFFSET, tuple(args), canonical(attrs), node.span)


def _short(scale: Constant) -> np.ndarray:
    """The scales; in 16 bits where that changes none: reading them takes time, too."""
    values = scale.data
    if values.dtype == np.float16:
        return values
    with np.errstate(over="ignore", under="ignore"):
        short = values.astype(np.float16)
    return short if np.array_equal(short.astype(values.dtype), values) else values


def _offset(zero_point: Constant, bits: int, shape: tuple[int, ...]) -> np.ndarray | None:
    """Zero points ``(n, groups)`` less the middle code, in 8 bits where they fit; None if all are 0."""
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
