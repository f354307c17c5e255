"""ONNX's LSTM, GRU and RNN: short sequences are unrolled in the graph, others are one operator with loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.relay.ops.recurrent.steps import lanes_of

MAX_UNROLLED = 8
"""The most steps of a sequence that is unrolled."""

Activation = Callable[[Expr], Expr]
Function = tuple[str, float, float]
"""A gate function: its name, alpha and beta."""


@dataclass(frozen=True)
class _Direction:
    """One pass over the sequence: its number, its weights, its activations."""

    number: int
    reverse: bool
    weight: Expr
    recurrence: Expr
    bias: tuple[Expr, Expr] | None
    functions: tuple[Function, ...]
    activations: tuple[Activation, ...]


@dataclass(frozen=True)
class _Layer:
    """The parameters that the three operators share: the sequence as (steps, batch, input), sizes, states."""

    node: OnnxNode
    data: Expr
    steps: Dim
    batch: Dim
    hidden: int
    lengths: Expr | None
    directions: tuple[_Direction, ...]

    @property
    def is_short(self) -> bool:
        return isinstance(self.steps, int) and 0 < self.steps <= MAX_UNROLLED

    def state(self, given: Expr | None, number: int) -> Expr:
        """Return the initial state of one direction, ``(batch, hidden)``."""
        node = self.node
        if given is None:
            return node.full(0, (self.batch, self.hidden), node.dtype(self.data))
        picked = node.pick(given, 1 if node.attr("layout", 0) else 0, number)
        return assume_shape(node, picked, (self.batch, self.hidden))


def _parts(node: OnnxNode, data: Expr, count: int, hidden: int, axis: int) -> list[Expr]:
    return node.split(data, axis, [hidden] * count)


def _layer(node: OnnxNode, gates: int, defaults: Sequence[str], inputs: Sequence[Expr | None]) -> _Layer:
    if "output_sequence" in node.defaults and node.has_output(0) and not node.flag("output_sequence"):
        node.bad("its first output is named, output_sequence is 0")
    data, weight, recurrence, bias, lengths = inputs
    assert data is not None
    assert weight is not None
    assert recurrence is not None
    for name, value in (("X", data), ("W", weight), ("R", recurrence)):
        if node.rank(value) != 3:
            node.bad(f"{name} is of rank {node.rank(value)}, expected 3")
    if node.attr("layout", 0):
        data = node.transpose(data, (1, 0, 2))
    steps, batch, _ = node.shape(data)
    lengths = None if lengths is None else assume_shape(node, lengths, (batch,))
    hidden = node.shape(recurrence)[-1]
    if not isinstance(hidden, int):
        node.unsupported(f"a dynamic hidden size {hidden}")
    kind = node.choice("direction", "forward", "reverse", "bidirectional")
    reverses = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[kind]
    names = node.attr("activations") if node.has("activations") else list(defaults) * len(reverses)
    if len(names) != len(defaults) * len(reverses):
        node.bad(f"activations are {names}, expected {len(defaults) * len(reverses)}")
    functions = _functions(node, names)
    directions = []
    for i, reverse in enumerate(reverses):
        own = tuple(functions[i * len(defaults) : (i + 1) * len(defaults)])
        made = tuple(_activation(node, one) for one in own)
        pair = None
        if bias is not None:
            both = node.pick(bias, 0, i)
            pair = tuple(_parts(node, both, 2, gates * hidden, 0))
        directions.append(
            _Direction(i, reverse, node.pick(weight, 0, i), node.pick(recurrence, 0, i), pair, own, made)  # type: ignore[arg-type]
        )
    return _Layer(node, data, steps, batch, hidden, lengths, tuple(directions))


_DEFAULTS: dict[str, tuple[float | None, float | None]] = {
    "sigmoid": (None, None),
    "tanh": (None, None),
    "relu": (None, None),
    "softsign": (None, None),
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, None),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
}
"""The default alpha and beta of each gate function; None: it has none."""


def _functions(node: OnnxNode, names: Sequence[str]) -> list[Function]:
    """Functions by name; alphas and betas are assigned in order to those that have them."""
    alphas, betas = list(node.attr("activation_alpha") or []), list(node.attr("activation_beta") or [])

    def take(values: list[float], default: float | None) -> float:
        if default is None:
            return 0.0
        return values.pop(0) if values else default

    made: list[Function] = []
    for name in map(str.lower, names):
        if name not in _DEFAULTS:
            node.unsupported(f"activation {name!r}")
        alpha, beta = _DEFAULTS[name]
        made.append((name, take(alphas, alpha), take(betas, beta)))
    return made


def _activation(node: OnnxNode, function: Function) -> Activation:
    """The gate function, with its argument clipped first."""
    limit = node.attr("clip")
    unclipped = _unclipped(node, function)
    return (
        unclipped if limit is None else lambda x: unclipped(node.make("clip", x, a_min=-limit, a_max=limit))
    )


def _unclipped(node: OnnxNode, function: Function) -> Activation:
    name, a, b = function
    if name in ("sigmoid", "tanh"):
        return lambda x: node.make(name, x)
    if name == "relu":
        return lambda x: node.make("nn.relu", x)
    if name == "softsign":
        return lambda x: node.divide(x, node.add(node.make("abs", x), 1))
    if name == "affine":
        return lambda x: node.add(node.multiply(x, a), b)
    if name == "leakyrelu":
        return lambda x: node.make("nn.leaky_relu", x, alpha=a)
    if name == "scaledtanh":
        return lambda x: node.multiply(node.make("tanh", node.multiply(x, b)), a)
    return lambda x: node.make("clip", node.add(node.multiply(x, a), b), a_min=0.0, a_max=1.0)


Step = Callable[[_Layer, _Direction, Expr, tuple[Expr, ...]], tuple[Expr, ...]]
"""One step of a direction: from an input and the states to the next states."""


def _run(
    layer: _Layer, direction: _Direction, step: Step, states: tuple[Expr, ...]
) -> tuple[list[Expr], tuple[Expr, ...]]:
    """The hidden states in order of time, and the final states, which a sample keeps after its length."""
    node = layer.node
    assert isinstance(layer.steps, int)
    order = range(layer.steps - 1, -1, -1) if direction.reverse else range(layer.steps)
    outputs: dict[int, Expr] = {}
    for time in order:
        new = step(layer, direction, node.pick(layer.data, 0, time), states)
        if layer.lengths is None:
            states = new
            outputs[time] = states[0]
            continue
        limit = node.reshape(layer.lengths, (layer.batch, 1))
        active = node.greater(limit, node.const(time, node.dtype(limit)))
        states = tuple(node.make("where", active, n, old) for n, old in zip(new, states, strict=True))
        outputs[time] = node.make("where", active, new[0], node.const(0, node.dtype(new[0])))
    return [outputs[time] for time in range(layer.steps)], states


def _unrolled(layer: _Layer, step: Step, initial: Sequence[Expr | None]) -> list[Expr]:
    """The layer, with ``step`` for each element of the sequence."""
    states = [tuple(layer.state(one, d.number) for one in initial) for d in layer.directions]
    return _results(layer, [_run(layer, d, step, s) for d, s in zip(layer.directions, states, strict=True)])


def _results(layer: _Layer, runs: Sequence[tuple[list[Expr], tuple[Expr, ...]]]) -> list[Expr]:
    """Y ``(steps, directions, batch, hidden)``, then each final state; ``layout`` puts the batch first."""
    node, hidden, batch = layer.node, layer.hidden, layer.batch
    assert isinstance(layer.steps, int)
    every = []
    for time in range(layer.steps):
        every += [node.reshape(outputs[time], (1, 1, batch, hidden)) for outputs, _ in runs]
    count = len(runs)
    whole = node.joined(every, 0)
    made = [node.reshape(whole, (layer.steps, count, batch, hidden))]
    for k in range(len(runs[0][1])):
        parts = [node.reshape(states[k], (1, batch, hidden)) for _, states in runs]
        made.append(node.many("concatenate", parts, axis=0) if count > 1 else parts[0])
    return _in_layout(node, made)


def _in_layout(node: OnnxNode, made: list[Expr]) -> list[Expr]:
    if node.attr("layout", 0):
        made = [node.transpose(made[0], (2, 0, 1, 3)), *(node.transpose(m, (1, 0, 2)) for m in made[1:])]
    return made


@dataclass(frozen=True)
class Quantized:
    """The products of a layer with integer weights: ``products`` by a direction's number and all inputs, in
    float32; and its ``recurrence`` as the operator takes it, with the parameters after it."""

    products: Callable[[int, Expr], Expr]
    recurrence: Callable[[int], tuple[Expr, list[Expr]]]


def _scan(
    layer: _Layer,
    operator: str,
    states: Sequence[Expr | None],
    extra: Sequence[Expr | None],
    quantized: Quantized | None = None,
    **attrs: object,
) -> list[Expr]:
    """The layer by ``operator``, which takes the products of all inputs, computed at once before it.

    ``extra`` has, for each direction, the parameters between the recurrence and the states.
    """
    node, steps, batch, hidden = layer.node, layer.steps, layer.batch, layer.hidden
    flat = node.reshape(layer.data, (dims.simplify(steps * batch), node.shape(layer.data)[2]))
    lengths = layer.lengths
    if lengths is None:
        whole = node.make("shape_value", values=(steps,), dtype="int64")
        lengths = node.broadcast_to(node.reshape(whole, (1,)), (batch,))
    every: list[list[Expr]] = []
    for direction in layer.directions:
        product, recurrence, parameters = _operands(layer, direction, flat, quantized)
        between = [*([] if (given := extra[direction.number]) is None else [given]), *parameters]
        if direction.bias is not None:
            product = node.add(product, direction.bias[0])
        if direction.bias is not None and operator != "nn.gru_scan":
            product = node.add(product, direction.bias[1])
        call = node.make(
            operator,
            node.reshape(product, (steps, batch, node.shape(direction.recurrence)[0])),
            recurrence,
            *between,
            *(layer.state(state, direction.number) for state in states),
            lengths,
            reverse=direction.reverse,
            activations=direction.functions,
            clip=node.attr("clip"),
            **attrs,
        )
        every.append([node.field(call, k) for k in range(1 + len(states))])
    made: list[Expr] = []
    for k in range(1 + len(states)):
        shape = (steps, 1, batch, hidden) if k == 0 else (1, batch, hidden)
        parts = [node.reshape(fields[k], shape) for fields in every]
        made.append(node.joined(parts, int(k == 0)))
    return _in_layout(node, made)


def _operands(
    layer: _Layer, direction: _Direction, inputs: Expr, quantized: Quantized | None
) -> tuple[Expr, Expr, list[Expr]]:
    """The products of all inputs, the recurrence, and the parameters after it."""
    if quantized is not None:
        return quantized.products(direction.number, inputs), *quantized.recurrence(direction.number)
    node = layer.node
    product = node.make("nn.dense", inputs, direction.weight)
    return product, _packed_recurrence(node, direction.recurrence, layer.hidden), []


def _packed_recurrence(node: OnnxNode, recurrence: Expr, hidden: int) -> Expr:
    """``(gates * hidden, hidden)`` in the operators' layout: (blocks, hidden, gates, lanes)."""
    wide = node.shape(recurrence)[0]
    assert isinstance(wide, int)
    gates = wide // hidden
    lanes = lanes_of(gates, hidden)
    made, blocks = node.reshape(recurrence, (gates, hidden, hidden)), -(-hidden // lanes)
    if blocks * lanes != hidden:
        width = ((0, 0), (0, blocks * lanes - hidden), (0, 0))
        made = node.make("nn.pad", made, pad_width=width, pad_value=0.0)
    return node.transpose(node.reshape(made, (gates, blocks, lanes, hidden)), (1, 3, 0, 2))


def _linear(node: OnnxNode, data: Expr, weight: Expr, bias: Expr | None) -> Expr:
    made = node.make("nn.dense", data, weight)
    return made if bias is None else node.add(made, bias)


@converter("RNN")
def rnn(
    node: OnnxNode,
    data: Expr,
    weight: Expr,
    recurrence: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    initial: Expr | None = None,
) -> list[Expr]:
    """RNN, with one gate, tanh unless ``activations`` names another; unrolled if short, else nn.rnn_scan."""
    layer = _layer(node, 1, ["Tanh"], (data, weight, recurrence, bias, lengths))
    if not layer.is_short:
        return _scan(layer, "nn.rnn_scan", [initial], [None] * len(layer.directions))
    return _unrolled(layer, _rnn_step, [initial])


def _rnn_step(layer: _Layer, direction: _Direction, x: Expr, states: tuple[Expr, ...]) -> tuple[Expr, ...]:
    node, (input_bias, recurrent_bias) = layer.node, direction.bias or (None, None)
    parts = (
        _linear(node, x, direction.weight, input_bias),
        _linear(node, states[0], direction.recurrence, recurrent_bias),
    )
    return (direction.activations[0](node.make("add", *parts)),)


@converter("GRU", since=3)
def gru(
    node: OnnxNode,
    data: Expr,
    weight: Expr,
    recurrence: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    initial: Expr | None = None,
) -> list[Expr]:
    """GRU from opset 3, with ``linear_before_reset``; unrolled if short, else nn.gru_scan."""
    layer = _layer(node, 3, ["Sigmoid", "Tanh"], (data, weight, recurrence, bias, lengths))
    if not layer.is_short:
        zeros = node.full(0, (3 * layer.hidden,), node.dtype(data))
        biases = [zeros if one.bias is None else one.bias[1] for one in layer.directions]
        before = bool(node.attr("linear_before_reset", 0))
        return _scan(layer, "nn.gru_scan", [initial], biases, linear_before_reset=before)
    return _unrolled(layer, _gru_step, [initial])


def _gru_step(layer: _Layer, direction: _Direction, x: Expr, states: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """One step, gates update, reset, new; ``linear_before_reset``: what the reset gate multiplies."""
    node, hidden, (state,) = layer.node, layer.hidden, states
    input_bias, recurrent_bias = direction.bias or (None, None)
    gate, candidate = direction.activations
    new = _parts(node, _linear(node, x, direction.weight, input_bias), 3, hidden, 1)
    if node.attr("linear_before_reset", 0):
        old = _parts(node, _linear(node, state, direction.recurrence, recurrent_bias), 3, hidden, 1)
        update, reset = (gate(node.add(a, b)) for a, b in zip(new[:2], old[:2], strict=True))
        proposal = candidate(node.add(new[2], node.multiply(reset, old[2])))
    else:
        weights = _parts(node, direction.recurrence, 3, hidden, 0)
        biases = [None] * 3 if recurrent_bias is None else _parts(node, recurrent_bias, 3, hidden, 0)
        update, reset = (
            gate(node.add(a, _linear(node, state, w, b)))
            for a, w, b in zip(new[:2], weights[:2], biases[:2], strict=True)
        )
        reset_state = node.multiply(reset, state)
        proposal = candidate(node.add(new[2], _linear(node, reset_state, weights[2], biases[2])))
    rest = node.subtract(node.const(1, node.dtype(update)), update)
    made = node.add(node.multiply(rest, proposal), node.multiply(update, state))
    return (made,)


@converter("LSTM")
def lstm(
    node: OnnxNode,
    data: Expr,
    weight: Expr,
    recurrence: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    initial: Expr | None = None,
    cell: Expr | None = None,
    peephole: Expr | None = None,
    quantized: Quantized | None = None,
) -> list[Expr]:
    """LSTM: unrolled if short, else nn.lstm_scan; for ``quantized`` weights nn.quantized_lstm_scan."""
    layer = _layer(node, 4, ["Sigmoid", "Tanh", "Tanh"], (data, weight, recurrence, bias, lengths))
    if quantized is not None or not layer.is_short:
        zeros = node.full(0, (3 * layer.hidden,), node.dtype(data))
        peepholes = [
            zeros if peephole is None else node.pick(peephole, 0, d.number) for d in layer.directions
        ]
        coupled = bool(node.attr("input_forget", 0))
        attrs = {"with_peephole": peephole is not None, "input_forget": coupled}
        operator = "nn.lstm_scan" if quantized is None else "nn.quantized_lstm_scan"
        return _scan(layer, operator, [initial, cell], peepholes, quantized, **attrs)
    windows: dict[int, list[Expr]] = {}
    if peephole is not None:
        for one in layer.directions:
            windows[one.number] = _parts(node, node.pick(peephole, 0, one.number), 3, layer.hidden, 0)

    def step(layer: _Layer, direction: _Direction, x: Expr, states: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return _lstm_step(layer, direction, x, states, windows.get(direction.number))

    return _unrolled(layer, step, [initial, cell])


def _lstm_step(
    layer: _Layer, direction: _Direction, x: Expr, states: tuple[Expr, ...], windows: list[Expr] | None
) -> tuple[Expr, ...]:
    """One step, with gates input, output, forget, cell (ONNX's order); peepholes read the cell."""
    node = layer.node
    input_bias, recurrent_bias = direction.bias or (None, None)
    hidden, cell = states
    total = node.add(
        _linear(node, x, direction.weight, input_bias),
        _linear(node, hidden, direction.recurrence, recurrent_bias),
    )
    i, o, f, c = _parts(node, total, 4, layer.hidden, 1)
    gate, inner, outer = direction.activations

    def add_peephole(value: Expr, at: Expr, index: int) -> Expr:
        if windows is None:
            return value
        return node.add(value, node.multiply(at, windows[index]))

    i = gate(add_peephole(i, cell, 0))
    if node.attr("input_forget", 0):
        f = node.subtract(node.const(1, node.dtype(i)), i)
    else:
        f = gate(add_peephole(f, cell, 2))
    new = node.add(node.multiply(f, cell), node.multiply(i, inner(c)))
    o = gate(add_peephole(o, new, 1))
    return node.multiply(o, outer(new)), new
