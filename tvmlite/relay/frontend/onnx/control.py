"""ONNX's If, Loop and Scan: decided or unrolled at import where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.frontend.onnx.node import OnnxNode
from tvmlite.relay.frontend.onnx.recurrent import _pick
from tvmlite.relay.frontend.onnx.registry import converter
from tvmlite.relay.infer import type_of
from tvmlite.relay.ir import Expr, If, Tuple
from tvmlite.relay.types import same_type
from tvmlite.te import expr as e

MOST_TURNS = 256
"""Turns up to which a loop is unrolled."""


def body(node: OnnxNode, graph: onnx.GraphProto, inputs: Sequence[Expr]) -> list[Expr]:
    """The outputs of a subgraph, which also sees the names around it."""
    importer = node.importer
    scope = importer.new_scope(node.scope)
    importer.initializers(graph, scope)
    if len(graph.input) != len(inputs):
        node.bad(f"its subgraph takes {len(graph.input)} inputs, {len(inputs)} are given")
    for one, value in zip(graph.input, inputs, strict=True):
        scope.values[one.name] = value
    importer.nodes(graph.node, scope, node.opsets)
    return [importer.value(scope, output.name, "subgraph output") for output in graph.output]


@converter("If")
def if_(node: OnnxNode, condition: Expr) -> list[Expr]:
    """A condition known at import picks its branch; else both become a relay If."""
    known = node.known(condition)
    if known is not None and known.size == 1 and not hasattr(known.reshape(-1)[0], "lanes"):
        branch = "then_branch" if bool(known.reshape(-1)[0]) else "else_branch"
        return body(node, node.required(branch), [])
    then = body(node, node.required("then_branch"), [])
    otherwise = body(node, node.required("else_branch"), [])
    if len(then) != len(otherwise) or not all(
        same_type(type_of(a), type_of(b)) for a, b in zip(then, otherwise, strict=True)
    ):
        return _assumed(node, known, then)
    scalar = node.reshape(condition, ())
    if len(then) == 1:
        return [If(scalar, then[0], otherwise[0], node.span)]
    made = If(scalar, Tuple(tuple(then), node.span), Tuple(tuple(otherwise), node.span), node.span)
    return [node.field(made, i) for i in range(len(then))]


def _assumed(node: OnnxNode, condition: Any, then: list[Expr]) -> list[Expr]:
    """The first branch, where sizes choose between branches of different types; the run stops if they choose
    the second. PyTorch exports ``squeeze`` so: an axis of extent 1 goes, any other stays.
    """
    if condition is None or condition.size != 1:
        node.unsupported("branches of different types, chosen by the data")
    chosen = condition.reshape(-1)[0]
    holds = chosen if chosen.dtype == "bool" else e.NotEqual(*e.match(chosen, 0))
    message = "the sizes choose the second branch, which is of another type than the first and left out"
    return [node.make("assume", one, conditions=(holds,), message=message) for one in then]


@converter("Loop")
def loop(
    node: OnnxNode, trips: Expr | None = None, condition: Expr | None = None, *carried: Expr
) -> list[Expr]:
    """Unrolled: the number of turns and the condition must follow from constants."""
    graph = node.required("body")
    turns = None if trips is None else int(node.number(trips, "M"))
    going = True if condition is None else bool(node.number(condition, "cond"))
    states = list(carried)
    scanned: list[list[Expr]] = []
    turn = 0
    while going and (turns is None or turn < turns):
        if turn >= MOST_TURNS:
            node.unsupported(f"more than {MOST_TURNS} turns")
        index, flag = node.const(turn, "int64"), node.const(True, "bool")
        outputs = body(node, graph, [index, flag, *states])
        going = bool(node.number(outputs[0], "the body's condition"))
        states = outputs[1 : 1 + len(states)]
        scanned.append(outputs[1 + len(states) :])
        turn += 1
    rows = len(graph.output) - 1 - len(states)
    if rows and not scanned:
        node.unsupported("a loop of no turns with scan outputs")
    return [*states, *(_stacked(node, [turn[k] for turn in scanned], 0) for k in range(rows))]


def _stacked(node: OnnxNode, values: list[Expr], axis: int) -> Expr:
    shape = list(node.shape(values[0]))
    try:
        rows = [node.reshape(v, [*shape[:axis], 1, *shape[axis:]]) for v in values]
    except TypeInferError:
        node.unsupported("scan outputs of different shapes")
    return node.many("concatenate", rows, axis=axis) if len(rows) > 1 else rows[0]


def _per_value(node: OnnxNode, name: str, count: int) -> list[int]:
    """An attribute with one number a sequence; zeros where it is left out."""
    given = node.attr(name) or [0] * count
    if len(given) != count:
        node.bad(f"{name} is {given}, expected {count} numbers")
    return given


@converter("Scan", since=9)
def scan(node: OnnxNode, *inputs: Expr) -> list[Expr]:
    """Unrolled over a scan axis of known length."""
    graph, count = node.required("body"), node.required("num_scan_inputs")
    if not 0 < count <= len(inputs):
        node.bad(f"num_scan_inputs is {count} of {len(inputs)} inputs")
    states, sequences = list(inputs[: len(inputs) - count]), list(inputs[len(inputs) - count :])
    axes = _per_value(node, "scan_input_axes", count)
    axes = [node.axis(a, node.rank(s)) for a, s in zip(axes, sequences, strict=True)]
    backward = _per_value(node, "scan_input_directions", count)
    length = node.shape(sequences[0])[axes[0]]
    if not isinstance(length, int) or not 0 < length <= MOST_TURNS:
        node.unsupported(f"a sequence of {length} steps; 1 to {MOST_TURNS} are unrolled")
    scanned: list[list[Expr]] = []
    for turn in range(length):
        steps = [
            _pick(node, s, axis, length - 1 - turn if reverse else turn)
            for s, axis, reverse in zip(sequences, axes, backward, strict=True)
        ]
        outputs = body(node, graph, [*states, *steps])
        scanned.append(outputs[len(states) :])
        states = outputs[: len(states)]
    rows = len(graph.output) - len(states)
    out_axes = _per_value(node, "scan_output_axes", rows)
    reverses = _per_value(node, "scan_output_directions", rows)
    made = list(states)
    for k in range(rows):
        values = [turn[k] for turn in scanned]
        axis = node.axis(out_axes[k], node.rank(values[0]) + 1)
        made.append(_stacked(node, values[::-1] if reverses[k] else values, axis))
    return made
