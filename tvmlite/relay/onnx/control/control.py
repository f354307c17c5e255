"""Converts ONNX's Loop and Scan: unrolled at import if possible, else to a Relay Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx

from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import UNLIMITED_TRIP_COUNT, Constant, Expr, Loop, Var
from tvmlite.relay.ir.types import Dim, TensorType, Type, dims_of
from tvmlite.relay.onnx.control.loop_end import must_end
from tvmlite.relay.onnx.control.loop_lists import stack_appended_states
from tvmlite.relay.onnx.control.loop_rows import with_extents_of_first_iteration
from tvmlite.relay.onnx.control.loop_states import without_invariant_states
from tvmlite.relay.onnx.graph import dims, interface
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims, check_condition
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.node_order import names_read
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.te import expr as e

UNBOUNDED = 2**62
"""The trip count of a loop without a limit."""

MAX_UNROLLED = 256
"""The most iterations of a loop that is unrolled."""


def convert_subgraph(
    node: OnnxNode, graph: onnx.GraphProto, inputs: Sequence[Expr], min_outputs: int = 0
) -> list[Expr]:
    """Convert a subgraph, which also sees the names around it; return ``min_outputs`` outputs or more."""
    importer = node.importer
    scope = importer.new_scope(node.scope)
    importer.initializers(graph, scope)
    if len(graph.input) != len(inputs):
        node.bad(f"its subgraph takes {len(graph.input)} inputs, {len(inputs)} are given")
    for one, value in zip(graph.input, inputs, strict=True):
        scope.values[one.name] = value
    importer.nodes(graph.node, scope, node.opsets, interface.ranks(graph.output))
    if len(graph.output) < min_outputs:
        node.bad(f"its subgraph gives {len(graph.output)} outputs, expected {min_outputs} or more")
    return [importer.value(scope, output.name, "subgraph output") for output in graph.output]


@converter("Loop")
def loop(
    node: OnnxNode, trips: Expr | None = None, condition: Expr | None = None, *carried: Expr
) -> list[Expr]:
    """Loop: unrolled if the trip count and the condition follow from constants; otherwise a Relay Loop."""
    graph = node.required("body")
    first = node.known_truth(condition)
    if first is False:
        trips = node.const(0, "int64")
    iterations = None if trips is None else node.known(trips)
    is_short = (
        iterations is not None
        and not hasattr(iterations.reshape(-1)[0], "lanes")
        and iterations.reshape(-1)[0] <= MAX_UNROLLED
    )
    if is_short and iterations is not None and (condition is None or first is not None):
        made = _unrolled(node, graph, int(iterations.reshape(-1)[0]), list(carried))
        if made is not None:
            return made
    initial = None if condition is None or first is not None else node.reshape(condition, ())

    def make(inside: OnnxNode, body: onnx.GraphProto, states: list[Expr]) -> list[Expr]:
        return _runtime_loop(inside, body, trips, initial, states)

    def make_lists(inside: OnnxNode, body: onnx.GraphProto, states: list[Expr]) -> list[Expr]:
        return stack_appended_states(inside, body, states, make)

    return without_invariant_states(node, graph, carried, make_lists)


def _unrolled(
    node: OnnxNode, graph: onnx.GraphProto, iterations: int, states: list[Expr]
) -> list[Expr] | None:
    """Unroll the loop's body; None if the condition is known only at run time, or if there are scan outputs
    and no iteration that shows their type."""
    scanned: list[list[Expr]] = []
    for iteration in range(iterations):
        index, flag = node.const(iteration, "int64"), node.const(True, "bool")
        outputs = convert_subgraph(node, graph, [index, flag, *states], 1 + len(states))
        continues = node.known_truth(outputs[0])
        if continues is None:
            return None
        states = outputs[1 : 1 + len(states)]
        scanned.append(outputs[1 + len(states) :])
        if not continues:
            break
    rows = len(graph.output) - 1 - len(states)
    if rows and not scanned:
        return None
    return [*states, *(_stacked(node, [iteration[k] for iteration in scanned], 0) for k in range(rows))]


def _runtime_loop(
    node: OnnxNode, graph: onnx.GraphProto, trips: Expr | None, condition: Expr | None, carried: list[Expr]
) -> list[Expr]:
    """Convert to a Relay Loop; with a condition and scan outputs, a first loop counts the iterations."""
    rows = len(graph.output) - 1 - len(carried)
    initial_zeros = _write_only_states(node, graph, carried)
    if initial_zeros:
        carried = [initial_zeros.get(k, one) for k, one in enumerate(carried)]

    def make_body(keep_rows: bool) -> tuple[Var, list[Var], Expr, bool]:
        index = Var("iteration", TensorType((), "int64"), node.span)
        states = [Var(f"state{k}", node.type(one), node.span) for k, one in enumerate(carried)]
        always_continues = False

        def make() -> list[Expr]:
            nonlocal always_continues
            flag = node.const(True, "bool")
            continues, *outputs = convert_subgraph(node, graph, [index, flag, *states], 1 + len(states))
            always_continues = isinstance(continues, Constant) and bool(continues.data.reshape(-1)[0])
            after = [_in_state_shape(node, out, var) for out, var in zip(outputs, states, strict=False)]
            return [node.reshape(continues, ()), *after, *(outputs[len(states) :] if keep_rows else [])]

        made = node.importer.block(make, as_tuple=True)
        return index, states, made, always_continues

    def first_rows() -> list[Expr]:
        started = [node.const(0, "int64"), node.const(True, "bool"), *carried]
        return convert_subgraph(node, graph, started, 1 + len(carried))[1 + len(carried) :]

    max_trips: Dim = UNBOUNDED
    count = None if trips is None else node.known(trips)
    endless = trips is None or (count is not None and is_unlimited(count.reshape(-1)[0]))
    if trips is not None and not endless:
        max_trips = _trip_count(node, trips)
    index, states, made, always_continues = make_body(True)
    if always_continues and condition is None:
        if initial_zeros:
            check_condition(node, e.LessEqual(*e.match(1, max_trips)), _NO_ITERATIONS)
        if endless:
            node.unsupported("an endless loop: it has no trip count, and its condition always holds")
        made_loop = Loop(index, tuple(states), max_trips, None, tuple(carried), made, node.span)
        return _results(node, made_loop, rows, first_rows)
    if endless and must_end(index, states, made):
        max_trips = UNLIMITED_TRIP_COUNT - 1
    condition = node.const(True, "bool") if condition is None else condition
    if rows:
        index, states, made, _ = make_body(False)
    made_loop = Loop(index, tuple(states), max_trips, condition, tuple(carried), made, node.span)
    if initial_zeros:
        (count,) = bind_dims(node, node.reshape(node.field(made_loop, len(carried)), (1,)), ["iterations"])
        check_condition(node, e.LessEqual(*e.match(1, count)), _NO_ITERATIONS)
    if not rows:
        return _results(node, made_loop, 0, first_rows)
    count = node.reshape(node.field(made_loop, len(carried)), (1,))
    index, states, made, _ = make_body(True)
    (max_trips,) = bind_dims(node, count, ["iterations"])
    made_loop = Loop(index, tuple(states), max_trips, None, tuple(carried), made, node.span)
    return _results(node, made_loop, rows, first_rows)


def _trip_count(node: OnnxNode, trips: Expr) -> Dim:
    """The one element of ``trips``, 0 if it is negative."""
    found = node.known(trips)
    known = dims.whole(found.ravel().tolist()[0]) if found is not None and found.size == 1 else None
    if known is not None:
        return dims.maximum(known, 0)
    count = node.make("maximum", node.cast(node.reshape(trips, (1,)), "int64"), 0)
    return bind_dims(node, count, ["trips"])[0]


def _write_only_states(node: OnnxNode, graph: onnx.GraphProto, carried: Sequence[Expr]) -> dict[int, Expr]:
    """States that the body writes and never reads, and whose initial value has another type than it writes.

    Returns zeros of the written type by state number, as initial values instead. Exporters give such states
    any initial value; the loop must then make at least one iteration.
    """
    if len(graph.input) != 2 + len(carried):
        return {}  # reported when the body is converted
    read = {name for one in graph.node for name in names_read(one)}
    read.update(one.name for one in graph.output)
    unread = [k for k in range(len(carried)) if graph.input[2 + k].name not in read]
    if not unread:
        return {}
    types: list[Type] = []

    def make() -> list[Expr]:
        index = Var("iteration", TensorType((), "int64"), node.span)
        states = [Var(f"state{k}", node.type(one), node.span) for k, one in enumerate(carried)]
        outputs = convert_subgraph(node, graph, [index, node.const(True, "bool"), *states], 1 + len(states))
        types.extend(type_of(one) for one in outputs[1 : 1 + len(states)])
        return []

    known = set(node.importer.bound)
    node.importer.block(make)
    initial: dict[int, Expr] = {}
    for k in unread:
        have, written = node.type(carried[k]), types[k]
        inside = set(dims_of(written)) & (node.importer.bound - known)
        if isinstance(written, TensorType) and not inside and not _same_dtype_and_rank(have, written):
            zero = node.const(0, written.dtype)
            initial[k] = node.make("full", zero, shape=written.shape, dtype=written.dtype)
    return initial


def _same_dtype_and_rank(have: TensorType, becomes: TensorType) -> bool:
    return have.dtype == becomes.dtype and have.ndim == becomes.ndim


_NO_ITERATIONS = "it makes no iteration, so the shape of an output that its body alone computes is not known"


def is_unlimited(iterations: object) -> bool:
    """Whether a trip count that is known at import is so large that it means no limit."""
    return isinstance(iterations, (int, np.integer)) and int(iterations) >= UNLIMITED_TRIP_COUNT


def _in_state_shape(node: OnnxNode, after: Expr, var: Var) -> Expr:
    """A state's next value in the state's shape; a state of one element may gain or lose axes of 1."""
    have, wanted = node.type(after), node.type(var)
    if have.dtype == wanted.dtype and all(
        isinstance(n, int) and n == 1 for n in (*have.shape, *wanted.shape)
    ):
        return node.reshape(after, wanted.shape)
    if have.dtype != wanted.dtype or dims.differ(have.shape, wanted.shape):
        node.unsupported(f"a state that begins as {wanted} and becomes {have}: its type must stay the same")
    return assume_shape(node, after, wanted.shape)


def _results(node: OnnxNode, made: Loop, rows: int, first: Callable[[], Sequence[Expr]]) -> list[Expr]:
    """The final states and the stacked rows; ``first`` computes the rows of the first iteration."""
    made = with_extents_of_first_iteration(node, made, first)
    return [node.field(made, k) for k in range(len(made.states) + rows)]


def _stacked(node: OnnxNode, values: list[Expr], axis: int) -> Expr:
    shape = node.shape(values[0])
    if any(dims.differ(node.shape(value), shape) for value in values):
        node.unsupported("scan outputs of different shapes")
    fitted = [assume_shape(node, value, shape) for value in values]
    rows = [node.reshape(value, [*shape[:axis], 1, *shape[axis:]]) for value in fitted]
    return node.joined(rows, axis)


def _per_sequence(node: OnnxNode, name: str, count: int) -> list[int]:
    """An attribute with one number for each sequence; zeros if it is missing."""
    given = node.attr(name) or [0] * count
    if len(given) != count:
        node.bad(f"{name} is {given}, expected {count} numbers")
    return given


@converter("Scan", since=9)
def scan(node: OnnxNode, *inputs: Expr) -> list[Expr]:
    """Scan: unrolled over a scan axis of known length; otherwise a Relay Loop."""
    graph, count = node.required("body"), node.required("num_scan_inputs")
    if not 0 < count <= len(inputs):
        node.bad(f"num_scan_inputs is {count} of {len(inputs)} inputs")
    states, sequences = list(inputs[: len(inputs) - count]), list(inputs[len(inputs) - count :])
    axes = _per_sequence(node, "scan_input_axes", count)
    axes = [node.axis(a, node.rank(s)) for a, s in zip(axes, sequences, strict=True)]
    backward = _per_sequence(node, "scan_input_directions", count)
    length = node.shape(sequences[0])[axes[0]]
    rows = len(graph.output) - len(states)
    if rows < 0:
        node.bad(f"its subgraph gives {len(graph.output)} outputs, expected {len(states)} or more")
    out_axes = _per_sequence(node, "scan_output_axes", rows)
    reverses = _per_sequence(node, "scan_output_directions", rows)
    if not isinstance(length, int) or not 0 < length <= MAX_UNROLLED:
        pairs = list(zip(sequences, axes, backward, strict=True))
        return _place_row_axes(node, _scan_loop(node, graph, states, pairs, length), out_axes, reverses)
    scanned: list[list[Expr]] = []
    for iteration in range(length):
        steps = [
            node.pick(s, axis, length - 1 - iteration if reverse else iteration)
            for s, axis, reverse in zip(sequences, axes, backward, strict=True)
        ]
        outputs = convert_subgraph(node, graph, [*states, *steps])
        scanned.append(outputs[len(states) :])
        states = outputs[: len(states)]
    made = list(states)
    for k in range(rows):
        values = [iteration[k] for iteration in scanned]
        axis = node.axis(out_axes[k], node.rank(values[0]) + 1)
        made.append(_stacked(node, values[::-1] if reverses[k] else values, axis))
    return made


def _scan_loop(
    node: OnnxNode,
    graph: onnx.GraphProto,
    carried: list[Expr],
    sequences: list[tuple[Expr, int, int]],
    length: Dim,
) -> list[Expr]:
    """A loop over sequences, each with its axis and whether it is read backwards."""
    index = Var("iteration", TensorType((), "int64"), node.span)
    states = [Var(f"state{k}", node.type(one), node.span) for k, one in enumerate(carried)]
    last = node.reshape(node.make("shape_value", values=(length - 1,), dtype="int64"), ())

    def iterate(index: Expr, states: Sequence[Expr]) -> list[Expr]:
        steps = [
            node.make("take", data, node.make("subtract", last, index) if reverse else index, axis=axis)
            for data, axis, reverse in sequences
        ]
        return convert_subgraph(node, graph, [*states, *steps])

    def make() -> list[Expr]:
        outputs = iterate(index, states)
        after = [_in_state_shape(node, out, var) for out, var in zip(outputs, states, strict=False)]
        return [node.const(True, "bool"), *after, *outputs[len(states) :]]

    block = node.importer.block(make, as_tuple=True)
    made = Loop(index, tuple(states), length, None, tuple(carried), block, node.span)
    rows = len(graph.output) - len(carried)
    return _results(node, made, rows, lambda: iterate(node.const(0, "int64"), carried)[len(carried) :])


def _place_row_axes(node: OnnxNode, made: list[Expr], axes: list[int], reverses: list[int]) -> list[Expr]:
    """Move the row axis of the last values in ``made`` from the first to ``axes``, and reverse it."""
    states = made[: len(made) - len(axes)]
    for value, given, reverse in zip(made[len(states) :], axes, reverses, strict=True):
        rank = node.rank(value)
        axis = node.axis(given, rank)
        flipped = node.make("reverse", value, axis=0) if reverse else value
        order = list(range(1, rank))
        states.append(node.transpose(flipped, [*order[:axis], 0, *order[axis:]]))
    return states
