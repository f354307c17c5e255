"""Broadcasting of dynamic dimensions that are not known to be equal, which ONNX checks at run time."""

from __future__ import annotations

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim, show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode


def broadcast_all(node: OnnxNode, *values: Expr) -> tuple[Expr, ...]:
    """Return ``values`` with shapes that certainly broadcast together.

    Two dimensions that may differ are assumed to be equal, and checked at run time: such a value is wrapped
    in ``assume_shape``. Different numbers are an error.
    """
    shapes = [node.shape(v) for v in values]
    rank = max(len(s) for s in shapes)
    result = [
        common_extent(node, [s[len(s) - rank + i] for s in shapes if len(s) - rank + i >= 0], shapes)
        for i in range(rank)
    ]
    made: list[Expr] = []
    for value, shape in zip(values, shapes, strict=True):
        wanted = result[rank - len(shape) :]
        fitted = tuple(
            have if _is_one(have) or dims.equal(have, want) else want
            for have, want in zip(shape, wanted, strict=True)
        )
        made.append(assume_shape(node, value, fitted))
    return tuple(made)


def assume_shape(node: OnnxNode, value: Expr, shape: tuple[Dim, ...]) -> Expr:
    """Return ``value`` with ``shape``, which is checked at run time if it is not certain."""
    if dims.same(node.shape(value), shape):
        return value
    return node.make("assume_shape", value, newshape=tuple(shape))


def common_extent(node: OnnxNode, extents: list[Dim], shapes: list[tuple[Dim, ...]]) -> Dim:
    """Return what ``extents``, from ``shapes``, broadcast to: a number if one is, else the first."""
    others = [d for d in extents if not _is_one(d)]
    if not others:
        return 1
    numbers = sorted({d for d in others if isinstance(d, int)})
    if len(numbers) > 1:
        node.bad(f"shapes {', '.join(map(show_shape, shapes))} do not broadcast")
    return numbers[0] if numbers else others[0]


def _is_one(extent: Dim) -> bool:
    return isinstance(extent, int) and extent == 1
