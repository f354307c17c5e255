"""Finds the non-overlapping matches of a pattern in an expression, each with its subgraph as a function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.tvm.relay.dataflow_pattern import patterns as p
from tvmlite.tvm.relay.dataflow_pattern.matcher import Found, Matcher
from tvmlite.tvm.relay.expr import Function, Var
from tvmlite.tvm.relay.graph.visit import in_order, parts_of, rebuilt
from tvmlite.tvm.relay.op.op import Op

PARTITIONED = "PartitionedFromPattern"
"""The attribute of functions created by ``partition``, in which nothing is matched again."""


@dataclass(frozen=True)
class Group:
    """A match: the expressions matched by the pattern's parts, its inputs, and the function of these inputs
    that it computes."""

    found: Found
    inputs: tuple[Any, ...]
    function: Function
    name: str


def groups(pattern: p.DFPattern, root: Any) -> dict[Any, Group]:
    """The matches of ``pattern`` in ``root`` by their outermost nodes, searched from the root inwards.
    Matches that overlap an earlier match, or whose inner nodes are read from outside, are rejected."""
    matcher = Matcher(root)
    parts = _in_order(pattern)
    found: dict[Any, Group] = {}
    taken: set[Any] = set()
    for node in reversed(matcher.graph.order):
        if node in taken:
            continue
        if isinstance(node, nodes.Function) and PARTITIONED in dict(node.attrs):
            taken.update(in_order(node))
            continue
        match = matcher.match(pattern, node)
        if match is None:
            continue
        inputs = _inputs(parts, match)
        inside = _inside(node, set(inputs))
        if _is_closed(node, inside, taken, matcher):
            params = [Var(f"FunctionVar_{len(found)}_{index}") for index in range(len(inputs))]
            body = rebuilt(node, dict(zip(inputs, params, strict=True)))
            found[node] = Group(match, tuple(inputs), Function(params, body), "".join(map(_name, inside)))
            taken.update(inside)
    return found


def _is_closed(root: Any, inside: list[Any], taken: set[Any], matcher: Matcher) -> bool:
    """Whether no node of ``inside`` is in ``taken``, and none except ``root`` has an outside reader, unless
    ``root`` post-dominates that reader."""
    members = set(inside)
    for node in inside:
        if isinstance(node, (nodes.Function, nodes.Constant)):
            continue
        if node in taken:
            return False
        for reader in matcher.graph.readers[node] if node is not root else ():
            if reader not in members and not matcher.graph.dominates(root, reader):
                return False
    return True


def _in_order(pattern: p.DFPattern) -> list[p.DFPattern]:
    """The parts of ``pattern`` in post-order."""
    found: dict[p.DFPattern, None] = {}
    stack: list[tuple[p.DFPattern, bool]] = [(pattern, False)]
    opened: set[p.DFPattern] = set()
    while stack:
        part, ready = stack.pop()
        if ready:
            found[part] = None
        elif part not in opened:
            opened.add(part)
            stack.append((part, True))
            stack.extend((one, False) for one in reversed(part.parts()))
    return list(found)


def _inputs(parts: list[p.DFPattern], found: Found) -> list[Any]:
    """The inputs of a match: the matches of the pattern's leaves, and all arguments or fields that it leaves
    open; but not constants that it requires, and nodes on a dominator's path or in a function."""
    between: set[Any] = set()
    for part in parts:
        if isinstance(part, p.DominatorPattern):
            between.update(one for fuzzy in (part.parent, part.path) for one in found.get(fuzzy, ()))
        if isinstance(part, p.FunctionPattern):
            between.update(node for one in found.get(part, ()) for node in in_order(one.body))
    made: dict[Any, None] = {}
    for part in parts:
        for one in _open(part, found):
            if not isinstance(one, (Op, nodes.Function)) and one not in between and not _is_part(one, part):
                made[one] = None
    return list(made)


def _open(part: p.DFPattern, found: Found) -> Iterator[Any]:
    for one in found.get(part, ()):
        if isinstance(part, p.TuplePattern) and part.fields is None:
            yield from one.fields
        elif isinstance(part, p.CallPattern) and part.args is None:
            yield from one.args
        elif not part.parts():
            yield one


def _is_part(one: Any, part: p.DFPattern) -> bool:
    """Whether ``one`` is a constant that the pattern requires."""
    asks = isinstance(part, p.ConstantPattern) or (
        isinstance(part, p.ExprPattern) and isinstance(part.expr, nodes.Constant)
    )
    return asks and isinstance(one, nodes.Constant)


def _inside(root: Any, inputs: set[Any]) -> list[Any]:
    """The nodes of ``root`` down to ``inputs``, without these, in post-order."""
    found: dict[Any, None] = {}
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            found[node] = None
        elif node not in inputs and node not in found and not isinstance(node, Op):
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(parts_of(node)))
    return list(found)


def _name(node: Any) -> str:
    match node:
        case nodes.Call(op=str() as op):
            return f"{op}_"
        case nodes.Call():
            return "Call_"
        case nodes.Function():
            return "Function"
        case nodes.Tuple():
            return "Tuple_"
        case nodes.TupleGetItem(index=index):
            return f"TupleGetItem{index}_"
        case nodes.If():
            return "If_"
        case nodes.Let():
            return "Let_"
    return ""
