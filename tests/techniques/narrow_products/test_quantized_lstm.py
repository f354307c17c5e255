"""Quantized LSTMs agree with numpy on every target, with and without the dot-product instruction."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import TypeInferError
from tvmlite.machine.target import Target
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import type_of
from tvmlite.te.codegen import process

FUNCTIONS = (("sigmoid", 0.0, 0.0), ("tanh", 0.0, 0.0), ("tanh", 0.0, 0.0))
NAMES = ("data", "recurrence", "peephole", "scales", "zeros", "sums", "hidden", "cell", "lengths")


def packed(weights: np.ndarray, size: int) -> np.ndarray:
    """``(size, 4, size)`` weights, [state, gate, unit], in the layout of the operator."""
    made = np.zeros((-(-size // 16), -(-size // 4), 4, 16, 4), np.int8)
    for state in range(size):
        for unit in range(size):
            made[unit // 16, state // 4, :, unit % 16, state % 4] = weights[state, :, unit]
    return made.reshape(*made.shape[:3], 64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def layer(size: int, batch: int, steps: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The inputs of a layer, and all its hidden states computed in real numbers by plain numpy."""
    source = np.random.default_rng(size)
    weights = source.integers(-128, 128, (size, 4, size))
    zeros, scales = source.integers(-9, 9, 4 * size), source.random(4 * size) * 0.02 / np.sqrt(size)
    plain = weights.reshape(size, -1) - zeros
    data = source.uniform(-2, 2, (steps, batch, 4 * size))
    h, c = source.uniform(-1, 1, (2, batch, size)).astype(np.float32)
    given = [data, packed(weights, size), np.zeros(3 * size), scales, zeros, plain.sum(0), h, c]
    kinds = ["float32", "int8", "float32", "float32", "int32", "int32", "float32", "float32"]
    inputs = {n: x.astype(k) for n, x, k in zip(NAMES, given, kinds, strict=False)}
    inputs["lengths"] = np.full(batch, steps, np.int64)
    every = []
    for x in inputs["data"]:
        low, high = np.minimum(h.min(1), 0)[:, None], np.maximum(h.max(1), 0)[:, None]
        step = (high - low) / np.float32(255)
        zero = np.rint(-low / step)
        seen = (np.clip(np.rint(h / step) + zero, 0, 255) - zero) * step
        i, o, f, g = np.split(x + seen.astype(np.float64) @ (plain * inputs["scales"]), 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = (sigmoid(o) * np.tanh(c)).astype(np.float32)
        every.append(h)
    return inputs, np.stack(every)


def call_of(inputs: dict[str, np.ndarray]) -> tuple[list[relay.Var], relay.Call]:
    parameters = [relay.var(name, shape=x.shape, dtype=str(x.dtype)) for name, x in inputs.items()]
    return parameters, op.make("nn.quantized_lstm_scan", *parameters, activations=FUNCTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64-v2", "llvm -mcpu=haswell", "c"])
@pytest.mark.parametrize(("size", "batch"), [(32, 1), (21, 5), (3, 2)])
def test_all_states_agree_with_numpy(size: int, batch: int, target: str) -> None:
    if refused := process.reason_not_to_run(Target.parse(target)):
        pytest.skip(refused)
    inputs, expected = layer(size, batch, 4)
    parameters, call = call_of(inputs)

    made = tvmlite.compile(relay.Function(tuple(parameters), call), target)(*inputs.values())

    np.testing.assert_allclose(made[0], expected, atol=1e-5)
    np.testing.assert_allclose(made[1], expected[-1], atol=1e-5)


def test_weights_not_packed_in_fours_are_refused() -> None:
    inputs, _ = layer(16, 1, 2)
    inputs["recurrence"] = inputs["recurrence"][:, :3]

    with pytest.raises(TypeInferError, match="the quads of the recurrence"):
        type_of(call_of(inputs)[1])


@pytest.mark.parametrize("name", ["peephole", "scales", "hidden", "cell"])
def test_arguments_of_other_ranks_are_refused(name: str) -> None:
    inputs, _ = layer(16, 2, 2)
    wrong = {key: x[None] if key == name else x for key, x in zip(NAMES, inputs.values(), strict=False)}

    with pytest.raises(TypeInferError, match=r"expected ranks \(1, 1, 1, 1, 2, 2, 1\)"):
        type_of(call_of({**inputs, **wrong})[1])
