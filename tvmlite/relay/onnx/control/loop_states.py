"""Removes loop-invariant states from a loop's body: they become values from around the loop.

Exporters pass weights to a body in this way; afterwards they are constants, and can have any layout.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import onnx

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph.node import OnnxNode

ConvertLoop = Callable[[OnnxNode, onnx.GraphProto, list[Expr]], list[Expr]]
"""Convert a loop from a body and its states to its outputs; the node's scope has the names the body reads."""


def without_invariant_states(
    node: OnnxNode, graph: onnx.GraphProto, states: Sequence[Expr], make: ConvertLoop
) -> list[Expr]:
    """Return the outputs of a loop converted by ``make`` without the states that its body keeps."""
    numbers = _invariant_states(graph, len(states))
    if not numbers:
        return make(node, graph, list(states))
    scope = node.importer.new_scope(node.scope)
    scope.values |= {graph.input[2 + k].name: states[k] for k in numbers}
    inside = OnnxNode(node.proto, node.opsets, node.importer, scope, node.label)
    moving = [state for k, state in enumerate(states) if k not in numbers]
    made = make(inside, remove_states(graph, numbers), moving)
    for k in numbers:
        made.insert(k, states[k])
    return made


def _invariant_states(graph: onnx.GraphProto, count: int) -> list[int]:
    """Those of the ``count`` states that an iteration does not change."""
    if len(graph.input) != 2 + count or len(graph.output) < 1 + count:
        return []  # reported when the body is converted
    copies = {one.output[0]: one.input[0] for one in graph.node if one.op_type == "Identity" and one.input}

    def source(name: str) -> str:
        seen: set[str] = set()
        while name in copies and name not in seen:  # nodes may form a cycle, which is rejected later
            seen.add(name)
            name = copies[name]
        return name

    return [k for k in range(count) if source(graph.output[1 + k].name) == graph.input[2 + k].name]


def remove_states(
    graph: onnx.GraphProto, numbers: Collection[int], rows: Sequence[str] = (), nodes: Collection[str] = ()
) -> onnx.GraphProto:
    """Return the body ``graph`` without these states and the nodes that compute ``nodes``; ``rows`` become
    its first scan outputs."""
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
