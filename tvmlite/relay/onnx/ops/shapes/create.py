"""ONNX's tensors without a data input: constants, shapes, ranges, identity matrices."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.te import expr as e


@converter("Constant")
def constant(node: OnnxNode) -> Expr:
    """Constant: a tensor, or a number or list of numbers, by attribute."""
    if node.has("value"):
        return Constant(node.attr("value"), node.span)
    for name, dtype in (
        ("value_float", "float32"),
        ("value_floats", "float32"),
        ("value_int", "int64"),
        ("value_ints", "int64"),
    ):
        if node.has(name):
            return Constant(np.asarray(node.attr(name), dtypes.numpy_of(dtype)), node.span)
    return node.unsupported(f"of {', '.join(a.name for a in node.proto.attribute) or 'no value'}")


@converter("ConstantOfShape", since=9)
def constant_of_shape(node: OnnxNode, shape: Expr) -> Expr:
    """ConstantOfShape: ``full`` of the one element of attribute ``value``, float32 0 by default."""
    value = node.attr("value")
    extents = node.extents(shape, "shape")
    if any(isinstance(d, int) and d < 0 for d in extents):
        node.bad(f"negative extent in shape {show_shape(tuple(extents))}")
    value = np.zeros(1, np.float32) if value is None else value
    if value.size != 1:
        node.bad(f"value has {value.size} elements, expected 1")
    return node.full(value.reshape(()), extents, dtypes.check(value.dtype))


@converter("Shape")
def shape_of(node: OnnxNode, data: Expr) -> Expr:
    """Shape of more axes than are followed at import, which does not occur: ranks are small."""
    return node.make("shape_value", values=tuple(node.shape(data)), dtype="int64")


@converter("Size")
def size_of(node: OnnxNode, data: Expr) -> Expr:
    """Size: the product of the extents as an int64 of rank 0; the data is not read."""
    return node.reshape(node.make("shape_value", values=(node.product(node.shape(data)),), dtype="int64"), ())


@converter("Range", since=11)
def range_(node: OnnxNode, start: Expr, limit: Expr, delta: Expr) -> Expr:
    """Range by ``arange``, with bounds from constants or dimensions."""
    dtype = node.dtype(start)
    if any(node.known(v) is None for v in (start, limit, delta)):
        return _dynamic_range(node, *(node.reshape(v, ()) for v in (start, limit, delta)))
    if dtypes.is_float(dtype) and not _depends_on_dims(node, start, limit, delta):
        first, last, step = (
            node.number(v, n) for v, n in ((start, "start"), (limit, "limit"), (delta, "delta"))
        )
        if step == 0:
            node.bad("delta is 0")
        if not np.isfinite([first, last, step]).all():
            node.bad(f"start, limit and delta are {first}, {last} and {step}, expected finite numbers")
        count = max(int(np.ceil((np.float64(last) - np.float64(first)) / np.float64(step))), 0)
        steps = node.arange(count, "int32")
        return node.add(node.multiply(node.cast(steps, dtype), step), first)
    first, last = node.one_int(start, "start"), node.one_int(limit, "limit")
    step = node.one_int(delta, "delta")
    if not isinstance(step, int):
        node.unsupported(f"delta depends on a dynamic dimension: {step}")
    if step == 0:
        node.bad("delta is 0")
    whole = "int64" if dtypes.is_float(dtype) else dtype
    return node.cast(node.make("arange", start=first, stop=last, step=step, dtype=whole), dtype)


def _depends_on_dims(node: OnnxNode, *values: Expr) -> bool:
    """Whether ``values`` are integers, and one of them depends on the sizes of inputs."""
    elements = [found.reshape(-1).tolist() for found in map(node.known, values) if found is not None]
    flat = [dims.whole(one) for each in elements for one in each]
    return len(elements) == len(values) and None not in flat and not all(isinstance(x, int) for x in flat)


def _dynamic_range(node: OnnxNode, start: Expr, limit: Expr, delta: Expr) -> Expr:
    """A range with bounds known only at run time."""
    dtype = node.dtype(start)
    wide = "float64" if dtypes.is_float(dtype) else "int64"
    first, last, step = (node.cast(v, wide) for v in (start, limit, delta))
    if wide == "float64":
        count = node.make("ceil", node.divide(node.subtract(last, first), step))
    else:
        (low,), (high,), (by,) = (
            node.ints(v, n) for v, n in ((first, "start"), (last, "limit"), (step, "delta"))
        )
        up, down = (e.convert(d, e.INDEX) for d in (high - low, low - high))
        by = e.convert(by, e.INDEX)
        number = e.Select(by > 0, (up + (by - 1)) // by, (down - (by + 1)) // (0 - by))
        count = node.make("shape_value", values=(number,), dtype="int64")
    counted = node.make("maximum", node.cast(node.reshape(count, (1,)), "int64"), 0)
    (length,) = bind_dims(node, counted, ["count"])
    steps = node.arange(length, dtype)
    return node.add(node.multiply(steps, delta), start)


@converter("EyeLike", since=9)
def eye_like(node: OnnxNode, data: Expr) -> Expr:
    """EyeLike: 1 where column = row + ``k``, else 0; of type ``dtype``, by default the input's."""
    if node.rank(data) != 2:
        node.bad(f"input is {show_shape(node.shape(data))}, expected a matrix")
    rows, columns = node.shape(data)
    dtype = node.dtype_attr("dtype", node.dtype(data))
    across = node.arange(columns)
    down = node.arange(rows)
    down = node.reshape(node.add(down, node.attr("k")), (rows, 1))
    return node.cast(node.make("equal", down, node.reshape(across, (1, columns))), dtype)
