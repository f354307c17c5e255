"""Makes expressions of TVM's surface of those that our builders, passes and parser make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.runtime.ndarray import NDArray
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.graph.attrs import Attrs
from tvmlite.tvm.relay.op.op import Op

SURFACE: dict[type, type] = {}
"""The class of the surface for each class of nodes of ours (``relay.expr`` enters them)."""

NAMED: set[type] = set()
"""The classes of the surface whose nodes are equal if their names are, and have no parts."""


class _Adopted:
    """Which nodes are of the surface with all their parts, and what was made of others."""

    def __init__(self) -> None:
        self.whole: WeakSet[nodes.Expr] = WeakSet()
        self.made: WeakKeyDictionary[nodes.Expr, nodes.Expr] = WeakKeyDictionary()

    def mark(self, node: nodes.Expr) -> None:
        """``node`` is of the surface, and so are its parts."""
        if type(node) not in NAMED:
            self.whole.add(node)

    def get(self, node: Any) -> Any:
        """What ``node`` is on the surface, None if that is not known."""
        if isinstance(node, Op) or type(node) in NAMED or node in self.whole:
            return node
        return self.made.get(node)


ADOPTED = _Adopted()

_PARTS: dict[type, tuple[str, ...]] = {
    nodes.Call: ("op", "args"),
    nodes.Function: ("params", "body"),
    nodes.Let: ("var", "value", "body"),
    nodes.LetDims: ("value", "body"),
    nodes.If: ("condition", "then", "otherwise"),
    nodes.Loop: ("index", "states", "condition", "initial", "body"),
    nodes.Tuple: ("fields",),
    nodes.TupleGetItem: ("value",),
    nodes.Var: (),
    nodes.Constant: (),
}


def adopt(root: Any) -> Any:
    """``root``, an expression of ours, as one of the surface: itself if it is one; else what was made of it
    before, while that lives."""
    if not isinstance(root, (nodes.Expr, Op)):
        raise TypeInferError(
            f"{show(root)} given, expected a relay expression",
            Span.of_caller(),
            'a module\'s is mod["main"]' if hasattr(root, "functions") else None,
        )
    found = ADOPTED.get(root)
    if found is not None:
        return found

    def build(node: Any) -> None:
        made = _made(node)
        ADOPTED.mark(made)
        if made is not node:
            ADOPTED.made[node] = made

    _bottom_up(root, lambda node: ADOPTED.get(node) is not None, build)
    return ADOPTED.get(root)


def _bottom_up(root: Any, is_done: Callable[[Any], bool], build: Callable[[Any], None]) -> None:
    """``build`` each node of ``root`` that is not done, behind its parts."""
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if is_done(node):
            continue
        if ready:
            build(node)
        else:
            stack.append((node, True))
            stack.extend((part, False) for part in _parts(node))


def _kind(node: nodes.Expr) -> type:
    return next(kind for kind in type(node).__mro__ if kind in _PARTS)


def _parts(node: nodes.Expr) -> Iterator[Any]:
    for name in _PARTS[_kind(node)]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None and not (isinstance(value, str) and name == "op"):
            yield value


def _made(node: Any) -> Any:
    """A node of the surface of ``node``, whose parts are adopted already."""
    kind = _kind(node)
    fields = dict(node.__dict__)
    for name in _PARTS[kind]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            fields[name] = tuple(ADOPTED.get(one) for one in value)
        elif isinstance(value, str):
            fields[name] = Op(value)
        elif value is not None:
            fields[name] = ADOPTED.get(value)
    if "attrs" in fields:
        fields["attrs"] = Attrs(fields["attrs"])
    if kind is nodes.Var:
        fields["type"] = ty.adopted(node.type)
    if kind is nodes.Constant:
        data = node.data if isinstance(node, DeferredConstant) else fields["data"]
        fields = {"data": np.asarray(data).view(NDArray), "span": node.span}
    own = type(node)
    made = object.__new__(own if own in SURFACE.values() else SURFACE[kind])
    made.__dict__.update(fields)
    return made


def plain(root: Any) -> Any:
    """``root`` of our own nodes alone, as the compiler takes it: what its passes make would else be adopted
    where it becomes part of a node of the surface, and a variable would be two."""
    done: dict[Any, Any] = {}

    def build(node: Any) -> None:
        done[node] = _plain(node, done)

    _bottom_up(root, done.__contains__, build)
    return done[root]


def _plain(node: Any, done: dict[Any, Any]) -> Any:
    """``node`` as one of ours, of parts that are."""
    kind = _kind(node)
    fields = dict(node.__dict__)
    for name in _PARTS[kind]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            fields[name] = tuple(done[one] for one in value)
        elif value is not None:
            fields[name] = str(value) if isinstance(value, str) else done[value]
    if type(node) is kind and all(fields[name] is getattr(node, name) for name in _PARTS[kind]):
        return node
    if "attrs" in fields:
        fields["attrs"] = tuple(fields["attrs"])
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made
