"""Real model graphs that come with the onnx package, given weights that make their answers tell something.

The package ships the model zoo's ``light_*`` graphs with constant weights, so that every class comes out
equally likely whatever the input, and a wrong kernel may go unseen. Here each weight is drawn from a seeded
distribution that keeps activations of order one, and the final softmax, which would flatten what is left, is
taken off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tvmlite.core.errors import ModelError, UnsupportedError

try:
    import onnx
    from onnx import numpy_helper
except ImportError:
    raise UnsupportedError(
        "the model graphs come with the onnx package", hint="pip install 'tvmlite[onnx]'"
    ) from None


def light_names() -> list[str]:
    """The graphs there are: ``light_squeezenet``, ``light_resnet50``, ..."""
    return sorted(path.stem for path in _folder().glob("light_*.onnx"))


def light_model(name: str, seed: int = 0) -> onnx.ModelProto:
    """The graph ``name`` with seeded weights, without its final softmax.

    Convolutions and dense layers get normal weights of variance 2 / fan-in (He et al. 2015,
    arXiv:1502.01852), normalisations scales and variances in [0.5, 1.5).
    """
    path = _folder() / f"{name}.onnx"
    if not path.exists():
        raise ModelError(f"no graph {name!r} in the onnx package; there are {', '.join(light_names())}")
    model = onnx.load(path)
    graph = model.graph
    rng = np.random.default_rng(seed)
    shapes = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    uses = _uses(graph)
    kept: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shape = tuple(int(extent) for extent in shapes[node.input[0]])
            array = _weights(rng, shape, *uses[node.output[0]])
            graph.initializer.append(numpy_helper.from_array(array, node.output[0]))
        else:
            kept.append(node)
    _drop_unread(graph, kept)
    if kept[-1].op_type == "Softmax":
        graph.output[0].name = kept.pop().input[0]
    del graph.node[:]
    graph.node.extend(kept)
    return model


def light_input(model: onnx.ModelProto, seed: int = 0) -> dict[str, np.ndarray]:
    """A normal float32 array for each input of ``model`` that is not a weight."""
    rng = np.random.default_rng(seed)
    held = {one.name for one in model.graph.initializer}
    return {
        one.name: rng.standard_normal([d.dim_value for d in one.type.tensor_type.shape.dim]).astype(
            np.float32
        )
        for one in model.graph.input
        if one.name not in held
    }


def _folder() -> Path:
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def _uses(graph: onnx.GraphProto) -> Mapping[str, tuple[str, int]]:
    """The operator that reads each value first, and at which place; seen through Unsqueeze."""
    uses: dict[str, tuple[str, int]] = {}
    for node in reversed(graph.node):
        for place, name in enumerate(node.input):
            through = node.op_type == "Unsqueeze" and node.output[0] in uses
            uses[name] = uses[node.output[0]] if through else (node.op_type, place)
    return uses


def _drop_unread(graph: onnx.GraphProto, nodes: list[onnx.NodeProto]) -> None:
    """Take out the initialisers (the shapes of weights) that none of ``nodes`` reads."""
    read = {name for node in nodes for name in node.input}
    unread = {one.name for one in graph.initializer} - read
    for held in (graph.initializer, graph.input):
        kept = [one for one in held if one.name not in unread]
        del held[:]
        held.extend(kept)


def _weights(rng: np.random.Generator, shape: tuple[int, ...], reader: str, place: int) -> np.ndarray:
    if reader in ("Conv", "Gemm") and place == 1:
        fan_in = math.prod(shape[1:])
        values = rng.standard_normal(shape, np.float32) * np.float32(math.sqrt(2 / fan_in))
    elif (reader == "BatchNormalization" and place in (1, 4)) or reader == "Mul":
        values = rng.uniform(0.5, 1.5, shape)
    else:
        values = rng.standard_normal(shape, np.float32) * np.float32(0.1)
    return values.astype(np.float32)
