"""Cross-layer equalization: scale the channels between two layers to weights of equal range, without data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from tvmlite.core import mapped
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import Fuse, fuse_class, is_homogeneous
from tvmlite.relay.passes.graph_pass import graph_pass, readers_of, rebuild
from tvmlite.relay.passes.patterns import is_vector_along
from tvmlite.relay.quantize.layers import is_product, outer_nodes

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")

MAX_ROUNDS = 40
"""The maximum number of rounds over all pairs; by then, factors are 1 up to rounding."""

MAX_FACTOR = 1e4
"""The largest factor of a single step; channels without weights are left unchanged."""


@dataclass(frozen=True)
class _Pair:
    """Two layers, ``first`` read only by ``second``, and the addition ``bias`` of a constant between, if
    any."""

    first: Call
    second: Call
    bias: Call | None


@graph_pass
def equalize_layers(body: Expr) -> Expr:
    """Rescale consecutive convolutions so that the channels between them have weights of similar magnitude.

    Output channel ``i`` of the first is divided by ``s = sqrt(r1 / r2)`` and the weights of input channel
    ``i`` of the second are multiplied by it, where ``r1`` and ``r2`` are the largest magnitudes of their
    weights for that channel. Only a bias and a rectifier may be between them. Depthwise networks gain most,
    as each of their channels has few weights. Source: Nagel et al., "Data-Free Quantization Through Weight
    Equalization and Bias Correction", 2019, arXiv:1906.04721, section 4.1.
    """
    pairs = _pairs(body)
    if not pairs:
        return body
    weights: dict[Expr, np.ndarray] = {
        call: _weight(call) for pair in pairs for call in (pair.first, pair.second)
    }
    divisors = {pair.first: np.ones(weights[pair.first].shape[0]) for pair in pairs}
    for _ in range(MAX_ROUNDS):
        largest = 0.0
        for pair in pairs:
            factor = _factor(weights[pair.first], weights[pair.second], pair.second)
            weights[pair.first] /= _broadcast_along(factor, 0, weights[pair.first].ndim)
            weights[pair.second] *= _broadcast_along(
                factor, _input_axis(pair.second), weights[pair.second].ndim
            )
            divisors[pair.first] *= factor
            largest = max(largest, float(np.max(np.abs(np.log(factor)))))
        if largest < 1e-4:
            break
    if all(np.allclose(one, 1.0) for one in divisors.values()):
        return body
    biases: dict[Expr, np.ndarray] = {
        pair.bias: divisors[pair.first] for pair in pairs if pair.bias is not None
    }

    def rule(node: Expr, made: Expr) -> Expr:
        assert isinstance(made, Expr)
        if node in weights:
            assert isinstance(made, Call)
            weight = Constant(weights[node].astype(np.float32), made.args[1].span)  # type: ignore[attr-defined]
            return dataclasses.replace(made, args=(made.args[0], weight))
        if node in biases:
            assert isinstance(made, Call)
            return dataclasses.replace(
                made, args=tuple(_divided_bias(made, one, biases[node]) for one in made.args)
            )
        return made

    return rebuild(body, rule)


def _divided_bias(call: Call, arg: Expr, divisor: np.ndarray) -> Expr:
    """``arg`` divided by channel if it is the constant of the sum ``call``; otherwise unchanged."""
    if not isinstance(arg, Constant):
        return arg
    shaped = divisor.reshape(-1, *(1,) * (tensor_type_of(call).ndim - 2))
    return Constant((arg.data / shaped).astype(np.float32), arg.span)


def _pairs(body: Expr) -> list[_Pair]:
    """The pairs, in the order of their computation; the values between them have no other readers."""
    readers = readers_of(body)
    found = []
    for node in outer_nodes(body):
        if not _is_constant_convolution(node):
            continue
        assert isinstance(node, Call)
        value, bias = node.args[0], None
        if _has_one_reader(value, readers) and _commutes_with_scaling(value):
            value = value.args[0]
        if _has_one_reader(value, readers) and isinstance(value, Call) and value.op == "add":
            bias, value = value, _without_bias(value)
        if not (_has_one_reader(value, readers) and _is_constant_convolution(value)):
            continue
        assert isinstance(value, Call)
        if _is_depthwise(node) or node["groups"] == 1:
            found.append(_Pair(value, node, bias))
    return found


def _has_one_reader(value: Expr, readers: dict[Expr, list[Expr | None]]) -> bool:
    return len(readers[value]) == 1


def _commutes_with_scaling(value: Expr) -> TypeGuard[Call]:
    """Whether ``value`` is an element-wise function of one tensor that commutes with positive factors."""
    return fuse_class(value) is Fuse.ELEMWISE and is_homogeneous(value)


def _without_bias(call: Call) -> Expr:
    """The value to which a sum adds a constant per channel; the sum itself if it is not of that form."""
    for value, other in (call.args, call.args[::-1]):
        if isinstance(other, Constant) and same_type(type_of(value), type_of(call)):
            rank = tensor_type_of(call).ndim
            if is_vector_along(other.shape, rank, 1):
                return value
    return call


def _is_constant_convolution(node: Expr) -> bool:
    if not (isinstance(node, Call) and node.op in CONVOLUTIONS and is_product(node)):
        return False
    weight = node.args[1]
    return isinstance(weight, Constant)


def _is_depthwise(call: Call) -> bool:
    """Whether each output channel reads only the input channel with the same number."""
    shape = tensor_type_of(call.args[1]).shape
    return bool(call["groups"] == shape[0] and shape[1] == 1)


def _input_axis(call: Call) -> int:
    """The axis of the input channels of ``call`` in its weights."""
    return 0 if _is_depthwise(call) and call["groups"] > 1 else 1


def _weight(call: Call) -> np.ndarray:
    weight = call.args[1]
    assert isinstance(weight, Constant)
    with mapped.reading(weight.data) as values:
        return values.astype(np.float64)


def _broadcast_along(factor: np.ndarray, axis: int, rank: int) -> np.ndarray:
    shape = [1] * rank
    shape[axis] = -1
    return factor.reshape(shape)


def _factor(first: np.ndarray, second: np.ndarray, call: Call) -> np.ndarray:
    """The factors by which the output channels of ``first`` are divided."""
    axis = _input_axis(call)
    first_range = np.max(np.abs(first), axis=tuple(range(1, first.ndim)))
    second_range = np.max(np.abs(second), axis=tuple(k for k in range(second.ndim) if k != axis))
    both_nonzero = (first_range > 0) & (second_range > 0)
    factor = np.sqrt(np.where(both_nonzero, first_range, 1.0) / np.where(both_nonzero, second_range, 1.0))
    return np.clip(factor, 1 / MAX_FACTOR, MAX_FACTOR)
