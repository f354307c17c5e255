"""Serialization of loop IR functions and of expressions for another process, as JSON.

Shared nodes stay shared, and all uses of a variable or buffer refer to one object: a decoded function is
legalised and compiled to exactly the same code as the original.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from tvmlite.core.node import Node
from tvmlite.te.expr import nodes
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.simplify import mark_simplified

_CLASSES = tuple(
    sorted(
        {
            made
            for module in (nodes, ir)
            for made in vars(module).values()
            if isinstance(made, type) and issubclass(made, Node) and dataclasses.is_dataclass(made)
        },
        key=lambda made: made.__name__,
    )
)
_FIELDS: dict[type[Node], tuple[str, ...]] = {
    made: tuple(one.name for one in dataclasses.fields(made) if one.init) for made in _CLASSES
}
_NUMBERS: dict[type[Node], int] = {made: number for number, made in enumerate(_CLASSES)}
_KNOWN: tuple[Node, ...] = (ir.THREAD, ir.THREADS, ir.CAPACITY)
"""Variables that are the same in every process."""

_NODE, _NODES, _DATA = 0, 1, 2


def encode(root: Node, known: Sequence[Node] = ()) -> bytes:
    """``root``, a structured function or an expression, as bytes for ``decode``, which has to be given the
    same variables ``known``."""
    first = (*_KNOWN, *known)
    places: dict[Node, int] = {node: place for place, node in enumerate(first)}
    rows: list[Any] = []
    stack: list[Node] = [root]
    while stack:
        node = stack[-1]
        if node in places:
            stack.pop()
            continue
        values = [getattr(node, name) for name in _FIELDS[type(node)]]
        waiting = [one for value in values for one in _inside(value) if one not in places]
        if waiting:
            stack += waiting[::-1]
            continue
        stack.pop()
        rows.append([_NUMBERS[type(node)], *(_written(value, places) for value in values)])
        places[node] = len(first) + len(rows) - 1
    if not rows:
        rows.append(places[root])
    return json.dumps(rows, separators=(",", ":")).encode()


def decode(data: bytes | str, known: Sequence[Node] = ()) -> Any:
    """The function or expression that ``encode`` serialized."""
    made: list[Any] = [*_KNOWN, *known]
    for row in json.loads(data):
        made.append(made[row] if isinstance(row, int) else _node(row, made))
    root = made[-1]
    return mark_simplified(root) if isinstance(root, ir.Function) else root


def _node(row: list[Any], made: list[Any]) -> Node:
    number, *fields = row
    return _CLASSES[number](*[_read(field, made) for field in fields])


def _inside(value: Any) -> tuple[Node, ...]:
    if isinstance(value, Node):
        return (value,)
    return value if type(value) is tuple and value and isinstance(value[0], Node) else ()


def _written(value: Any, places: dict[Node, int]) -> list[Any]:
    if isinstance(value, Node):
        return [_NODE, places[value]]
    if type(value) is tuple and value and isinstance(value[0], Node):
        return [_NODES, *(places[one] for one in value)]
    return [_DATA, value]


def _read(field: list[Any], made: list[Any]) -> Any:
    kind, *rest = field
    if kind == _NODE:
        return made[rest[0]]
    if kind == _NODES:
        return tuple([made[place] for place in rest])
    return _tuples(rest[0])


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
