"""Dimensions that depend on the data: elements of integer tensors, computed when the model runs."""

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

MAX_ELEMENTS = 64
"""The most elements of a tensor that become dimensions; shapes are short."""

_VIEWS = ("reshape", "expand_dims", "squeeze")


def dim_elements(node: OnnxNode, value: Expr, what: str, non_negative: bool = False) -> np.ndarray:
    """The elements of ``value``: numbers and expressions if known, otherwise new dimensions.

    Dimensions are not negative, so an unknown element is the difference of two, unless ``non_negative``.
    """
    found = node.known(value)
    if found is None:
        found = _through_views(node, value, what, non_negative)
        node.importer.known[value] = found
    return found


def _through_views(node: OnnxNode, value: Expr, what: str, non_negative: bool) -> np.ndarray:
    """The elements, taken from below concatenations and views if possible, else new dimensions."""
    shape = node.shape(value)
    known = tuple(d for d in shape if isinstance(d, int))
    if not dtypes.is_int(node.dtype(value)) or len(known) != len(shape) or np.prod(known) > MAX_ELEMENTS:
        node.unsupported(
            f"input {what!r} is {node.type(value)} and depends on the data; "
            f"supported are up to {MAX_ELEMENTS} integers"
        )
    match value:
        case Call(op="concatenate", args=(Tuple(parts),)) if len(shape) == 1:
            return np.concatenate([_objects(dim_elements(node, part, what, non_negative)) for part in parts])
        case Call(op=str() as name, args=(source,)) if name in _VIEWS:
            return _objects(dim_elements(node, source, what, non_negative)).reshape(known)
        case Call(op="cast", args=(source,)) if _is_lossless_cast(node.dtype(source), node.dtype(value)):
            return _objects(dim_elements(node, source, what, non_negative)).reshape(known)
    flat = node.cast(node.reshape(value, (int(np.prod(known)),)), "int64")
    return _new_dims(node, flat, what, non_negative).reshape(known)


def _objects(found: np.ndarray) -> np.ndarray:
    return found if found.dtype == object else found.astype(object)


def _is_lossless_cast(source: str, target: str) -> bool:
    return (
        dtypes.is_int(source)
        and dtypes.limits(target)[0] <= dtypes.limits(source)[0]
        and (dtypes.limits(source)[1] <= dtypes.limits(target)[1])
    )


def _new_dims(node: OnnxNode, flat: Expr, what: str, non_negative: bool) -> np.ndarray:
    """New dimensions for the elements of a vector."""
    (count,) = node.shape(flat)
    assert isinstance(count, int)
    made = np.empty(count, object)
    if not count:
        return made
    if non_negative:
        made[:] = bind_dims(node, flat, [what] * count)
        return made
    above = node.make("maximum", flat, 0)
    below = node.make("maximum", node.make("negative", flat), 0)
    names = [what] * count + [f"minus_{what}"] * count
    both = bind_dims(node, node.many("concatenate", [above, below], axis=0), names)
    node.importer.signed.update(both)
    made[:] = [p - q for p, q in zip(both[:count], both[count:], strict=True)]
    return made


def bind_dims(node: OnnxNode, values: Expr, names: Sequence[str]) -> list[e.SizeVar]:
    """Return new dimensions, named after the node and ``names``, for the elements of an int64 vector."""
    return node.importer.bind(values, [f"{node.op_type.lower()}_{name}" for name in names], node.span)


def may_be_negative(node: OnnxNode, value: Any) -> bool:
    """Whether ``value`` depends on the data and may be negative."""
    return isinstance(value, e.Expr) and any(d in node.importer.signed for d in dims_of(value))


def as_extents(node: OnnxNode, extents: Sequence[Dim], what: str) -> list[Dim]:
    """Return ``extents``, with new dimensions for those that may be negative, in which case a run stops."""
    open_ones = iter(name_dims(node, [d for d in extents if may_be_negative(node, d)], what))
    return [next(open_ones) if may_be_negative(node, d) else d for d in extents]


def name_dims(node: OnnxNode, extents: Sequence[Dim], what: str) -> list[Dim]:
    """Return new dimensions equal to ``extents``; a run in which one is negative stops."""
    if not extents:
        return []
    values = tuple(dims.simplify(d) for d in extents)
    return list(bind_dims(node, node.make("shape_value", values=values, dtype="int64"), [what] * len(values)))


def require_positive(node: OnnxNode, value: Dim, what: str) -> Dim:
    """Return ``value``, which must be at least 1: otherwise the node is rejected, or the run stops."""
    if isinstance(value, int):
        if value < 1:
            node.bad(f"{what} is {value}, expected at least 1")
        return value
    (more,) = name_dims(node, [value - 1], f"{what}_beyond_one")
    return dims.simplify(more + 1)


def require(node: OnnxNode, holds: Expr, what: str) -> None:
    """Stop a run in which the bool scalar ``holds`` is false, with the message that ``what`` is negative."""
    wrong = node.make("subtract", node.cast(node.reshape(holds, (1,)), "int64"), 1)
    node.importer.required.update(bind_dims(node, wrong, [what]))


def check_condition(node: OnnxNode, holds: e.Expr, message: str) -> None:
    """Stop a run in which the condition ``holds`` on dimensions is false, with ``message``."""
    nothing = node.make("shape_value", values=(0,), dtype="int64")
    checked = node.make("assume", nothing, conditions=(holds,), message=message, always=True)
    node.importer.required.update(bind_dims(node, checked, ["checked"]))


def depends_on_data(node: OnnxNode, value: Any) -> bool:
    """Whether ``value`` depends on the data, and not on the inputs' shapes alone."""
    return isinstance(value, e.Expr) and any(d in node.importer.bound for d in dims_of(value))
