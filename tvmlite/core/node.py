"""IR nodes and their traversals: iterative, memoised, identity-preserving."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_not
from typing import Any, ClassVar, TypeVar

NodeType = TypeVar("NodeType", bound="Node")


class Node:
    """A frozen dataclass, equal only to itself (structural equality is ``core.alike``).

    ``children_in`` names the fields that hold child nodes: a node, ``None``, or a tuple of
    nodes. Every other field is data and is compared by value in ``core.alike``, except those in
    ``not_compared``. ``binders`` names the fields whose nodes this node binds (a loop's
    variable, a function's parameters): ``alike`` matches them by position, not by name.
    A class with ``identity`` set (a variable): unless bound, its nodes are alike only to themselves.
    """

    __slots__ = ()

    children_in: ClassVar[tuple[str, ...]] = ()
    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})
    binders: ClassVar[tuple[str, ...]] = ()
    identity: ClassVar[bool] = False

    def __deepcopy__(self: NodeType, memo: object) -> NodeType:
        """The node itself: it is immutable and equal only to itself, as are the nodes it shares."""
        return self

    def children(self) -> Sequence[Node]:
        """The child nodes, in field order."""
        if not self.children_in:
            return ()
        found: list[Node] = []
        for name in self.children_in:
            value = getattr(self, name)
            if type(value) is tuple:
                found += value
            elif value is not None:
                found.append(value)
        return found

    def map_children(self: NodeType, rule: Callable[[Any], Any]) -> NodeType:
        """This node with ``rule`` applied to each child; the same object if nothing changed."""
        changes: dict[str, Any] = {}
        for name in self.children_in:
            value = getattr(self, name)
            if type(value) is tuple:
                new: Any = tuple([rule(child) for child in value])
                if any(map(is_not, new, value)):
                    changes[name] = new
            elif value is not None:
                new = rule(value)
                if new is not value:
                    changes[name] = new
        return self._with(changes) if changes else self

    def _with(self: NodeType, changes: dict[str, Any]) -> NodeType:
        """``dataclasses.replace``, but with the constructor's parameters looked up once per class."""
        cls = type(self)
        names = _constructor_of.get(cls)
        if names is None:
            fields = dataclasses.fields(self)  # type: ignore[arg-type]
            names = _constructor_of[cls] = tuple(one.name for one in fields if one.init)
        values = {name: getattr(self, name) for name in names}
        values.update(changes)
        return cls(**values)


class Printable(Node):
    """A node with a text form. Nodes do not import their printer: it sets itself as their ``as_text``."""

    __slots__ = ()

    as_text: ClassVar[Callable[..., str]]

    def __str__(self) -> str:
        return type(self).as_text(self)

    def __repr__(self) -> str:
        return str(self)


_constructor_of: dict[type, tuple[str, ...]] = {}
"""The names of the fields that the constructor of each class of nodes takes."""


def postorder(root: Node) -> Iterator[Node]:
    """Every node reachable from ``root``, once, children before parents."""
    done: set[Node] = set()
    stack: list[Node | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:  # all children of the node below it are done
            below = stack.pop()
            assert below is not None
            yield below
        elif node not in done:
            done.add(node)
            children = node.children()
            if children:
                stack += (node, None)
                stack += children[::-1]
            else:
                yield node


def reachable(root: Node) -> list[Node]:
    """The nodes that ``postorder`` gives, but breadth-first from ``root``: faster, for callers to whom the
    order does not matter."""
    found, seen = [root], {root}
    for node in found:  # ``found`` grows in the loop
        for child in node.children():
            if child not in seen:
                seen.add(child)
                found.append(child)
    return found


def reachable_from(roots: Iterable[Any], successors: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """``roots`` and all that ``successors`` reaches from them, each once, before what only it reaches."""
    seen: set[Any] = set()
    stack = [*roots]
    while stack:
        one = stack.pop()
        if one not in seen:
            seen.add(one)
            yield one
            stack += successors(one)


def postorder_from(roots: Sequence[Any], successors: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """``roots`` and all that ``successors`` reaches from them, each once, after what it reaches."""
    done: set[Any] = set()
    stack = [(one, False) for one in reversed(roots)]
    while stack:
        one, ready = stack.pop()
        if ready:
            yield one
        elif one not in done:
            done.add(one)
            stack.append((one, True))
            stack += [(other, False) for other in reversed(list(successors(one)))]


def rewrite(root: Any, rule: Callable[[Any], Any]) -> Any:
    """Rebuild ``root`` bottom-up, each node once: shared nodes stay shared.

    ``rule`` gets a node whose children are already rewritten and returns it or another.
    """
    done: dict[Node, Node] = {}
    for node in postorder(root):
        done[node] = rule(node.map_children(done.__getitem__))
    return done[root]


def substitute(root: Any, mapping: dict[Any, Any]) -> Any:
    """``root`` with each occurrence of a key of ``mapping`` replaced by its value."""
    if not mapping:
        return root
    done: dict[Node, Node] = {}
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if node in mapping:
            done[node] = mapping[node]
        elif ready:
            done[node] = node.map_children(done.__getitem__)
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in node.children() if child not in done)
    return done[root]


def substitute_each(root: Any, leaf: Any, values: Iterable[Any]) -> Iterator[Any]:
    """``root`` with ``leaf`` replaced by each of ``values``; the copies share nodes that do not reach it."""
    changing: dict[Node, None] = {}
    for node in postorder(root):
        if node is leaf or not changing.keys().isdisjoint(node.children()):
            changing[node] = None
    changing.pop(leaf, None)
    for value in values:
        done: dict[Any, Any] = {leaf: value}

        def new(child: Any, get: Callable[..., Any] = done.get) -> Any:
            return get(child, child)

        for node in changing:
            done[node] = node.map_children(new)
        yield done.get(root, root)
