"""Fuse operators into groups that become one kernel each, as TVM's FuseOps does.

An operator is merged with its immediate post-dominator, the first operator on every path from it to the
result, if every operator on the paths between them may be fused, by the fusion classes of the operator table:

- an anchor (conv, dense) or a reduction takes the element-wise operators after it as its epilogue;
- element-wise and broadcasting operators join consumers of their own classes, injective operators,
  reductions, and the epilogues of anchors;
- injective operators join injective consumers and reductions, in a second phase after all of the above.

Each operator ends up in exactly one group, so nothing is computed twice, except where a decision
(``decisions``) has several consumers recompute a cheap operator. A group has one result. Operators whose
result is a tuple are never fused, and values that are read through a tuple are not fused with their readers.

Where fusing may not pay off, it is a decision, with fusing as the default: if the epilogue of an anchor reads
another tensor of the anchor's shape, with whose producer it could be fused instead; or if the elements of the
operator are read more than once, or in another order than they are computed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tvmlite.core.node import postorder
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, Var, canonical
from tvmlite.relay.ir.op import Fuse, is_view
from tvmlite.relay.ir.types import TensorType, TupleType, same_shape
from tvmlite.relay.passes.decisions import Decisions, decide
from tvmlite.relay.passes.graph_pass import graph_pass

MAX_GROUP_SIZE = 64
"""The largest number of operators in a group: larger groups compile slowly and spill registers."""

SMALL_CONSTANT = 4
"""Constants of at most this many elements are written into the kernel; larger ones are its arguments."""

FUSED, SEPARATE = "joined", "apart"
"""The alternatives of the decision whether to fuse."""

ONCE, RECOMPUTE = "once", "in each reader"
"""The alternatives of the decision where to compute a value that several kernels read."""


@graph_pass
def fuse(body: Expr, decisions: Decisions | None = None) -> Expr:
    """Wrap each fused group of operator calls in a function with the attribute ``Primitive``."""
    nodes = _graph(body)
    groups = _grouped(nodes, decisions)
    recomputed = _recomputed(nodes, groups)
    if recomputed:
        body = _with_copies(body, recomputed)
        nodes = _graph(body)
        groups = _grouped(nodes, decisions)
    return _rebuild(body, groups) if nodes else body


@graph_pass
def separate(body: Expr) -> Expr:
    """Wrap every operator call in a ``Primitive`` function of its own: one kernel per operator."""
    nodes = _graph(body)
    return _rebuild(body, _Groups(nodes)) if nodes else body


@dataclass(eq=False)
class _Node:
    """An operator call, its consumers ``readers``, each with the fusion class of its read, and its immediate
    ``post_dominator``, if any; ``depth`` is that in the tree of post-dominators. If ``escapes``, something
    other than operator calls uses the result."""

    call: Call
    kind: Fuse
    index: int
    readers: list[tuple[_Node, Fuse]] = field(default_factory=list)
    escapes: bool = False
    post_dominator: _Node | None = None
    depth: int = 1
    path_kind: Fuse = Fuse.ELEMWISE
    """The most restrictive class of a read on the paths from here to ``post_dominator``."""


def _graph(body: Expr) -> list[_Node]:
    """The operator calls of ``body``, producers first, with their readers and post-dominators."""
    by_expr: dict[Expr, _Node] = {}
    for expr in postorder(body):
        assert isinstance(expr, Expr)
        if isinstance(expr, Call) and isinstance(expr.op, str):
            node = by_expr[expr] = _Node(expr, _kind(expr), len(by_expr))
            for arg in expr.args:
                if arg in by_expr:
                    by_expr[arg].readers.append((node, _read_kind(node, arg)))
        else:
            for child in expr.children():
                if child in by_expr:
                    by_expr[child].escapes = True  # type: ignore[index]
    if body in by_expr:
        by_expr[body].escapes = True
    nodes = list(by_expr.values())
    for node in reversed(nodes):
        _find_post_dominator(node)
    return nodes


def _kind(call: Call) -> Fuse:
    assert isinstance(call.op, str)
    return Fuse.TUPLE if isinstance(type_of(call), TupleType) else operators.get(call.op, call.span).fuse


def _read_kind(reader: _Node, arg: Expr) -> Fuse:
    """The class of a read: that of ``reader``, or, if that is at most BROADCAST, by the shape of ``arg``."""
    if reader.kind > Fuse.BROADCAST:
        return reader.kind
    given, result = type_of(arg), type_of(reader.call)
    assert isinstance(given, TensorType)
    assert isinstance(result, TensorType)
    return Fuse.ELEMWISE if same_shape(given.shape, result.shape) else Fuse.BROADCAST


def _find_post_dominator(node: _Node) -> None:
    """Set the post-dominator: the least common ancestor of all readers in the tree of post-dominators."""
    if node.escapes or not node.readers:
        node.path_kind = Fuse.OPAQUE
        return
    post_dominator: _Node | None = node.readers[0][0]
    path_kind = Fuse.ELEMWISE
    for reader, read_kind in node.readers:
        other: _Node | None = reader
        path_kind = max(path_kind, read_kind)
        while post_dominator is not other:
            if post_dominator is None or other is None:
                node.path_kind = Fuse.OPAQUE
                return
            if post_dominator.depth >= other.depth:
                deeper, post_dominator = post_dominator, post_dominator.post_dominator
            else:
                deeper, other = other, other.post_dominator
            path_kind = max(path_kind, deeper.path_kind)
    assert post_dominator is not None
    node.post_dominator, node.path_kind, node.depth = post_dominator, path_kind, post_dominator.depth + 1


class _Groups:
    """A partition of the nodes into groups, each with a sink (the node of its result), a kind and members.

    ``decisions`` are for merges that may not pay off; ``kept_separate`` are the nodes that one has kept from
    merging.
    """

    def __init__(self, nodes: list[_Node], decisions: Decisions | None = None) -> None:
        self.decisions = decisions
        self._parent: dict[_Node, _Node] = {node: node for node in nodes}
        self._kind = {node: node.kind for node in nodes}
        self._members = {node: [node] for node in nodes}
        self.kept_separate: set[_Node] = set()

    def sink(self, node: _Node) -> _Node:
        while self._parent[node] is not node:
            self._parent[node] = node = self._parent[self._parent[node]]
        return node

    def kind(self, node: _Node) -> Fuse:
        return self._kind[self.sink(node)]

    def merged_members(self, nodes: set[_Node]) -> list[_Node]:
        """The members, producers first, of the group that merging the groups of ``nodes`` would make."""
        found = [one for sink in {self.sink(node) for node in nodes} for one in self._members[sink]]
        return sorted(found, key=lambda one: one.index)

    def merge(self, nodes: set[_Node], into: _Node) -> None:
        """Merge the groups of ``nodes`` into one, whose sink is that of the group of ``into``."""
        target = self.sink(into)
        for node in sorted(nodes, key=lambda one: one.index):
            source = self.sink(node)
            if source is not target:
                self._parent[source] = target
                self._kind[target] = max(self._kind[source], self._kind[target])
                self._members[target] += self._members[source]

    def members(self) -> dict[Expr, list[_Node]]:
        """The nodes of each group, producers first, keyed by the call that computes the group's result."""
        sinks = dict.fromkeys(map(self.sink, self._parent))
        return {sink.call: sorted(self._members[sink], key=lambda one: one.index) for sink in sinks}


