"""States that a loop only appends to, converted to rows, which are stacked and joined after the loop.

PyTorch exports a list that a loop fills in this way. A list whose length is known only at run time is a
placeholder Tuple; the importer's ``lists`` has its stacked elements, for the converters of sequences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import onnx

from tvmlite.relay.ir.nodes import Expr, Tuple
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx.control.loop_states import ConvertLoop, remove_states
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.node_order import names_read


@dataclass(frozen=True)
class Appended:
    """A state's number, the name of the value appended to it, and the axis (None: it is a sequence)."""

    state: int
    value: str
    axis: int | None


def _append_only_states(graph: onnx.GraphProto, count: int) -> list[Appended]:
    """Those of the ``count`` states of a loop's body that are read only by the node that appends to them."""
    if len(graph.input) != 2 + count or len(graph.output) < 1 + count:
        return []  # reported when the body is converted
    reads = Counter(name for one in graph.node for name in names_read(one))
    reads.update(one.name for one in graph.output)
    makers = {name: one for one in graph.node for name in one.output}
    found = []
    for state in range(count):
        before, after = graph.input[2 + state].name, graph.output[1 + state].name
        maker = makers.get(after)
        if maker is None or maker.domain not in ("", "ai.onnx") or reads[before] != 1 or reads[after] != 1:
            continue
        inputs = [name for name in maker.input if name]
        axes = [one.i for one in maker.attribute if one.name == "axis"]
        if len(inputs) == 2 and inputs[0] == before and maker.op_type == "SequenceInsert":
            found.append(Appended(state, inputs[1], None))
        elif len(inputs) == 2 and inputs[0] == before and maker.op_type == "Concat" and axes:
            found.append(Appended(state, inputs[1], axes[0]))
    return found


def stack_appended_states(
    node: OnnxNode, graph: onnx.GraphProto, states: Sequence[Expr], make: ConvertLoop
) -> list[Expr]:
    """Return the outputs of a loop converted by ``make``, with rows for states that it only appends to."""
    lists = _append_only_states(graph, len(states))
    if not lists:
        return make(node, graph, list(states))
    numbers = [one.state for one in lists]
    ends = [graph.output[1 + k].name for k in numbers]
    others = [state for k, state in enumerate(states) if k not in numbers]
    made = make(node, remove_states(graph, numbers, [one.value for one in lists], ends), others)
    rows = made[len(others) : len(others) + len(lists)]
    del made[len(others) : len(others) + len(lists)]
    for one, stacked in zip(lists, rows, strict=True):
        join = _append_to_sequence if one.axis is None else _append_to_array
        made.insert(one.state, join(node, one, states[one.state], stacked))
    return made


def concatenate_rows(node: OnnxNode, stacked: Expr, axis: int) -> Expr:
    """Join stacked arrays along one of their axes."""
    rank = node.rank(stacked)
    moved = node.transpose(stacked, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    shape = node.shape(moved)
    return node.reshape(moved, [*shape[:axis], node.product(shape[axis : axis + 2]), *shape[axis + 2 :]])


def _append_to_array(node: OnnxNode, one: Appended, begin: Expr, stacked: Expr) -> Expr:
    """The state that begins as ``begin``, with rows appended along an axis."""
    assert one.axis is not None
    have, rank = node.shape(begin), node.rank(stacked) - 1
    axis = node.axis(one.axis, rank)
    joined = concatenate_rows(node, stacked, axis)
    wanted = list(node.shape(joined))
    if len(have) == rank:
        wanted[axis] = have[axis]
    if node.dtype(begin) != node.dtype(joined) or dims.differ(have, wanted):
        node.bad(f"a state that begins as {node.type(begin)} is concatenated with {node.type(joined)}")
    if isinstance(have[axis], int) and have[axis] == 0:
        return joined
    return node.many("concatenate", [assume_shape(node, begin, tuple(wanted)), joined], axis=axis)


def _append_to_sequence(node: OnnxNode, one: Appended, begin: Expr, stacked: Expr) -> Expr:
    """The sequence that begins as ``begin``, with rows appended."""
    if not isinstance(begin, Tuple):
        node.bad(f"state {one.state} is {node.type(begin)}, expected a sequence: its body inserts into it")
    element = node.shape(stacked)[1:]
    for first in begin.fields:
        if dims.differ(node.shape(first), element) or node.dtype(first) != node.dtype(stacked):
            shapes = f"{show_shape(node.shape(first))} and {show_shape(element)}"
            node.unsupported(f"a list of arrays of shapes {shapes}, expected one shape")
    if begin.fields:
        firsts = [node.reshape(assume_shape(node, x, element), (1, *element)) for x in begin.fields]
        stacked = node.many("concatenate", [*firsts, stacked], axis=0)
    made = Tuple((stacked,), node.span)
    node.importer.lists[made] = stacked
    return made
