"""The noise of quantization: of each layer alone, and of a model with a choice of quantized layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core.node import postorder
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import (
    Call,
    Constant,
    Expr,
    Function,
    Module,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)
from tvmlite.relay.ir.op import is_view, make
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.relay.passes.graph_pass import rebuild
from tvmlite.relay.quantize.annotate import MARK
from tvmlite.relay.quantize.calibrate import with_outputs, without_mark
from tvmlite.relay.quantize.data import Run
from tvmlite.relay.quantize.layers import PRODUCTS, outer_nodes
from tvmlite.relay.quantize.realize import quantized_data, quantized_weight, realized_recurrence
from tvmlite.relay.quantize.recurrent import RECURRENT
from tvmlite.relay.quantize.run import Compile, Progress, Runner

SWITCHES = "quantized_layers"
"""The name of the input that selects which layers are quantized."""

WITHOUT_NOISE = 200.0
"""The signal-to-noise ratio, in dB, that stands for a result without noise."""


@dataclass(frozen=True)
class Noise:
    """The noise of a layer if only its own operands are quantized: the ``snr`` of its result in dB, and, for
    products, ``error``, the mean correction to add to each output channel (None for other layers)."""

    snr: float
    error: np.ndarray | None = None


def decibels(signal: float, noise: float) -> float:
    """The ratio of two sums of squares in dB, at most ``WITHOUT_NOISE``; ``-WITHOUT_NOISE`` if one is not
    finite, which means that rounded values overflowed."""
    if not np.isfinite(signal) or not np.isfinite(noise):
        return -WITHOUT_NOISE
    if noise <= 0.0 or signal <= 0.0:
        return WITHOUT_NOISE if noise <= 0.0 else -WITHOUT_NOISE
    return float(min(10 * np.log10(signal / noise), WITHOUT_NOISE))


def layers_of(module: Module) -> dict[str, Call]:
    """The calls of ``module`` that read marks, by the names of their layers, in order."""
    found: dict[str, Call] = {}
    for node in outer_nodes(module.main.body):
        if isinstance(node, Call) and node.op != MARK and not is_view(node):
            for mark in marks_read(node):
                found.setdefault(mark["layer"], node)
    return found


def marks_read(call: Call) -> list[Call]:
    """The marks that ``call`` reads, directly or through views and a tuple."""
    found = []
    stack: list[Expr] = list(call.args)
    while stack:
        one = stack.pop()
        if isinstance(one, Tuple):
            stack += one.fields
        elif is_view(one):
            assert isinstance(one, Call)
            stack += one.args
        elif isinstance(one, Call) and one.op == MARK:
            found.append(one)
    return found


def _realized(mark: Call, data: Expr) -> Expr:
    """The quantized form of ``data`` that replaces ``mark``."""
    return quantized_weight(mark, data) if isinstance(data, Constant) else quantized_data(mark, data)


def measure_noise(
    module: Module, runs: Sequence[Run], compile: Compile, progress: Progress
) -> dict[str, Noise]:
    """The noise of each layer of a calibrated ``module`` on ``runs``, if the values it reads are exact."""
    layers = layers_of(module)
    exact = _without_marks(module)

    def rounded(call: Call) -> Expr:
        def quantized(value: Expr) -> Expr:
            if isinstance(value, Call) and value.op == MARK:
                return _realized(value, exact[value.args[0]])
            if isinstance(value, Tuple) or is_view(value):
                return value.map_children(quantized)
            return exact[value]

        made = call.map_children(quantized)
        assert isinstance(made, Call)
        return realized_recurrence(call, made) if call.op in RECURRENT else made

    return noise_of(module, layers, exact, rounded, runs, compile, progress)


def _without_marks(module: Module) -> dict[Expr, Expr]:
    """Each node, rebuilt without the marks below it."""
    exact: dict[Expr, Expr] = {}
    for node in postorder(module.main.body):
        assert isinstance(node, Expr)
        exact[node] = without_mark(node.map_children(exact.__getitem__))
    return exact


def noise_of(
    module: Module,
    layers: Mapping[str, Call],
    exact: Mapping[Expr, Expr],
    rounded: Callable[[Call], Expr],
    runs: Sequence[Run],
    compile: Compile,
    progress: Progress,
) -> dict[str, Noise]:
    """The noise of ``layers`` of ``module`` on ``runs``. ``exact`` maps nodes to their form without rounding;
    ``rounded`` returns a layer with its own operands rounded."""
    outputs: list[Expr] = []
    for call in layers.values():
        outputs += _noise_sums(call, exact[call], rounded(call))
    progress("compiling", 0, 0)
    run = compile(with_outputs(module, outputs))
    sums: dict[str, list[np.ndarray]] = {}
    for number, inputs in enumerate(runs):
        progress("noise of layers", number, len(runs))
        results = iter(run(inputs))
        for name in layers:
            row = [np.asarray(next(results), np.float64) for _ in range(3)]
            sums[name] = [a + b for a, b in zip(sums[name], row, strict=True)] if name in sums else row
    found = {}
    for name, (signal, noise, error) in sums.items():
        mean = (error / len(runs)).astype(np.float32) if layers[name].op in PRODUCTS else None
        found[name] = Noise(decibels(float(signal), float(noise)), mean)
    return found


def _noise_sums(call: Call, signal: Expr, rounded: Expr) -> list[Expr]:
    """The sums of squares of the result of ``call`` and of its noise, and the mean error by channel."""
    if isinstance(type_of(call), TupleType):  # field 0 of a recurrent layer has all states
        signal, rounded = TupleGetItem(signal, 0), TupleGetItem(rounded, 0)
    rank = tensor_type_of(signal).ndim
    axes = tuple(range(rank))
    error = make("subtract", signal, rounded, span=call.span)
    others = tuple(k for k in axes if k != channel_axis(call)) if call.op in PRODUCTS else axes
    return [
        make("sum", make("multiply", signal, signal), axis=axes, span=call.span),
        make("sum", make("multiply", error, error), axis=axes, span=call.span),
        make("mean", error, axis=others, span=call.span),
    ]


def channel_axis(call: Call) -> int:
    """The axis of the output channels in the result of a product."""
    return 1 if str(call.op).startswith("nn.conv") else tensor_type_of(call).ndim - 1


def switchable(module: Module) -> tuple[Module, list[str]]:
    """A calibrated ``module`` with an additional input, ``SWITCHES``, and the names of its layers in order.

    The input is a bool vector that says whether each layer is quantized. So any choice of layers can be
    tested without compiling again.
    """
    layers = list(layers_of(module))
    switches = Var(SWITCHES, TensorType((len(layers),), "bool"))
    switch_of: dict[str, Expr] = {}

    def is_on(layer: str) -> Expr:
        if layer not in switch_of:
            switch_of[layer] = make("take", switches, constant(layers.index(layer), "int64"), axis=0)
        return switch_of[layer]

    def rule(node: Expr, made: Expr) -> Expr:
        if not (isinstance(node, Call) and node.op == MARK):
            return made
        assert isinstance(made, Call)
        data = made.args[0]
        return make("where", is_on(node["layer"]), _realized(made, data), data, span=node.span)

    main = module.main
    body = rebuild(main.body, rule)
    made = Function((*main.params, switches), body, main.attrs, main.span)
    return dataclasses.replace(module.unnamed(), functions={**module.functions, "main": made}), layers


def with_float_layers(run: Runner, layers: Sequence[str], float_layers: frozenset[str]) -> Runner:
    """``run`` of a switchable module with all of ``layers`` quantized except ``float_layers``."""
    switches = np.array([name not in float_layers for name in layers], bool)
    return lambda inputs: run({**inputs, SWITCHES: switches})


def output_noise(exact: Runner, rounded: Runner, runs: Sequence[Run]) -> float:
    """The signal-to-noise ratio, in dB, of all float outputs on ``runs``; ``WITHOUT_NOISE`` if none are."""
    signal = noise = 0.0
    for inputs in runs:
        for a, b in zip(exact(inputs), rounded(inputs), strict=True):
            if a.dtype.kind == "f" and a.shape == b.shape:
                signal += float(np.sum(np.square(a, dtype=np.float64)))
                noise += float(np.sum(np.square(a.astype(np.float64) - b)))
    return decibels(signal, noise)


Metric = Callable[[Runner], float]
"""Maps a runner of a model to the quality of the model; higher is better."""