def _grouped(nodes: list[_Node], decisions: Decisions | None) -> _Groups:
    """Partition ``nodes`` into fused groups."""
    groups = _Groups(nodes, decisions)
    for phase in range(2):
        for node in nodes:
            _try_fuse(node, groups, phase)
    return groups


def _recomputed(nodes: list[_Node], groups: _Groups) -> dict[Call, list[Call]]:
    """The operators of groups that a decision has each consumer recompute, keyed by the call that is read.

    It is a decision for element-wise groups whose consumers are in several groups and may all be fused.
    """
    found: dict[Call, list[Call]] = {}
    for node in nodes:
        readers = {groups.sink(reader): reader.call for reader, _ in node.readers}
        fusible = all(read_kind <= Fuse.COMM_REDUCE for _, read_kind in node.readers)
        stored = groups.sink(node) is node and len(readers) > 1 and not node.escapes
        if stored and fusible and groups.kind(node) <= Fuse.BROADCAST and not is_view(node.call):
            group = [one.call for one in groups.merged_members({node})]
            parts = [group, *([call] for call in readers.values())]
            taken = decide(groups.decisions, "again", lambda parts=parts: parts, (ONCE, RECOMPUTE), ONCE)
            if taken == RECOMPUTE:
                found[node.call] = group
    return found


def _with_copies(body: Expr, recomputed: dict[Call, list[Call]]) -> Expr:
    """``body`` with a separate copy of the operators in ``recomputed`` for each of their consumers."""
    done: dict[Expr, Expr] = {}

    def argument(value: Expr) -> Expr:
        copies: dict[Expr, Expr] = {}
        for call in recomputed.get(value, ()):  # type: ignore[call-overload]
            args = tuple(copies[arg] if arg in copies else done[arg] for arg in call.args)
            copies[call] = Call(call.op, args, call.attrs, call.span)
        return copies.get(value, done[value])

    for expr in postorder(body):
        assert isinstance(expr, Expr)
        done[expr] = expr.map_children(argument)
    return done[body]


