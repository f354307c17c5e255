"""A backend for ``onnx.backend.test``: a model is compiled, then run on arrays in the order of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from tvmlite.core.errors import UnsupportedError
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx
from tvmlite.runtime.library.library import Library

DEPENDS_ON_DATA = (
    "depends on the data",
    "must be a constant",
    "must be known",
    "of a dynamic size",
    "axes at once",
)
"""Parts of the importer's messages which say that an input decides a shape."""

SMALL = 64
"""The most elements of an input that decides shapes (axes, k, repeats, ...)."""


class CompiledModel(BackendRep):
    """A compiled model. If shapes depend on values of inputs, it is compiled for these values when it is run.

    Users who know such an input pass it to ``from_onnx(constants=...)``, as this class does.
    """

    def __init__(self, model: onnx.ModelProto, target: str = "native") -> None:
        self.model, self.target = model, target
        held = {one.name for one in model.graph.initializer}
        self.names = [one.name for one in model.graph.input if one.name not in held]
        self.library: Library | None = None
        self.lists = [i.name for i in model.graph.input if not i.type.HasField("tensor_type")]
        try:
            self.library = compile(from_onnx(model), target)
        except UnsupportedError as error:
            if not any(words in error.message for words in DEPENDS_ON_DATA):
                raise

    def run(self, inputs: Sequence[Any], **kwargs: object) -> list[np.ndarray]:
        """The outputs in the model's order. Raises UnsupportedError for inputs that are not arrays."""
        feeds = dict(zip(self.names, map(_value, inputs), strict=False))
        library = self.library
        if library is None:
            shapes = {name: _shape(feeds[name]) for name in self.lists}
            arrays = {name: one for name, one in feeds.items() if name not in shapes}
            fixed = {name: one for name, one in arrays.items() if one.ndim <= 1 and one.size <= SMALL}
            library = compile(from_onnx(self.model, shapes, fixed), self.target)
            feeds = {n: one for n, one in feeds.items() if n not in fixed and one is not None}
        return list(library.run(feeds).values())


def _value(given: Any) -> Any:
    """An input: an array, a list of them, None for an optional that is empty; strings are refused."""
    if given is None:
        return None
    if isinstance(given, list):
        return [_value(one) for one in given]
    if not isinstance(given, (np.ndarray, np.generic)) or np.asarray(given).dtype.kind in "OUS":
        raise UnsupportedError(f"an input is a {type(given).__name__}; tvmlite takes arrays of numbers")
    return np.asarray(given)


def _shape(value: Any) -> Any:
    if value is None:
        return None
    return [one.shape for one in value] if isinstance(value, list) else value.shape


class TvmliteBackend(Backend):
    """tvmlite with the interface of a backend in ONNX's tests."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> CompiledModel:
        return CompiledModel(model, **kwargs)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> list[np.ndarray]:
        """One node on ``inputs``; ``outputs_info`` gives dtype and shape of each output, if known."""
        names = [name for name in node.input if name]
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in zip(names, map(np.asarray, inputs), strict=True)
        ]
        known = outputs_info or [(np.float32, None)] * len(node.output)
        made = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
            for name, (dtype, shape) in zip(node.output, known, strict=True)
        ]
        model = helper.make_model(helper.make_graph([node], "node", given, made))
        return cls.prepare(model, device, **kwargs).run(inputs)
