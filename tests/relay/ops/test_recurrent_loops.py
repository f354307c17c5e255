"""Recurrent layers whose units are divided among threads, against numpy, with any number of threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir import op

GATES = {"nn.rnn_scan": 1, "nn.gru_scan": 3, "nn.lstm_scan": 4}
FUNCTIONS = (("sigmoid", 0.0, 0.0), ("tanh", 0.0, 0.0), ("tanh", 0.0, 0.0))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _step(name: str, x: np.ndarray, weights: np.ndarray, h: np.ndarray, c: np.ndarray, before: bool):
    """Return the states after one step; ``weights`` are (gates, size, size): [gate, unit, state]."""
    old = np.einsum("guk,k->gu", weights, h)
    if name == "nn.rnn_scan":
        return np.tanh(x[0] + old[0]), c
    if name == "nn.gru_scan":
        z, r = _sigmoid(x[0] + old[0]), _sigmoid(x[1] + old[1])
        kept = r * old[2] if before else weights[2] @ (r * h)
        return (1 - z) * np.tanh(x[2] + kept) + z * h, c
    i, o, f = (_sigmoid(x[k] + old[k]) for k in range(3))
    c = f * c + i * np.tanh(x[3] + old[3])
    return o * np.tanh(c), c


class Layer:
    """One layer, its inputs, and its results in plain numpy, sample by sample."""

    def __init__(
        self,
        name: str,
        size: int,
        batch: int,
        steps: int,
        reverse: bool,
        before: bool = False,
        lanes: int = 16,
    ) -> None:
        random, gates = np.random.default_rng(size + batch), GATES[name]
        self.name, self.before, self.reverse = name, before, reverse
        self.weights = random.uniform(-1, 1, (gates, size, size)) / np.sqrt(size)
        packed = np.zeros((-(-size // lanes), size, gates, lanes), np.float32)
        for unit in range(size):
            packed[unit // lanes, :, :, unit % lanes] = self.weights[:, unit].T
        states = 2 if name == "nn.lstm_scan" else 1
        self.data = random.uniform(-2, 2, (steps, batch, gates * size)).astype(np.float32)
        self.states = [random.uniform(-1, 1, (batch, size)).astype(np.float32) for _ in range(states)]
        self.lengths = random.integers(0, steps + 1, batch)
        self.lengths[0] = steps
        extra = [] if gates == 1 else [np.zeros(3 * size, np.float32)]
        self.given = [self.data, packed, *extra, *self.states, self.lengths]

    def module(self, batch: int | str) -> relay.IRModule:
        """Return the layer for a batch of that size or name."""
        extent = relay.dim(batch) if isinstance(batch, str) else batch
        axes = [1, None] + [0] * (len(self.given) - 2)
        if GATES[self.name] > 1:
            axes[2] = None
        params = []
        for k, (array, axis) in enumerate(zip(self.given, axes, strict=True)):
            shape = [extent if place == axis else n for place, n in enumerate(array.shape)]
            params.append(relay.var(f"x{k}", shape=tuple(shape), dtype=str(array.dtype)))
        attrs: dict[str, object] = {"linear_before_reset": self.before} if self.name == "nn.gru_scan" else {}
        functions = FUNCTIONS[: {1: 0, 3: 2, 4: 3}[GATES[self.name]]] or FUNCTIONS[1:2]
        attrs |= {"reverse": self.reverse, "activations": functions}
        call = op.make(self.name, *params, **attrs)  # type: ignore[arg-type]
        return relay.IRModule.from_expr(relay.Function(tuple(params), call))

    def expected(self) -> list[np.ndarray]:
        steps, batch, wide = self.data.shape
        size = self.weights.shape[1]
        out = np.zeros((steps, batch, size))
        last = [state.astype(np.float64) for state in self.states]
        for b in range(batch):
            h, c = last[0][b], last[-1][b]
            order = range(self.lengths[b])
            for time in reversed(order) if self.reverse else order:
                x = self.data[time, b].astype(np.float64).reshape(wide // size, size)
                h, c = _step(self.name, x, self.weights, h, c, self.before)
                out[time, b] = h
            last[-1][b], last[0][b] = c, h
        return [out, *last]


def _check(lib: CompiledModule | runtime.Library, layer: Layer) -> None:
    expected = layer.expected()
    for threads in (1, 2, 3):
        runtime.set_num_threads(threads)
        for _ in range(3):
            for got, want in zip(lib(*layer.given), expected, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("name", "size", "batch", "before", "lanes"),
    [
        ("nn.rnn_scan", 160, 1, False, 32),
        ("nn.rnn_scan", 100, 5, False, 64),
        ("nn.gru_scan", 83, 1, True, 16),
        ("nn.gru_scan", 96, 3, False, 16),
        ("nn.lstm_scan", 80, 1, False, 16),
        ("nn.lstm_scan", 33, 6, False, 16),
        ("nn.lstm_scan", 5, 2, False, 16),
        ("nn.lstm_scan", 192, 6, False, 16),
    ],
)
def test_results_are_right_with_any_number_of_threads(name, size, batch, before, lanes, reverse) -> None:
    layer = Layer(name, size, batch, 7, reverse, before, lanes)

    _check(tvmlite.compile(layer.module(batch), name="layer"), layer)


@pytest.mark.slow
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(("name", "size"), [("nn.gru_scan", 96), ("nn.lstm_scan", 192), ("nn.rnn_scan", 23)])
def test_one_library_serves_all_batch_sizes(name: str, size: int) -> None:
    lib = tvmlite.compile(Layer(name, size, 1, 5, False).module("b"), name="layer")

    for batch in (1, 2, 5, 8):
        _check(lib, Layer(name, size, batch, 5, False))


@pytest.mark.slow
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize(("name", "batch"), [("nn.gru_scan", 1), ("nn.lstm_scan", 5)])
def test_an_exported_layer_runs_on_any_number_of_threads(
    name: str, batch: int, target: str, tmp_path: Path
) -> None:
    layer = Layer(name, 112, batch, 6, False)
    tvmlite.compile(layer.module(batch), target, name="layer").export(tmp_path / "layer.so")

    _check(runtime.load(tmp_path / "layer.so"), layer)
