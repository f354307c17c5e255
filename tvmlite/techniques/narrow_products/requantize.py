"""The pass that requantizes sums of products of bytes without floats in memory between.

To quantize with scale ``s``, values are divided by ``s`` first. Sums that are scaled by ``c`` anyway are
scaled by ``c / s`` instead of both, as in onnxruntime's QLinearConv. Operators that select elements, such as
a max pooling, select codes; a concatenation joins tensors that are already quantized, each by the kernel that
computes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import Node, postorder, reachable_from
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, Tuple, canonical, constant
from tvmlite.relay.ir.op import Fuse, fuse_class, is_anchor, is_homogeneous, is_view, make
from tvmlite.relay.ir.types import same_shape
from tvmlite.relay.passes.graph_pass import readers_of, rebuild
from tvmlite.relay.passes.patterns import Readers, is_float, rewrite_with_readers, scalar_of, selects
from tvmlite.techniques.common.dot import quad_lanes
from tvmlite.techniques.narrow_products.quantized import (
    as_scaled_sums,
    constant_elements,
    quantized,
    scaled_sums,
)

MOST_DEPTH = 32
"""The greatest depth, in operators, of a formula that is scaled: in deeper ones a division matters little."""


def requantize(target: Target) -> Callable[[Module], Module]:
    """The pass for ``target``; it does nothing if ``target`` has no instruction for products of bytes."""

    def requantize(module: Module) -> Module:
        main = module.main
        body = main.body
        if quad_lanes(target):
            body = _without_unused_codes(rewrite_with_readers(body, _rule))
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return requantize


def _without_unused_codes(body: Expr) -> Expr:
    """``body`` without codes whose only use is to be dequantized for one element-wise operator: in one
    kernel, they would be converted forth and back. If two products are added, ``fuse`` puts the sum in the
    kernel of the first, so the codes of the second are stored and kept."""
    readers = readers_of(body)
    places = {node: place for place, node in enumerate(postorder(body))}

    def rule(node: Expr, made: Expr) -> Expr:
        if _has_one_elementwise_reader(node, readers):
            (reader,) = readers[node]
            assert isinstance(reader, Call)
            if sum(_has_one_elementwise_reader(arg, readers) for arg in reader.args) == 1 and not is_stored(
                node, reader
            ):
                return _rounded_floats(made) or made
        return made

    def is_stored(node: Expr, reader: Call) -> bool:
        own = [places[one] for one in _products(node)]
        others = [places[one] for arg in reader.args if arg is not node for one in _products(arg)]
        return bool(own and others) and min(others) < min(own)

    return rebuild(body, rule)


def _has_one_elementwise_reader(node: Expr, readers: Mapping[Expr, list[Expr | None]]) -> bool:
    """Whether ``node`` dequantizes codes that nothing else reads, for one element-wise operator."""
    if not isinstance(node, Call) or node.op != "qnn.dequantize" or len(readers[node]) != 1:
        return False
    kind = fuse_class(readers[node][0])
    return kind is not None and kind <= Fuse.BROADCAST and len(readers[node.args[0]]) == 1


def _products(value: Expr) -> Iterator[Expr]:
    """The anchors that ``value`` depends on element-wise."""

    def made_of(one: Expr) -> Sequence[Node]:
        kind = fuse_class(one)
        return one.children() if kind is not None and kind <= Fuse.BROADCAST else ()

    return (one for one in reachable_from([value], made_of) if is_anchor(one))


def _rounded_floats(node: Expr) -> Expr | None:
    """A dequantization ``node`` of quantized floats, by rounding the floats; None if it has another form."""
    match node:
        case Call("qnn.dequantize", (Call("qnn.quantize", (data, unit, own)) as codes, scale, zero)):
            points, factor = (constant_elements(own), constant_elements(zero)), constant_elements(scale)
            if factor is None or factor.size != 1 or scalar_of(unit) != 1.0 or node["out_dtype"] != "float32":
                return None
            if any(point is None or point.size != 1 for point in points):
                return None
            first, second = (int(point.reshape(())) for point in points if point is not None)
            parts = as_scaled_sums(data)
            if first != second or parts is None or not np.isfinite(parts[1]).all():
                return None
            low, high = (float(limit - first) for limit in dtypes.limits(codes["out_dtype"]))
            whole = make("clip", make("round", data, span=node.span), a_min=low, a_max=high, span=node.span)
            return make("multiply", whole, constant(factor.reshape(()), "float32"), span=node.span)
    return None


def _rule(node: Expr, readers: Readers) -> Expr:
    match node:
        case Call("qnn.quantize", (data, scale, zero)):
            step, point = constant_elements(scale), constant_elements(zero)
            if step is not None and point is not None and step.size == point.size == 1 and is_float(data):
                return _quantized(node, float(step.reshape(())), point.reshape(()), readers)
    return node


def _quantized(node: Call, step: float, point: np.ndarray, readers: Readers) -> Expr:
    """``node``, which quantizes with scale ``step``, in its cheapest form."""
    data = node.args[0]
    if not 0.0 < step < np.inf:  # other scales keep neither the order nor codes
        return node
    if (codes := _codes(node, data, step, point, readers)) is not None:
        return codes
    if isinstance(data, Call) and data.op == "concatenate" and isinstance(data.args[0], Tuple):
        if readers.get(data, 1) == 1:
            fields = tuple(_quantized_like(node, field, readers) for field in data.args[0].fields)
            return Call(data.op, (Tuple(fields, data.span),), data.attrs, data.span)
    if step == 1.0 or tensor_type_of(data).dtype != "float32":
        return node
    scaled = _scaled(data, np.float32(step), readers)
    if scaled is None:
        return node
    return Call(node.op, (scaled, constant(np.float32(1)), node.args[2]), node.attrs, node.span)


def _quantized_like(node: Call, data: Expr, readers: Readers) -> Expr:
    """``data`` quantized as ``node`` does."""
    return _rule(Call(node.op, (data, *node.args[1:]), node.attrs, node.span), readers)


def _codes(node: Call, data: Expr, step: float, point: np.ndarray, readers: Readers) -> Expr | None:
    """The codes that ``data`` was dequantized from, or a selection of quantized elements, if that equals
    ``node``; else None."""
    found = quantized(data)
    if found is not None and found.is_uniform:
        same = float(found.scale.reshape(())) == step and int(found.zero.reshape(())) == int(point)
        if same and tensor_type_of(found.codes).dtype == node["out_dtype"]:
            shape = tensor_type_of(data).shape
            if same_shape(tensor_type_of(found.codes).shape, shape):
                return found.codes
            return make("reshape", found.codes, newshape=shape, allowzero=True, span=node.span)
    selecting: list[Call] = []
    while selects(data) and readers.get(data, 1) == 1:
        assert isinstance(data, Call)
        selecting.append(data)
        data = data.args[0]
    if not selecting:
        return None
    made = _quantized_like(node, data, readers)
    for one in reversed(selecting):
        made = Call(one.op, (made, *one.args[1:]), one.attrs, one.span)
    return made


def _scaled(value: Expr, step: np.float32, readers: Readers, depth: int = MOST_DEPTH) -> Expr | None:
    """``value / step`` without a division per element; None if there is no such form, or a value that would
    be scaled has other readers."""
    if depth == 0:
        return None
    match value:
        case Constant(data):
            return Constant((data / step).astype(data.dtype), value.span)
        case Call("qnn.dequantize", (codes, scale, zero)):
            factor = constant_elements(scale)
            if factor is None or value["out_dtype"] != "float32":
                return None
            scaled = constant((factor.astype(np.float32) / step).reshape(factor.shape), "float32")
            return Call(value.op, (codes, scaled, zero), value.attrs, value.span)
    if not isinstance(value, Call) or readers.get(value, 1) != 1 or not is_float(value):
        return None
    if (parts := as_scaled_sums(value)) is not None:
        sums, factor = parts
        return scaled_sums(sums, factor / step)
    match value:
        case Call("clip", (data,)):
            inner = _scaled(data, step, readers, depth - 1)
            limits = {k: float(np.float32(value[k]) / step) for k in ("a_min", "a_max")}
            return None if inner is None else Call(value.op, (inner,), canonical(limits), value.span)
    if is_homogeneous(value) or is_view(value) or selects(value):
        made = [_scaled(arg, step, readers, depth - 1) if is_float(arg) else arg for arg in value.args]
        if any(arg is None for arg in made):
            return None
        return Call(value.op, tuple(made), value.attrs, value.span)  # type: ignore[arg-type]
    return None
