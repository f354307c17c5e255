"""The networks of the benchmarks, converted to PyTorch, match onnxruntime."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from tvmlite.model.example_inputs import TOLERANCE, relative_gap

torch = pytest.importorskip("torch", reason="torch is a peer of the benchmarks where it is installed")
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # last: it has a models.py, as this folder has

dense, encoder, recurrent, residual, separable = (
    importlib.import_module(f"networks.{name}")
    for name in ("dense", "encoder", "recurrent", "residual", "separable")
)
of_onnx = importlib.import_module("torch_peer").of_onnx

SMALL: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet18": residual.resnet18,
    "mobilenet_v2": separable.mobilenet_v2,
    "encoder": lambda: encoder.encoder(layers=2, hidden=48, heads=3, tokens=9),
    "mlp": lambda: dense.mlp(20, 16, 5),
    "lstm": lambda: recurrent.lstm(steps=4, size=12),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_network_in_torch_matches_onnxruntime(name: str) -> None:
    model = SMALL[name]()
    random, feeds = np.random.default_rng(0), {}
    for one in model.graph.input:
        shape = [extent.dim_value for extent in one.type.tensor_type.shape.dim]
        floats = one.type.tensor_type.elem_type == TensorProto.FLOAT
        feeds[one.name] = random.standard_normal(shape, "float32") if floats else random.integers(0, 2, shape)
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)

    with torch.no_grad():
        made = of_onnx(model)(*(torch.from_numpy(value) for value in feeds.values()))

    assert [one.shape for one in made] == [one.shape for one in want]
    assert max(relative_gap(a.numpy(), b) for a, b in zip(made, want, strict=True)) <= TOLERANCE


def test_an_unsupported_operator_is_named() -> None:
    node = helper.make_node("Sin", ["x"], ["y"], "wave")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")

    with pytest.raises(NotImplementedError, match="wave: no Sin among Add, "):
        of_onnx(helper.make_model(helper.make_graph([node], "g", [x], [y])))
