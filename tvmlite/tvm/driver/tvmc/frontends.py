"""The formats of models that ``tvmc`` knows, by name. Only ONNX and relay's text are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.driver.tvmc.model import ENDINGS, FORMATS, TVMCModel
from tvmlite.tvm.driver.tvmc.model import load_model as load_model


class Frontend:
    """Reads the models of one format."""

    def __init__(self, format_name: str) -> None:
        self._name = format_name

    def name(self) -> str:
        """The name of the format, ``onnx``."""
        return self._name

    def suffixes(self) -> list[str]:
        """The endings of its files, without dots."""
        return [ending.removeprefix(".") for ending, name in ENDINGS.items() if name == self._name]

    def load(self, path: Any, shape_dict: Mapping[str, Sequence[int]] | None = None) -> TVMCModel:
        """The model in the file ``path``; an UnsupportedError unless it is ONNX or relay."""
        return load_model(path, self._name, shape_dict)


class OnnxFrontend(Frontend):
    """Reads ONNX."""


class RelayFrontend(Frontend):
    """Reads the text of relay modules."""


class KerasFrontend(Frontend):
    """Names Keras' format, which is not read."""


class PaddleFrontend(Frontend):
    """Names Paddle's format, which is not read."""


class PyTorchFrontend(Frontend):
    """Names PyTorch's format, which is not read."""


class TensorflowFrontend(Frontend):
    """Names TensorFlow's format, which is not read."""


class TFLiteFrontend(Frontend):
    """Names TFLite's format, which is not read."""


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
    """The names of the formats."""
    return list(FORMATS)


def get_frontend_by_name(name: str) -> Frontend:
    """The reader of a format; an InputError if there is no such format."""
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return _CLASSES[name](name)


def guess_frontend(path: Any) -> Frontend:
    """The reader of the format that the ending of ``path`` is of; an InputError if it is of none."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(
            f"{path}: the format of {ending or 'the file'} is not known", hint="--model-format onnx"
        )
    return get_frontend_by_name(ENDINGS[ending])


__getattr__ = refusing(__name__)
