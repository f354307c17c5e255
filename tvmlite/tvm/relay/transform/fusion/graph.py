"""The values of a function with their readers and the kinds of reads, and the post-dominator tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.op import Fuse
from tvmlite.relay.ir.types import TensorType, TupleType, is_symbolic, same_shape
from tvmlite.tvm.relay.expr import GlobalVar
from tvmlite.tvm.relay.op.pattern import pattern_of

_SCALARS = ("int32", "int64", "float32", "float64", "bool")


@dataclass(eq=False)
class Value:
    """A node of the graph. ``readers`` are the values that may be fused with it and how they read it."""

    node: Any
    index: int = -1
    fuse: int = Fuse.OPAQUE
    is_outside: bool = False
    """Whether a node that is never fused reads the value, which must then be stored."""
    readers: list[tuple[Value, int]] = field(default_factory=list)


class ForwardGraph:
    """The values of a function, in post-order."""

    def __init__(self, body: Any) -> None:
        self.order: list[Value] = []
        self._values: dict[Any, Value] = {}
        self._read(body, None, Fuse.OPAQUE)
        stack: list[tuple[Any, bool]] = [(body, False)]
        seen: set[Any] = set()
        while stack:
            node, ready = stack.pop()
            if ready:
                self._enter(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((one, False) for one in reversed(self._parts(node)))

    def of(self, node: Any) -> Value:
        """The value for ``node``, created if there is none."""
        if node not in self._values:
            self._values[node] = Value(node)
        return self._values[node]

    def _enter(self, node: Any) -> None:
        value = self.of(node)
        value.index = len(self.order)
        self.order.append(value)
        if isinstance(node, nodes.Constant):
            scalar = node.data.ndim == 0 and node.data.dtype.name in _SCALARS
            value.fuse = Fuse.ELEMWISE if scalar else Fuse.OPAQUE

    def _read(self, node: Any, reader: Value | None, how: int) -> None:
        value = self.of(node)
        if reader is None:
            value.is_outside = True
        else:
            value.readers.append((reader, how))

    def _parts(self, node: Any) -> list[Any]:
        """The operands of ``node``, in TVM's order, after recording that ``node`` reads them."""
        match node:
            case nodes.Call(op=str(), args=args):
                self._call(node)
                return list(args)
            case nodes.Call(op=op, args=args):
                for one in (op, *args):
                    self._read(one, None, Fuse.OPAQUE)
                return [op, *args] if not isinstance(op, GlobalVar) else list(args)
            case nodes.Tuple(fields=fields):
                value = self.of(node)
                value.fuse = Fuse.TUPLE
                for one in fields:
                    self._read(one, value if isinstance(type_of(one), TensorType) else None, Fuse.INJECTIVE)
                return list(fields)
            case nodes.TupleGetItem(value=pair):
                type_ = type_of(pair)
                assert isinstance(type_, TupleType)
                plain = all(isinstance(one, TensorType) for one in type_.fields)
                if plain:
                    self.of(node).fuse = Fuse.INJECTIVE
                self._read(pair, self.of(node) if plain else None, Fuse.INJECTIVE)
                return [pair]
            case nodes.Function() if dict(node.attrs).get("Primitive"):
                return []
        children = list(node.children())
        for one in children:
            self._read(one, None, Fuse.OPAQUE)
        return children

    def _call(self, node: nodes.Call) -> None:
        value = self.of(node)
        value.fuse = fuse_class(node)
        result = type_of(node)
        for arg in node.args:
            how, type_ = value.fuse, type_of(arg)
            if how == Fuse.BROADCAST and isinstance(type_, TensorType) and isinstance(result, TensorType):
                how = Fuse.ELEMWISE if same_shape(type_.shape, result.shape) else how
            self._read(arg, value, how)


def fuse_class(call: nodes.Call) -> int:
    """TVM's fusion class of an operator call; OPAQUE if its attributes have symbolic dimensions."""
    if is_symbolic(tuple(value for _, value in call.attrs)):
        return Fuse.OPAQUE
    return pattern_of(str(call.op))


@dataclass(eq=False)
class Dominated:
    """A value with its immediate post-dominator, the first value on all paths from it to the results, and the
    most restrictive kind of read on the paths between them."""

    value: Value
    parent: Dominated | None
    depth: int
    fuse: int


def dominators(graph: ForwardGraph) -> list[Dominated]:
    """The post-dominator of each value, by index."""
    found: list[Any] = [None] * len(graph.order)
    for value in reversed(graph.order):
        parent, how = None, int(Fuse.OPAQUE)
        if not value.is_outside:
            parent, how = _common(value, found)
        found[value.index] = Dominated(value, parent, parent.depth + 1 if parent else 1, how)
    return found


def _common(value: Value, found: list[Any]) -> tuple[Dominated | None, int]:
    """The least common ancestor of the readers of ``value``, and the most restrictive read on paths to it."""
    parent: Dominated | None = None
    how = int(Fuse.ELEMWISE)
    for position, (reader, read) in enumerate(value.readers):
        other: Dominated | None = found[reader.index]
        how = max(how, read)
        if position == 0:
            parent = other
        while parent is not other:
            if parent is None or other is None:
                return None, how
            mine, others = parent.depth, other.depth
            if others >= mine:
                how, other = max(how, other.fuse), other.parent
            if mine >= others:
                how, parent = max(how, parent.fuse), parent.parent
    return parent, how
