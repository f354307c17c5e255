"""Structural equality of nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core.node import Node


def alike(left: Any, right: Any) -> bool:
    """Whether ``left`` and ``right`` have the same structure: equal classes, equal data, and bound nodes
    used in the same positions.

    Bound nodes (see ``Node.binders``) match by position; free variables match only if they are one object.
    """
    bound: dict[Any, Any] = {}
    taken: set[Any] = set()
    seen: set[tuple[int, int]] = set()
    stack: list[tuple[Any, Any]] = [(left, right)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, Node):
            if a in bound:
                if bound[a] is not b:
                    return False
                continue
            if a is b and not bound:
                continue
            if (id(a), id(b)) in seen:
                continue
            seen.add((id(a), id(b)))
            if type(a) is not type(b):
                return False
            if type(a).identity:  # the class attribute: a reducer has a field of that name
                if a is not b or b in taken:
                    return False
                continue
            if not _bind(a, b, bound, taken):
                return False
            for field in dataclasses.fields(a):  # type: ignore[arg-type]
                if field.name not in a.not_compared and field.name not in a.binders:
                    stack.append((getattr(a, field.name), getattr(b, field.name)))
        elif isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            if list(a) != list(b):
                return False
            stack.extend((a[key], b[key]) for key in a)
        elif not _same_data(a, b):
            return False
    return True


def _bind(a: Node, b: Node, bound: dict[Any, Any], taken: set[Any]) -> bool:
    for name in a.binders:
        mine, other = getattr(a, name), getattr(b, name)
        mine = mine if isinstance(mine, tuple) else (mine,)
        other = other if isinstance(other, tuple) else (other,)
        if len(mine) != len(other):
            return False
        for x, y in zip(mine, other, strict=True):
            if not _same_binder(x, y, bound):
                return False
            bound[x] = y
            taken.add(y)
    return True


def _same_binder(x: Any, y: Any, bound: dict[Any, Any]) -> bool:
    """Whether two bound nodes are equal in all but their names."""
    if type(x) is not type(y):
        return False
    names = [f.name for f in dataclasses.fields(x) if f.name not in ("name", *x.not_compared)]
    return all(_alike_under(getattr(x, n), getattr(y, n), bound) for n in names)


def _alike_under(a: Any, b: Any, bound: dict[Any, Any]) -> bool:
    if isinstance(a, Node):
        return bound.get(a, a) is b or alike(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_alike_under(x, y, bound) for x, y in zip(a, b, strict=True))
    return _same_data(a, b)


def _same_data(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()
    return type(a) is type(b) and bool(a == b)
