"""The model formats that ``tvmc`` knows, by name. Only ONNX and Relay's text format are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.driver.tvmc.model import ENDINGS, FORMATS, TVMCModel
from tvmlite.tvm.driver.tvmc.model import load_model as load_model


class Frontend:
    """Reads models of one format."""

    def __init__(self, format_name: str) -> None:
        self._name = format_name

    def name(self) -> str:
        """Return the name of the format, such as ``onnx``."""
        return self._name

    def suffixes(self) -> list[str]:
        """Return the suffixes of its files, without dots."""
        return [ending.removeprefix(".") for ending, name in ENDINGS.items() if name == self._name]

    def load(self, path: Any, shape_dict: Mapping[str, Sequence[int]] | None = None) -> TVMCModel:
        """Load the model in the file ``path``; an UnsupportedError unless the format is ONNX or Relay."""
        return load_model(path, self._name, shape_dict)


class OnnxFrontend(Frontend):
    """Reads ONNX."""


class RelayFrontend(Frontend):
    """Reads Relay modules in text format."""


class KerasFrontend(Frontend):
    """Keras' format, which is not supported."""


class PaddleFrontend(Frontend):
    """Paddle's format, which is not supported."""


class PyTorchFrontend(Frontend):
    """PyTorch's format, which is not supported."""


class TensorflowFrontend(Frontend):
    """TensorFlow's format, which is not supported."""


class TFLiteFrontend(Frontend):
    """TFLite's format, which is not supported."""


_CLASSES = {
    "keras": KerasFrontend,
    "onnx": OnnxFrontend,
    "paddle": PaddleFrontend,
    "pb": TensorflowFrontend,
    "pytorch": PyTorchFrontend,
    "relay": RelayFrontend,
    "tflite": TFLiteFrontend,
}


def get_frontend_names() -> list[str]:
    """Return the names of the formats."""
    return list(FORMATS)


def get_frontend_by_name(name: str) -> Frontend:
    """Return the reader of the format ``name``; an InputError if there is no such format."""
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return _CLASSES[name](name)


def guess_frontend(path: Any) -> Frontend:
    """Return the reader of the format that the suffix of ``path`` indicates; an InputError if unknown."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(
            f"{path}: the format of {ending or 'the file'} is not known", hint="--model-format onnx"
        )
    return get_frontend_by_name(ENDINGS[ending])


__getattr__ = refusing(__name__)