def _try_fuse(node: _Node, groups: _Groups, phase: int) -> None:
    """Merge ``node`` with its post-dominator and all between if its group's kind allows it in ``phase``."""
    sink = node.post_dominator
    if sink is None or node in groups.kept_separate or groups.sink(node) is groups.sink(sink):
        return
    kind = groups.kind(node)
    if kind in (Fuse.OUT_ELEMWISE_FUSABLE, Fuse.COMM_REDUCE):
        if phase == 0 and node.path_kind is Fuse.ELEMWISE:
            _merge_paths(node, sink, groups, lambda other, last: other <= Fuse.BROADCAST)
    elif kind <= Fuse.BROADCAST:
        if node.path_kind <= Fuse.COMM_REDUCE:
            _merge_paths(node, sink, groups, _elementwise_can_fuse)
    elif kind is Fuse.INJECTIVE and phase == 1 and node.path_kind <= Fuse.COMM_REDUCE:
        _merge_paths(
            node, sink, groups, lambda other, last: other <= (Fuse.COMM_REDUCE if last else Fuse.INJECTIVE)
        )


def _elementwise_can_fuse(kind: Fuse, last: bool) -> bool:
    return kind <= (Fuse.OUT_ELEMWISE_FUSABLE if last else Fuse.INJECTIVE)


def _merge_paths(start: _Node, sink: _Node, groups: _Groups, can_fuse: Callable[[Fuse, bool], bool]) -> None:
    """Merge all groups on the paths from ``start`` to ``sink`` if ``can_fuse`` holds for each of them, unless
    the group would be too large or is decided to stay apart."""
    between: set[_Node] = set()
    stack = [start]
    while stack:
        for reader, _ in stack.pop().readers:
            if reader not in between:
                if not can_fuse(groups.kind(reader), reader is sink):
                    return
                between.add(reader)
                if reader is not sink:
                    stack.append(reader)
    between.add(start)
    members = groups.merged_members(between)
    if len(members) > MAX_GROUP_SIZE:
        return
    if _may_not_pay_off(start, members, groups) and _decide_fusion(start, members, groups) == SEPARATE:
        groups.kept_separate.add(start)
    else:
        groups.merge(between, sink)


def _may_not_pay_off(start: _Node, members: list[_Node], groups: _Groups) -> bool:
    """Whether merging the group of ``start`` with the rest of ``members`` may not pay off."""
    start_sink = groups.sink(start)
    if groups.kind(start) not in (Fuse.OUT_ELEMWISE_FUSABLE, Fuse.COMM_REDUCE):
        added_calls = (one.call for one in members if groups.sink(one) is not start_sink)
        if is_view(start.call) or all(map(is_view, added_calls)):
            return False
        return start.path_kind > Fuse.ELEMWISE or groups.kind(start) is Fuse.INJECTIVE
    calls = {one.call for one in members}
    added = [arg for one in members if groups.sink(one) is not start_sink for arg in one.call.args]
    return any(_has_shape_of(arg, start.call) for arg in added if arg not in calls)


def _has_shape_of(value: Expr, result: Call) -> bool:
    """Whether ``value`` is not a constant and has the shape of ``result``."""
    type_, like = type_of(value), type_of(result)
    if isinstance(value, Constant) or not (isinstance(type_, TensorType) and isinstance(like, TensorType)):
        return False
    return same_shape(type_.shape, like.shape)


def _decide_fusion(start: _Node, members: list[_Node], groups: _Groups) -> str:
    """The decision whether to merge the group of ``start`` with the rest of ``members``."""
    start_sink = groups.sink(start)

    def calls_in_parts() -> list[list[Call]]:
        group = [one.call for one in members if groups.sink(one) is start_sink]
        return [group, [one.call for one in members if groups.sink(one) is not start_sink]]

    return decide(groups.decisions, "fuse", calls_in_parts, (FUSED, SEPARATE), FUSED)


def _rebuild(body: Expr, groups: _Groups) -> Expr:
    """Wrap each group in ``body`` in a function of its own."""
    members = groups.members()
    fused = {node.call for group in members.values() for node in group}
    done: dict[Expr, Expr] = {}
    for expr in postorder(body):
        assert isinstance(expr, Expr)
        if expr in members:
            function, arguments = _function([node.call for node in members[expr]])
            done[expr] = Call(function, tuple(done[a] for a in arguments), span=expr.span)  # type: ignore[union-attr]
        elif expr not in fused:
            done[expr] = expr.map_children(done.__getitem__)
    return done[body]


def _function(calls: list[Call]) -> tuple[Function, list[Expr]]:
    """The function of the group ``calls``, and the expressions outside the group that are its arguments."""
    params: dict[Expr, Var] = {}
    made: dict[Expr, Expr] = {}

    def argument(value: Expr) -> Expr:
        if value in made:
            return made[value]
        if isinstance(value, Constant) and value.size <= SMALL_CONSTANT:
            return value
        if isinstance(value, Tuple):
            return value.map_children(argument)
        if value not in params:
            params[value] = Var(f"p{len(params)}", type_of(value), getattr(value, "span", None))
        return params[value]

    for call in calls:
        made[call] = call.map_children(argument)
    sink = calls[-1]
    function = Function(tuple(params.values()), made[sink], canonical({"Primitive": 1}), sink.span)
    return function, list(params)
