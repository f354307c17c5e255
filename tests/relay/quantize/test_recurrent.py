"""LSTMs in 8 bits, against onnxruntime's dynamic quantization."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite import relay
from tvmlite.commands.peers.quantizer import quantized_by_onnxruntime
from tvmlite.commands.peers.runtimes import PEERS
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Call, Module

STEPS = 40


def lstm(path: Path, size: int, directions: int = 1) -> Path:
    """Write an LSTM with ``size + 3`` inputs to a file."""
    rng = np.random.default_rng(size)
    shapes = {"w": (directions, 4 * size, size + 3), "r": (directions, 4 * size, size)}
    shapes["b"] = (directions, 8 * size)
    weights = [
        numpy_helper.from_array((rng.standard_normal(shape) * 0.2).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    attrs = {"hidden_size": size, "direction": "forward" if directions == 1 else "bidirectional"}
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], **attrs)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [STEPS, 1, size + 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [STEPS, directions, 1, size])
    graph = helper.make_graph([node], "net", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def inputs(size: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((STEPS, 1, size + 3)).astype(np.float32)


def operators(module: Module) -> set[object]:
    return {one.op for one in postorder(module.main.body) if isinstance(one, Call)}


@pytest.mark.parametrize(("size", "directions"), [(32, 1), (21, 1), (20, 2)])
def test_a_dynamically_quantized_lstm_equals_onnxruntimes(tmp_path: Path, size: int, directions: int) -> None:
    path, x = lstm(tmp_path / "lstm.onnx", size, directions), inputs(size)
    exact = relay.frontend.from_onnx(path)
    made = tvmlite.quantize(exact, mode="dynamic", measure=False)
    small = quantized_by_onnxruntime(path, [], "dynamic")
    assert [node.op_type for node in onnx.load_from_string(small).graph.node] == ["DynamicQuantizeLSTM"]

    found = tvmlite.compile(made.module)(x)
    (expected,) = PEERS["onnxruntime"](small, 1, [x])()
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert np.abs(found - tvmlite.compile(exact)(x)).max() > 1e-3  # both round
    assert {row.op for row in made.report.layers} == {"nn.dense", "nn.lstm_scan"}


def test_one_scale_for_all_weights_gives_more_noise(tmp_path: Path) -> None:
    exact, x = relay.frontend.from_onnx(lstm(tmp_path / "lstm.onnx", 24)), inputs(24)
    wanted = tvmlite.compile(exact)(x)

    def error(**options: bool) -> float:
        made = tvmlite.quantize(exact, mode="dynamic", measure=False, operators=["nn.lstm_scan"], **options)
        assert "nn.quantized_lstm_scan" in operators(made.module)
        return float(np.square(tvmlite.compile(made.module)(x) - wanted).mean())

    assert 0 < error() < error(per_channel=False) < 1e-4


def test_the_noise_of_a_quantized_lstm_is_reported(tmp_path: Path) -> None:
    exact = relay.frontend.from_onnx(lstm(tmp_path / "lstm.onnx", 24))
    data = [np.random.default_rng(k).standard_normal((STEPS, 1, 27)).astype(np.float32) for k in range(2)]
    made = tvmlite.quantize(exact, data, mode="dynamic", measure=False, operators=["nn.lstm_scan"])

    (row,) = made.report.layers
    assert row.weights == 4 * 24 * 32  # units padded to whole blocks
    assert row.snr == pytest.approx(made.report.output_snr, abs=0.5)


def test_static_mode_and_keep_float_leave_the_lstm_in_float(tmp_path: Path) -> None:
    exact = relay.frontend.from_onnx(lstm(tmp_path / "lstm.onnx", 24))
    data = [np.random.default_rng(k).standard_normal((STEPS, 1, 27)).astype(np.float32) for k in range(2)]
    static = tvmlite.quantize(exact, data, measure=False)
    (name,) = [
        row.name
        for row in tvmlite.quantize(exact, mode="dynamic", measure=False).report.layers
        if row.op == "nn.lstm_scan"
    ]
    kept = tvmlite.quantize(exact, mode="dynamic", measure=False, keep_float=[name])

    assert "nn.lstm_scan" in operators(static.module)
    assert "nn.lstm_scan" in operators(kept.module)
    with pytest.raises(InputError, match="the module has no layer that can be quantized"):
        tvmlite.quantize(exact, data, measure=False, operators=["nn.lstm_scan"])
