"""Real model graphs of the onnx package, with random weights, so that a wrong kernel changes the outputs.

The package ships the model zoo's ``light_*`` graphs with constant weights, so that all classes are equally
likely for any input, and a wrong kernel may go unnoticed. Here each weight is drawn from a seeded
distribution that keeps activations of order one, and the final softmax, which would flatten the differences,
is removed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.core.extras import how_to_install
from tvmlite.core.span import Span

try:
    import onnx
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError:
    raise UnsupportedError(
        "the model graphs come with the onnx package", hint=how_to_install("onnx")
    ) from None


def light_names() -> list[str]:
    """Return the names of the graphs: ``light_squeezenet``, ``light_resnet50``, ..."""
    return sorted(path.stem for path in _folder().glob("light_*.onnx"))


def light_model(name: str, seed: int = 0, softmax: bool = False) -> onnx.ModelProto:
    """Return the graph ``name`` with seeded weights, and without its final softmax unless ``softmax``.

    Kernels and matrices are normal with variance 2 / fan-in (He et al. 2015, arXiv:1502.01852), scales and
    variances are around one, shifts around zero; terms of residual sums are scaled down to keep these small.
    """
    path = _folder() / f"{name}.onnx"
    if not path.exists():
        there = light_names()
        hint = next((f"did you mean {one}?" for one in get_close_matches(name, there, 1)), None)
        problem = f"no graph {name!r} in the onnx package; there are {', '.join(there)}"
        raise ModelError(problem, Span.of_caller(), hint)
    model = onnx.load(path)
    graph = model.graph
    if not softmax and graph.node[-1].op_type == "Softmax":
        graph.output[0].name = graph.node.pop().input[0]
    rng = np.random.default_rng(seed)
    given = {one.name: one for one in graph.initializer}
    roles = _roles(graph)
    made: dict[str, np.ndarray] = {}
    kept: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shape = tuple(int(extent) for extent in numpy_helper.to_array(given[node.input[0]]))
            made[node.output[0]] = _weight(rng, roles[node.output[0]], shape)
        else:
            kept.append(node)
    for one in given.values():
        if one.data_type == onnx.TensorProto.FLOAT and one.name in roles:
            made[one.name] = _weight(rng, roles[one.name], tuple(one.dims))
    _replace(graph, kept, given, made)
    return model


def light_input(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Return a normal float32 array for each input of ``model`` that is not a weight."""
    rng = np.random.default_rng(0)
    held = {one.name for one in model.graph.initializer}
    return {
        one.name: rng.standard_normal([d.dim_value for d in one.type.tensor_type.shape.dim], np.float32)
        for one in model.graph.input
        if one.name not in held
    }


def light_output(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of ``model`` by the onnx package's own implementation in numpy."""
    return [np.asarray(one) for one in ReferenceEvaluator(model).run(None, dict(inputs))]


def log_mel(seconds: float = 3.0) -> onnx.ModelProto:
    """Return the front end of a speech recogniser: the log power of ``samples`` in 80 bands, every 10 ms.

    As exporters write it, the Fourier transform of 25 ms is a strided convolution with 402 sines and cosines;
    the bands are seeded random weights.
    """
    rate, window, hop, bands = 16000, 400, 160, 80
    bins = window // 2 + 1
    times = np.arange(window)
    angles = 2 * np.pi * np.arange(bins)[:, None] * times / window
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * times / window)
    waves = np.concatenate([np.cos(angles), -np.sin(angles)]) * hann
    weights = {
        "waves": waves[:, None].astype(np.float32),
        "bands": np.random.default_rng(0).uniform(0, 1, (bands, bins)).astype(np.float32),
        "least": np.float32(1e-6),
        "halves": np.array([bins, bins]),
    }
    nodes = [
        helper.make_node("Conv", ["samples", "waves"], ["wave"], "fourier/Conv", strides=[hop]),
        helper.make_node("Split", ["wave", "halves"], ["real", "imaginary"], "fourier/Split", axis=1),
        helper.make_node("Mul", ["real", "real"], ["a"], "power/Mul"),
        helper.make_node("Mul", ["imaginary", "imaginary"], ["b"], "power/Mul_1"),
        helper.make_node("Add", ["a", "b"], ["power"], "power/Add"),
        helper.make_node("MatMul", ["bands", "power"], ["mel"], "mel/MatMul"),
        helper.make_node("Add", ["mel", "least"], ["c"], "log/Add"),
        helper.make_node("Log", ["c"], ["log_mel"], "log/Log"),
    ]
    count = int(seconds * rate)
    shapes = {"samples": [1, 1, count], "log_mel": [1, bands, (count - window) // hop + 1]}
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, s) for name, s in shapes.items())
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "log_mel", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _folder() -> Path:
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


_ROLES: dict[str, tuple[str, ...]] = {
    "Conv": ("", "kernel", "shift"),
    "Gemm": ("", "matrix", "shift"),
    "BatchNormalization": ("", "scale", "shift", "shift", "variance"),
    "Mul": ("scale", "scale"),
    "Add": ("shift", "shift"),
}
"""The role of a weight for the operator that reads it, by input position."""


def _roles(graph: onnx.GraphProto) -> dict[str, str]:
    """The role that each value would have as a weight, through Unsqueeze and Reshape."""
    roles: dict[Any, str] = {}
    aliases: dict[Any, str] = {}
    summed = {name for node in graph.node if node.op_type == "Sum" for name in node.input}
    for node in graph.node:
        if node.op_type in ("Unsqueeze", "Reshape"):
            aliases[node.output[0]] = node.input[0]
        for name, role in zip(node.input, _ROLES.get(node.op_type, ()), strict=False):
            if role == "scale" and set(node.output) & summed:
                role = "branch"
            if role:
                roles[aliases.get(name, name)] = role
    return roles


def _weight(rng: np.random.Generator, role: str, shape: tuple[int, ...]) -> np.ndarray:
    match role:
        case "kernel":
            return rng.standard_normal(shape, np.float32) * np.float32(math.sqrt(2 / math.prod(shape[1:])))
        case "matrix":
            return rng.standard_normal(shape, np.float32) * np.float32(math.sqrt(2 / max(shape)))
        case "scale" | "variance":
            return rng.uniform(0.8, 1.2, shape).astype(np.float32)
        case "branch":
            return rng.uniform(0.1, 0.3, shape).astype(np.float32)
        case _:
            return rng.uniform(-0.1, 0.1, shape).astype(np.float32)


def _replace(
    graph: onnx.GraphProto,
    nodes: list[onnx.NodeProto],
    given: dict[str, onnx.TensorProto],
    made: dict[str, np.ndarray],
) -> None:
    """Set the contents of ``graph``: ``nodes``, the weights ``made``, and what is read of ``given``."""
    read = {name for node in nodes for name in node.input}
    weights = [one for name, one in given.items() if name not in made and name in read]
    weights += [numpy_helper.from_array(value, name) for name, value in made.items()]
    held = {one.name for one in weights}
    inputs = [one for one in graph.input if one.name not in given or one.name in held]
    for field, values in ((graph.node, nodes), (graph.initializer, weights), (graph.input, inputs)):
        del field[:]
        field.extend(values)  # each list matches its field's type
