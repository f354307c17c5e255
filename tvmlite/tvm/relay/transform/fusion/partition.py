"""Divides values into fused groups by TVM's rules, in three phases over the post-dominator tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvmlite.relay.ir.op import Fuse
from tvmlite.tvm.relay.transform.fusion.graph import Dominated, ForwardGraph, Value, dominators

MOST_NODES = 256
"""The default limit on the number of values in a group."""


class Group:
    """A fused group. ``root`` is the value that is the group's result."""

    def __init__(self, value: Value) -> None:
        self.parent: Group | None = None
        self.fuse, self.root, self.count = int(value.fuse), value.node, 1
        self.has_anchor = value.fuse == Fuse.OUT_ELEMWISE_FUSABLE

    def top(self) -> Group:
        """The group that this one was merged into, transitively, or this group itself."""
        group = self
        while group.parent is not None:
            group = group.parent
        return group


class Partition:
    """The groups of a graph, by index of the values."""

    def __init__(self, graph: ForwardGraph, level: int, most: int = MOST_NODES) -> None:
        self._most = most
        self.groups = [Group(value) for value in graph.order]
        if level == 0:
            return
        tree = dominators(graph)
        for phase in range(3):
            for one in tree:
                self._visit(one, phase)

    def _visit(self, one: Dominated, phase: int) -> None:
        """Fuse a value with its post-dominator, if the phase allows it."""
        value, group = one.value, self.groups[one.value.index]
        if group.fuse == Fuse.OPAQUE or one.parent is None:
            return
        sink = one.parent.value
        into = self.groups[sink.index]
        if (
            into.top().count + sum(self.groups[step.index].count for step in _between(value, sink))
            > self._most
        ):
            return
        if phase == 2:
            root = into.top()
            if group.fuse > Fuse.INJECTIVE or root.fuse == Fuse.TUPLE:
                return
            if into.fuse == Fuse.TUPLE and root.fuse <= Fuse.INJECTIVE:
                self._try(value, sink, lambda kind, last: kind <= Fuse.INJECTIVE)
            return
        if group.top() is into.top() or into.fuse == Fuse.TUPLE:
            return
        if group.fuse == Fuse.OUT_ELEMWISE_FUSABLE:
            if phase == 0 and one.fuse == Fuse.ELEMWISE:
                self._try(value, sink, lambda kind, last: kind <= Fuse.BROADCAST)
        elif group.fuse <= Fuse.BROADCAST:
            if one.fuse <= Fuse.INJECTIVE or one.fuse == Fuse.COMM_REDUCE:
                self._try(value, sink, _light_up_to_anchor)
        elif group.fuse in (Fuse.INJECTIVE, Fuse.TUPLE) and phase == 1:
            self._try(value, sink, lambda kind, last: kind <= Fuse.INJECTIVE)

    def _try(self, value: Value, sink: Value, allowed: Callable[[int, bool], bool]) -> None:
        """Fuse all values on the paths from ``value`` to ``sink``, if ``allowed`` accepts each of them."""
        way = [*_between(value, sink)]
        kinds = [(self.groups[one.index].top().fuse, False) for one in way if one is not value]
        kinds.append((self.groups[sink.index].top().fuse, True))
        if all(allowed(kind, last) for kind, last in kinds):
            for one in way:
                _merge(self.groups[one.index], self.groups[sink.index])


def _light_up_to_anchor(kind: int, last: bool) -> bool:
    return kind <= Fuse.INJECTIVE or (last and kind in (Fuse.COMM_REDUCE, Fuse.OUT_ELEMWISE_FUSABLE))


def _merge(child: Group, parent: Group) -> None:
    child, parent = child.top(), parent.top()
    if child is parent:
        return
    parent.count += child.count
    child.parent = parent
    if child.has_anchor:
        parent.has_anchor = True
        parent.fuse = max(child.fuse, parent.fuse)


def _between(value: Value, sink: Value) -> Iterator[Value]:
    """``value`` and all values on the paths from it to ``sink``, excluding ``sink``."""
    seen: set[Any] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if one is not sink and one not in seen:
            seen.add(one)
            yield one
            stack.extend(reader for reader, _ in one.readers)
