"""Conversion between our nodes, as our builders, passes and parser make them, and nodes of ``relay.expr``."""

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
"""The class of ``relay.expr`` for each of our node classes (``relay.expr`` fills this)."""

NAMED: set[type] = set()
"""The classes of ``relay.expr`` whose nodes are equal if their names are equal, and have no parts."""


class _Adopted:
    """Records which nodes consist of ``relay.expr`` nodes only, and the conversions of others."""

    def __init__(self) -> None:
        self.whole: WeakSet[nodes.Expr] = WeakSet()
        self.made: WeakKeyDictionary[nodes.Expr, nodes.Expr] = WeakKeyDictionary()

    def mark(self, node: nodes.Expr) -> None:
        """Record that ``node`` and all its parts are nodes of ``relay.expr``."""
        if type(node) not in NAMED:
            self.whole.add(node)

    def get(self, node: Any) -> Any:
        """``node`` as a node of ``relay.expr``, or None if it was not converted yet."""
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
    """Convert ``root`` to an expression of ``relay.expr``, or return it if it is one. Converting the same
    node again gives the same result, as long as that is alive."""
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
    """Call ``build`` with each node of ``root`` that is not done, after its parts."""
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
    """The node of ``relay.expr`` for ``node``, whose parts are converted already."""
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
    """``root`` converted to our own nodes, for the compiler. Otherwise a node that its passes create would be
    converted when it becomes part of a ``relay.expr`` node, and a variable could exist twice."""
    done: dict[Any, Any] = {}

    def build(node: Any) -> None:
        done[node] = _plain(node, done)

    _bottom_up(root, done.__contains__, build)
    return done[root]


def _plain(node: Any, done: dict[Any, Any]) -> Any:
    """``node`` as one of our nodes, with the parts in ``done``."""
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
