"""Move outliers from activations into weights, channel by channel, before quantization."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tvmlite.core import mapped
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.attributes import is_number, show
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, Var
from tvmlite.relay.ir.op import is_view, make
from tvmlite.relay.ir.types import same_dim
from tvmlite.relay.passes.graph_pass import readers_of, rebuild
from tvmlite.relay.quantize.calibrate import with_outputs
from tvmlite.relay.quantize.data import Run
from tvmlite.relay.quantize.layers import is_product, outer_nodes
from tvmlite.relay.quantize.run import Compile, Progress


def smooth_outliers(
    module: Module, runs: Sequence[Run], strength: float, compile: Compile, progress: Progress
) -> Module:
    """An equivalent of the prepared ``module`` in which the channels of products' data have more similar
    ranges.

    Channel ``j`` is divided by ``a^strength / w^(1 - strength)`` and its weights are multiplied by it, where
    ``a`` and ``w`` are its largest magnitudes in the data, on ``runs``, and in the weights. The division is
    folded into the scale and shift of a layer norm before the product, if that has no other readers;
    otherwise it is an element-wise product in the kernel before. A ``strength`` near 0 leaves the differences
    between channels in the data, one near 1 moves them to the weights. Source: Xiao et al., "SmoothQuant:
    Accurate and Efficient Post-Training Quantization for Large Language Models", 2022, arXiv:2211.10438,
    section 4.
    """
    if not is_number(strength) or not 0 < strength < 1:
        raise InputError(f"quantize: smooth is {show(strength)}, expected a number between 0 and 1")
    body = module.main.body
    sources = _sources(body)
    if not sources:
        return module
    factors = _factors(module, sources, runs, strength, compile, progress)
    readers = readers_of(body)
    source_of = {layer: value for value, layers in sources.items() for layer in layers}
    scaled: dict[Expr, Expr] = {}

    def divided(value: Expr, made: Expr) -> Expr:
        """``made``, the new form of ``value``, with its channels divided, through views."""
        if value in factors:
            if value not in scaled:
                scaled[value] = _divided(value, made, factors[value], sources[value], readers)
            return scaled[value]
        assert isinstance(value, Call)
        assert isinstance(made, Call)
        return dataclasses.replace(made, args=(divided(value.args[0], made.args[0]),))

    def rule(node: Expr, made: Expr) -> Expr:
        if node not in source_of:
            return made
        assert isinstance(node, Call)
        assert isinstance(made, Call)
        weight = _scaled_weight(node, factors[source_of[node]])
        return dataclasses.replace(made, args=(divided(node.args[0], made.args[0]), weight))

    return module.with_main(dataclasses.replace(module.main, body=rebuild(body, rule)))


def _sources(body: Expr) -> dict[Expr, list[Call]]:
    """The data of products with constant weights, through views that keep channels, and their products."""
    found: dict[Expr, list[Call]] = {}
    for node in outer_nodes(body):
        if isinstance(node, Call) and is_product(node) and isinstance(node.args[1], Constant):
            if str(node.op).startswith("nn.conv") and (node["groups"] != 1 or "transpose" in str(node.op)):
                continue
            value = node.args[0]
            if not str(node.op).startswith("nn.conv"):
                value = _before_views(value)
            if not isinstance(value, Var):
                found.setdefault(value, []).append(node)
    for value, layers in list(found.items()):
        if len({_data_axis(value, layer) for layer in layers}) != 1:
            del found[value]
    return found


def _before_views(value: Expr) -> Expr:
    """The value of which ``value`` is a view with the same last axis."""
    while is_view(value):
        assert isinstance(value, Call)
        inner = value.args[0]
        ends = tensor_type_of(inner).shape[-1:], tensor_type_of(value).shape[-1:]
        if not ends[0] or not ends[1] or not same_dim(ends[0][0], ends[1][0]):
            break
        value = inner
    return value


def _data_axis(value: Expr, layer: Call) -> int:
    """The axis of the input channels of ``layer`` in its data."""
    return 1 if str(layer.op).startswith("nn.conv") else tensor_type_of(value).ndim - 1


def _weight_axis(layer: Call) -> int:
    """The axis of the input channels of ``layer`` in its weights."""
    if layer.op == "nn.matmul":
        return 1 if layer["transpose_b"] else 0
    if layer.op == "nn.batch_matmul":
        return 2 if layer["transpose_b"] else 1
    return 1


def _factors(
    module: Module,
    sources: dict[Expr, list[Call]],
    runs: Sequence[Run],
    strength: float,
    compile: Compile,
    progress: Progress,
) -> dict[Expr, np.ndarray]:
    """The factors by which the channels of each of ``sources`` are divided."""
    outputs: list[Expr] = []
    for value, layers in sources.items():
        rank, axis = tensor_type_of(value).ndim, _data_axis(value, layers[0])
        others = tuple(k for k in range(rank) if k != axis)
        outputs.append(make("max", make("abs", value), axis=others))
    progress("compiling", 0, 0)
    run = compile(with_outputs(module, outputs))
    largest = [np.zeros(1, np.float32)] * len(outputs)
    for number, inputs in enumerate(runs):
        progress("outliers", number, len(runs))
        largest = [np.maximum(a, b) for a, b in zip(largest, run(inputs), strict=True)]
    factors = {}
    for (value, layers), data in zip(sources.items(), largest, strict=True):
        weight = np.max([_largest(layer) for layer in layers], axis=0)
        both_nonzero = (data > 0) & (weight > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = data**strength / weight ** (1 - strength)
        factors[value] = np.where(both_nonzero, factor, 1.0).astype(np.float32)
    return factors


def _largest(layer: Call) -> np.ndarray:
    """The largest magnitude of the weights of each input channel."""
    weight = layer.args[1]
    assert isinstance(weight, Constant)
    axis = _weight_axis(layer)
    with mapped.reading(weight.data) as values:
        return np.max(np.abs(values), axis=tuple(k for k in range(values.ndim) if k != axis))


def _scaled_weight(layer: Call, factor: np.ndarray) -> Constant:
    weight = layer.args[1]
    assert isinstance(weight, Constant)
    shape = [1] * len(weight.shape)
    shape[_weight_axis(layer)] = -1
    with mapped.reading(weight.data) as values:
        return Constant((values * factor.reshape(shape)).astype(np.float32), weight.span)


def _divided(
    value: Expr, made: Expr, factor: np.ndarray, layers: list[Call], readers: dict[Expr, list[Expr | None]]
) -> Expr:
    """``made`` with its channels divided by ``factor``."""
    if isinstance(made, Call) and made.op == "nn.layer_norm" and _is_read_only_by(value, layers, readers):
        data, gamma, beta = made.args
        last = made["axis"] % tensor_type_of(value).ndim == tensor_type_of(value).ndim - 1
        if last and isinstance(gamma, Constant) and isinstance(beta, Constant):
            norm = [Constant((one.data / factor).astype(np.float32), one.span) for one in (gamma, beta)]
            return dataclasses.replace(made, args=(data, *norm))
    trailing_axes = tensor_type_of(value).ndim - 1 - _data_axis(value, layers[0])
    scale = Constant((1 / factor).astype(np.float32).reshape(-1, *(1,) * trailing_axes))
    return make("multiply", made, scale, span=getattr(value, "span", None))


def _is_read_only_by(value: Expr, layers: list[Call], readers: dict[Expr, list[Expr | None]]) -> bool:
    """Whether only ``layers``, directly or through views, read ``value``."""
    stack = [value]
    while stack:
        for reader in readers[stack.pop()]:
            if reader is not None and is_view(reader):
                stack.append(reader)
            elif reader not in layers:
                return False
    return True
