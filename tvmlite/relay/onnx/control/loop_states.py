"""A loop's body without some of its states: loop invariants become values from around the loop.

Exporters pass weights to a body in this way; they are constants then, in any layout.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import onnx

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph.node import OnnxNode

Make = Callable[[OnnxNode, onnx.GraphProto, list[Expr]], list[Expr]]
"""Makes the outputs of a loop of a body and its states; names that the body reads are seen from the node."""


def with_kept(node: OnnxNode, graph: onnx.GraphProto, states: Sequence[Expr], make: Make) -> list[Expr]:
    """The outputs of a loop by ``make``, whose body has no states that it gives on as they are."""
    numbers = _given_on(graph, len(states))
    if not numbers:
        return make(node, graph, list(states))
    scope = node.importer.new_scope(node.scope)
    scope.values |= {graph.input[2 + k].name: states[k] for k in numbers}
    inside = OnnxNode(node.proto, node.opsets, node.importer, scope, node.label)
    moving = [state for k, state in enumerate(states) if k not in numbers]
    made = make(inside, without(graph, numbers), moving)
    for k in numbers:
        made.insert(k, states[k])
    return made


def _given_on(graph: onnx.GraphProto, count: int) -> list[int]:
    """Which of the ``count`` states are the same after an iteration as before."""
    if len(graph.input) != 2 + count or len(graph.output) < 1 + count:
        return []  # as converting the body will say
    copies = {one.output[0]: one.input[0] for one in graph.node if one.op_type == "Identity" and one.input}

    def source(name: str) -> str:
        seen: set[str] = set()
        while name in copies and name not in seen:  # nodes may stand in a cycle, which is refused later
            seen.add(name)
            name = copies[name]
        return name

    return [k for k in range(count) if source(graph.output[1 + k].name) == graph.input[2 + k].name]


def without(
    graph: onnx.GraphProto, numbers: Collection[int], rows: Sequence[str] = (), nodes: Collection[str] = ()
) -> onnx.GraphProto:
    """The body ``graph`` without these states, and nodes that make ``nodes``; ``rows`` are its first rows."""
    made = onnx.GraphProto(name=graph.name, initializer=graph.initializer)
    made.sparse_initializer.extend(graph.sparse_initializer)
    made.node.extend(one for one in graph.node if not any(name in nodes for name in one.output))
    made.input.extend(one for k, one in enumerate(graph.input) if k - 2 not in numbers)
    kept = [one for k, one in enumerate(graph.output) if k - 1 not in numbers]
    states = len(graph.input) - 2 - len(numbers)
    made.output.extend(kept[: 1 + states])
    made.output.extend(onnx.ValueInfoProto(name=name) for name in rows)
    made.output.extend(kept[1 + states :])
    return made
