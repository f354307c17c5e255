"""The models that ``models.py`` measures: built here with random weights, or from installed packages."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from networks.dense import mlp
from networks.encoder import encoder
from networks.recurrent import lstm
from networks.residual import resnet18, resnet50
from networks.separable import mobilenet_v2
from networks.text import text_models
from tvmlite.relay.onnx import light_models as zoo

BUILT: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet50": resnet50,
    "resnet18": resnet18,
    "mobilenet_v2": mobilenet_v2,
    "bert_base": lambda: encoder(layers=12, hidden=768, heads=12),
    "minilm": lambda: encoder(layers=6, hidden=384, heads=12),
    "mlp": lambda: mlp(784, 512, 512, 10),
    "lstm": lambda: lstm(steps=50, size=256),
}
"""The models that are built here."""


def names() -> list[str]:
    """The names of all models."""
    return [*BUILT, *zoo.light_names(), *text_models()]


def model(name: str) -> onnx.ModelProto:
    """The model ``name`` with fixed sizes and batch 1."""
    built = BUILT | text_models()
    return built[name]() if name in built else zoo.light_model(name)
