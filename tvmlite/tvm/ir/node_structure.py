"""TVM's structural equality for scalar expressions, statements and functions in loop IR.

Bound variables match by the position of their binding. A free variable matches only itself or, with
``map_free_vars``, the variable at its first occurrence. A mismatch is reported as a path in each value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core.node import Node
from tvmlite.runtime.ndarray import NDArray
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.runtime.container import ADT
from tvmlite.tvm.runtime.object_path import ObjectPath
from tvmlite.tvm.written import GE, GT

Paths = tuple[ObjectPath, ObjectPath]

_TVM_FIELDS = {
    (ir.If, "then"): "then_case",
    (ir.If, "otherwise"): "else_case",
    (ir.Seq, "body"): "seq",
    (ir.For, "var"): "loop_var",
    (e.Select, "a"): "true_value",
    (e.Select, "b"): "false_value",
}
"""TVM's names of fields that tvmlite names differently."""


def is_structural(value: Any) -> bool:
    """Whether ``value`` is a node that this module compares."""
    return isinstance(value, (e.Expr, ir.Stmt, ir.Buffer, t.IterVar, t.Range)) or hasattr(
        value, "compared_fields"
    )


def tag_of(value: Any) -> int | None:
    """The tag of an ``ADT``; None for other sequences."""
    return value.tag if isinstance(value, ADT) else None


class Comparison:
    """One comparison of two values, with the mapping between their variables and buffers."""

    def __init__(self, map_free_vars: bool) -> None:
        self._free = map_free_vars
        self._forth: dict[Any, Any] = {}
        self._back: dict[Any, Any] = {}

    def mismatch(self, left: Any, right: Any) -> Paths | None:
        """The paths to the first difference in ``left`` and ``right``; None if they are equal."""
        return self._differ(left, right, ObjectPath.root(), ObjectPath.root())

    def _differ(self, a: Any, b: Any, at: ObjectPath, to: ObjectPath) -> Paths | None:
        a, b = _as_data(a, b), _as_data(b, a)
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            return (
                self._elements(a, b, at, to) if tag_of(a) == tag_of(b) else (at.attr("tag"), to.attr("tag"))
            )
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            return self._entries(a, b, at, to)
        if type(a) is not type(b):
            return at, to
        if not isinstance(a, Node) and not hasattr(a, "compared_fields"):
            return None if _same_data(a, b) else (at, to)
        if isinstance(a, (e.Var, ir.Buffer)):
            return self._named(a, b, at, to)
        for name in getattr(a, "binders", ()):
            found = self._bind(getattr(a, name), getattr(b, name), at, to, name)
            if found is not None:
                return found
        return self._fields(a, b, at, to)

    def _fields(self, a: Any, b: Any, at: ObjectPath, to: ObjectPath) -> Paths | None:
        for name in compared(a):
            label = _TVM_FIELDS.get((type(a), name), name)
            found = self._differ(getattr(a, name), getattr(b, name), at.attr(label), to.attr(label))
            if found is not None:
                return found
        return None

    def _elements(self, a: Any, b: Any, at: ObjectPath, to: ObjectPath) -> Paths | None:
        for k, (one, other) in enumerate(zip(a, b, strict=False)):
            found = self._differ(_as_node(one), _as_node(other), at.array_index(k), to.array_index(k))
            if found is not None:
                return found
        if len(a) == len(b):
            return None
        k = min(len(a), len(b))
        here = at.array_index(k) if len(a) > k else at.missing_array_element(k)
        return here, to.array_index(k) if len(b) > k else to.missing_array_element(k)

    def _entries(self, a: Any, b: Any, at: ObjectPath, to: ObjectPath) -> Paths | None:
        others = {self._forth.get(key, key): key for key in a}
        for key, value in a.items():
            other = self._forth.get(key, key)
            if other not in b:
                return at.map_value(key), to.missing_map_entry()
            compare = self._match if isinstance(value, ir.Buffer) else self._differ  # a map declares buffers
            one, another = _as_node(value), _as_node(b[other])
            found = compare(one, another, at.map_value(key), to.map_value(other))
            if found is not None:
                return found
        for key in b:
            if key not in others:
                return at.missing_map_entry(), to.map_value(key)
        return None

    def _named(self, a: Any, b: Any, at: ObjectPath, to: ObjectPath) -> Paths | None:
        """Compare variables or buffers: bound ones by the mapping, free ones by identity."""
        if a in self._forth or b in self._back:
            return None if self._forth.get(a) is b and self._back.get(b) is a else (at, to)
        if a is b:
            self._forth[a], self._back[b] = b, a
            return None
        if self._free:
            return self._match(a, b, at, to)
        return at, to

    def _bind(self, a: Any, b: Any, at: ObjectPath, to: ObjectPath, name: str) -> Paths | None:
        here, there = at.attr(name), to.attr(name)
        if not isinstance(a, (tuple, list)):
            return self._match(a, b, here, there)
        for k, (one, other) in enumerate(zip(a, b, strict=False)):
            found = self._match(one, other, here.array_index(k), there.array_index(k))
            if found is not None:
                return found
        return None if len(a) == len(b) else self._elements(a, b, here, there)

    def _match(self, a: Any, b: Any, at: ObjectPath, to: ObjectPath) -> Paths | None:
        """Map ``a`` to ``b``, which may differ in their names only."""
        if type(a) is not type(b):
            return at, to
        self._forth[a], self._back[b] = b, a
        if isinstance(a, e.Var):
            same = str(a.dtype) == str(b.dtype) and a.lanes == b.lanes
            return None if same else (at.attr("dtype"), to.attr("dtype"))
        return self._fields(a, b, at, to)


