"""From elements of tensors to dimensions: integers that a run computes, and shapes are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call, Expr, Tuple
from tvmlite.relay.ir.types import Dim, dims_of
from tvmlite.relay.onnx.graph import dims
from tvmlite.te import expr as e

if TYPE_CHECKING:
    from tvmlite.relay.onnx.graph.node import OnnxNode

MOST_ELEMENTS = 64
"""Elements of a tensor that become dimensions; shapes are short."""

_VIEWS = ("reshape", "expand_dims", "squeeze")


def elements(node: OnnxNode, value: Expr, what: str, natural: bool = False) -> np.ndarray:
    """The elements of ``value``: numbers and expressions as far as they are known, new dimensions where not.

    Dimensions are not negative: where ``natural`` does not promise it, an element is the difference of two.
    """
    found = node.known(value)
    if found is None:
        found = _through(node, value, what, natural)
        node.importer.known[value] = found
    return found


def _through(node: OnnxNode, value: Expr, what: str, natural: bool) -> np.ndarray:
    """Elements that others of the graph are, part by part, before those that only a run can tell."""
    shape = node.shape(value)
    known = tuple(d for d in shape if isinstance(d, int))
    if not dtypes.is_int(node.dtype(value)) or len(known) != len(shape) or np.prod(known) > MOST_ELEMENTS:
        node.unsupported(
            f"input {what!r} is {node.type(value)} and depends on the data; {MOST_ELEMENTS} integers may"
        )
    match value:
        case Call(op="concatenate", args=(Tuple(parts),)) if len(shape) == 1:
            return np.concatenate([_objects(elements(node, part, what, natural)) for part in parts])
        case Call(op=str() as name, args=(source,)) if name in _VIEWS:
            return _objects(elements(node, source, what, natural)).reshape(known)
        case Call(op="cast", args=(source,)) if _keeps_all(node.dtype(source), node.dtype(value)):
            return _objects(elements(node, source, what, natural)).reshape(known)
    flat = node.cast(node.reshape(value, (int(np.prod(known)),)), "int64")
    return _bound(node, flat, what, natural).reshape(known)


def _objects(found: np.ndarray) -> np.ndarray:
    return found if found.dtype == object else found.astype(object)


def _keeps_all(source: str, target: str) -> bool:
    return (
        dtypes.is_int(source)
        and dtypes.limits(target)[0] <= dtypes.limits(source)[0]
        and (dtypes.limits(source)[1] <= dtypes.limits(target)[1])
    )


def _bound(node: OnnxNode, flat: Expr, what: str, natural: bool) -> np.ndarray:
    """New dimensions for the elements of a vector."""
    (count,) = node.shape(flat)
    assert isinstance(count, int)
    made = np.empty(count, object)
    if not count:
        return made
    if natural:
        made[:] = bind(node, flat, [what] * count)
        return made
    above = node.make("maximum", flat, 0)
    below = node.make("maximum", node.make("negative", flat), 0)
    names = [what] * count + [f"minus_{what}"] * count
    both = bind(node, node.many("concatenate", [above, below], axis=0), names)
    node.importer.signed.update(both)
    made[:] = [p - q for p, q in zip(both[:count], both[count:], strict=True)]
    return made


def bind(node: OnnxNode, values: Expr, names: Sequence[str]) -> list[e.SizeVar]:
    """New dimensions, called like the node and ``names``, for the elements of an int64 vector."""
    return node.importer.bind(values, [f"{node.op_type.lower()}_{name}" for name in names], node.span)


def is_open(node: OnnxNode, value: Any) -> bool:
    """Whether ``value`` may turn out to be negative when the model runs, as far as it comes from the data."""
    return isinstance(value, e.Expr) and any(d in node.importer.signed for d in dims_of(value))


def settled(node: OnnxNode, extents: Sequence[Dim], what: str) -> list[Dim]:
    """``extents`` with those that come from the data, where they are more than a name, computed and named.

    A run in which one is negative stops.
    """
    open_ones = iter(named(node, [d for d in extents if is_open(node, d)], what))
    return [next(open_ones) if is_open(node, d) else d for d in extents]


def named(node: OnnxNode, extents: Sequence[Dim], what: str) -> list[Dim]:
    """New dimensions that stand for ``extents``, which a run computes; one that is negative stops it."""
    if not extents:
        return []
    values = tuple(dims.simplify(d) for d in extents)
    return list(bind(node, node.make("shape_value", values=values, dtype="int64"), [what] * len(values)))


def require(node: OnnxNode, holds: Expr, what: str) -> None:
    """A run in which the bool ``holds``, a scalar, is false stops, and says ``what`` is negative."""
    wrong = node.make("subtract", node.cast(node.reshape(holds, (1,)), "int64"), 1)
    node.importer.required.update(bind(node, wrong, [what]))


def check(node: OnnxNode, holds: e.Expr, message: str) -> None:
    """A run in which the condition ``holds`` on dimensions does not hold stops with ``message``."""
    nothing = node.make("shape_value", values=(0,), dtype="int64")
    checked = node.make("assume", nothing, conditions=(holds,), message=message, always=True)
    node.importer.required.update(bind(node, checked, ["checked"]))


def from_data(node: OnnxNode, value: Any) -> bool:
    """Whether ``value`` comes from the data, and not from the inputs' shapes alone."""
    return isinstance(value, e.Expr) and any(d in node.importer.bound for d in dims_of(value))
