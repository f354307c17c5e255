"""Shape rules of operators that move, join and reduce elements (see ``shapes``)."""

from __future__ import annotations

import math
import operator

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.dims import Unknown
from tvmlite.relay.onnx.graph.node import MAX_KNOWN_ELEMENTS, OnnxNode
from tvmlite.relay.onnx.graph.shapes import elements_of, int_cell, objects, rule


@rule("Identity")
def _identity(node: OnnxNode, a: Expr) -> np.ndarray:
    return elements_of(node, a)


@rule("Gather")
def _gather(node: OnnxNode, data: Expr, indices: Expr) -> np.ndarray:
    where = elements_of(node, indices)
    if any(not isinstance(i, int) for i in where.ravel()):
        raise Unknown
    elements = elements_of(node, data)
    axis = node.axis(node.attr("axis", 0), elements.ndim)
    extent = elements.shape[axis]
    if any(not -extent <= i < extent for i in where.ravel()):
        node.bad(f"indices {where.ravel().tolist()} are outside [{-extent}, {extent - 1}]")
    made = np.take(elements, where.astype(np.int64), axis)
    return made if isinstance(made, np.ndarray) else objects([made], ())


@rule("Slice")
def _slice(
    node: OnnxNode,
    data: Expr,
    starts: Expr | None = None,
    ends: Expr | None = None,
    axes: Expr | None = None,
    steps: Expr | None = None,
) -> np.ndarray:
    if starts is None or ends is None:
        begin, end, along, by = node.required("starts"), node.required("ends"), node.attr("axes"), None
    else:
        begin, end, along, by = (None if v is None else _plain(node, v) for v in (starts, ends, axes, steps))
    assert begin is not None
    assert end is not None
    elements = elements_of(node, data)
    by = by or [1] * len(begin)
    along = list(range(len(begin))) if along is None else node.axes(along, elements.ndim)
    if 0 in by or not len(begin) == len(end) == len(along) == len(by):
        node.bad("starts, ends, axes and steps do not fit each other")
    where: list[slice] = [slice(None)] * elements.ndim
    for axis, first, last, step in zip(along, begin, end, by, strict=True):
        extent = elements.shape[axis]
        stop = None if step < 0 and last < -extent else last
        where[axis] = slice(first, stop, step)
    return elements[tuple(where)]


def _plain(node: OnnxNode, value: Expr) -> list[int]:
    made = elements_of(node, value).ravel().tolist()
    if any(not isinstance(i, int) for i in made):
        raise Unknown
    return made


@rule("Concat")
def _concat(node: OnnxNode, *values: Expr) -> np.ndarray:
    arrays = [elements_of(node, v) for v in values]
    if any(a.ndim != arrays[0].ndim or a.ndim == 0 for a in arrays):
        node.bad(f"inputs of ranks {[a.ndim for a in arrays]}")
    try:
        return np.concatenate(
            arrays,
            node.axis(node.attr("axis", 1) if node.opset < 4 else node.required("axis"), arrays[0].ndim),
        )
    except ValueError:
        node.bad(f"inputs of shapes {[a.shape for a in arrays]}")


@rule("Split")
def _split(node: OnnxNode, data: Expr, sizes: Expr | None = None) -> list[np.ndarray]:
    elements = elements_of(node, data)
    axis = node.axis(node.attr("axis", 0), elements.ndim)
    extent = elements.shape[axis]
    given = node.attr("split") if sizes is None else _plain(node, sizes)
    if given is None:
        part = -(-extent // node.num_outputs)
        given = [min(part, extent - k * part) for k in range(node.num_outputs)]
    if len(given) != node.num_outputs or min(given, default=0) < 0 or sum(given) != extent:
        raise Unknown  # reported by the converter
    return np.split(elements, np.cumsum(given)[:-1], axis)


@rule("Unsqueeze")
def _unsqueeze(node: OnnxNode, data: Expr, axes: Expr | None = None) -> np.ndarray:
    elements = elements_of(node, data)
    along = node.required("axes") if axes is None else _plain(node, axes)
    return np.expand_dims(elements, tuple(node.axes(along, elements.ndim + len(along))))


@rule("Squeeze")
def _squeeze(node: OnnxNode, data: Expr, axes: Expr | None = None) -> np.ndarray:
    elements = elements_of(node, data)
    along = node.attr("axes") if axes is None else _plain(node, axes)
    if along is None:
        return elements.squeeze()
    along = node.axes(along, elements.ndim)
    if any(elements.shape[a] != 1 for a in along):
        node.bad(f"axes {along} of shape {elements.shape} are not all 1")
    return elements.squeeze(tuple(along))


@rule("Reshape")
def _reshape(node: OnnxNode, data: Expr, shape: Expr | None = None) -> np.ndarray:
    elements = elements_of(node, data)
    wanted = node.required("shape") if shape is None else _plain(node, shape)
    if not node.flag("allowzero"):
        wanted = [elements.shape[i] if d == 0 and i < elements.ndim else d for i, d in enumerate(wanted)]
    try:
        return elements.reshape(wanted)
    except ValueError:
        node.bad(f"shape {elements.shape} does not reshape to {wanted}")


@rule("Flatten")
def _flatten(node: OnnxNode, data: Expr) -> np.ndarray:
    elements = elements_of(node, data)
    axis = node.attr("axis", 1)
    return elements.reshape(math.prod(elements.shape[:axis]), math.prod(elements.shape[axis:]))


@rule("Transpose")
def _transpose(node: OnnxNode, data: Expr) -> np.ndarray:
    elements = elements_of(node, data)
    perm = node.attr("perm")
    if perm is not None and sorted(perm) != list(range(elements.ndim)):
        node.bad(f"perm {perm} does not permute {elements.ndim} axes")
    return elements.transpose(perm)


@rule("Expand")
def _expand(node: OnnxNode, data: Expr, shape: Expr) -> np.ndarray:
    elements, wanted = elements_of(node, data), _plain(node, shape)
    if any(d < 0 for d in wanted) or math.prod(wanted) > MAX_KNOWN_ELEMENTS:
        raise Unknown
    try:
        return np.broadcast_to(elements, np.broadcast_shapes(elements.shape, tuple(wanted)))
    except ValueError:
        node.bad(f"shape {elements.shape} does not expand to {wanted}")


@rule("Tile")
def _tile(node: OnnxNode, data: Expr, repeats: Expr) -> np.ndarray:
    elements, counts = elements_of(node, data), _plain(node, repeats)
    if any(c < 0 for c in counts) or math.prod(counts) * elements.size > MAX_KNOWN_ELEMENTS:
        raise Unknown
    return np.tile(elements, counts)


@rule("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def _reduce(node: OnnxNode, data: Expr, axes: Expr | None = None) -> np.ndarray:
    elements = elements_of(node, data)
    if dtypes.is_float(node.dtype(data)) or elements.ndim != 1 or elements.size == 0:
        raise Unknown
    step = {
        "ReduceProd": operator.mul,
        "ReduceSum": operator.add,
        "ReduceMax": dims.maximum,
        "ReduceMin": dims.minimum,
    }[node.op_type]
    if axes is not None and elements_of(node, axes).size == 0 and node.attr("noop_with_empty_axes"):
        return elements
    made = elements[0]
    for element in elements[1:]:
        made = int_cell(step)(made, element)
    return objects([made], (1,) if node.attr("keepdims") else ())