def compared(node: Any) -> list[str]:
    """The fields of ``node`` that are compared, in order."""
    own = getattr(node, "compared_fields", None)
    if own is not None:
        return list(own)
    if isinstance(node, (GT, GE)):
        return ["a", "b"]
    left_out = {"span", "name", "pointer", "meaning"} if isinstance(node, ir.Buffer) else {"span", "meaning"}
    left_out |= set(getattr(node, "binders", ())) | set(getattr(node, "not_compared", ()))
    return [one.name for one in dataclasses.fields(node) if one.name not in left_out]


def _as_node(value: Any) -> Any:
    """A number in a list or a map as a constant, as TVM stores it."""
    return e.convert(value) if isinstance(value, (bool, int, float)) else value


def _as_data(value: Any, other: Any) -> Any:
    """``value`` for a comparison with ``other``: a number becomes a constant if ``other`` is an expression,
    else a plain Python number; an array becomes a numpy array."""
    if isinstance(value, NDArray):
        return value.numpy()
    if isinstance(value, int) and type(value) not in (int, bool):
        value = int(value)  # an extent
    if isinstance(value, str) and type(value) is not str:
        value = str.__str__(value)
    return e.convert(value) if isinstance(other, e.Expr) and isinstance(value, (bool, int, float)) else value


def _same_data(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float) and a != a:
        return b != b
    return bool(a == b)


def is_of_loops(value: Any) -> bool:
    """Whether this module compares ``value``: an expression or statement of loops, a number, a string, an
    array, or a list or map of these."""
    if isinstance(value, (tuple, list)):
        return all(is_of_loops(one) for one in value)
    if isinstance(value, Mapping):
        return all(is_of_loops(one) for one in value.values())
    return is_structural(value) or isinstance(value, (bool, int, float, str, NDArray, np.ndarray))


def tokens(root: Any, map_free_vars: bool) -> list[Any]:
    """The values that a hash of ``root`` is computed from: equal for structurally equal roots."""
    places: dict[Any, int] = {}
    found: list[Any] = []
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, bound = stack.pop()
        if isinstance(node, (tuple, list)):
            found += [tag_of(node), len(node)]
            stack += [(one, bound) for one in reversed(node)]
        elif isinstance(node, e.Const):
            found += [node.value, str.__str__(node.dtype), node.lanes]
        elif isinstance(node, (bool, int, float)):
            stack.append((e.convert(node), bound))
        elif isinstance(node, Mapping):
            found.append(len(node))
            keys = sorted(node, key=lambda key: key if isinstance(key, str) else str(places.get(key, 0)))
            stack += [(one, True) for key in keys for one in (node[key], key)]
        elif isinstance(node, (e.Var, ir.Buffer)):
            known = bound or map_free_vars or node in places
            first = known and node not in places
            place = places.setdefault(node, len(places)) if known else id(node)
            found += [type(node).__name__, place, str(node.dtype)]
            if first and isinstance(node, ir.Buffer):
                stack += [(getattr(node, name), bound) for name in reversed(compared(node))]
        elif isinstance(node, Node) or hasattr(node, "compared_fields"):
            found.append(type(node).__name__)
            stack += [(getattr(node, name), bound) for name in reversed(compared(node))]
            stack += [(getattr(node, name), True) for name in reversed(getattr(node, "binders", ()))]
        else:
            data = _as_data(node, None)
            found.append(
                (data.dtype.name, data.shape, data.tobytes()) if isinstance(data, np.ndarray) else str(data)
            )
    return found
