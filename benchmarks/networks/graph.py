"""Builds ONNX graphs with seeded random weights, with one call for each operator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Graph:
    """An ONNX graph that is being built: methods add nodes and return the names of their results.

    Kernels and matrices are normal with variance 2 / fan-in (He et al. 2015, arXiv:1502.01852), so that
    activations keep their order of magnitude from layer to layer.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self._rng = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: tuple[int | str, ...], dtype: int = TensorProto.FLOAT) -> str:
        """Add an input of the model."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add one node with one result."""
        result = f"{kind.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [result], result, **attributes))
        return result

    def const(self, value: Any, dtype: str = "float32") -> str:
        """Add a weight with given values."""
        name = f"weight{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def normal(self, *shape: int, deviation: float) -> str:
        """Add a normally distributed random weight."""
        return self.const(self._rng.standard_normal(shape, np.float32) * np.float32(deviation))

    def conv(
        self, x: str, inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1, gain: float = 2
    ) -> str:
        """Add a convolution with a bias, as exporters write it after folding batch normalisation."""
        fan_in = inputs // groups * size * size
        weight = self.normal(outputs, inputs // groups, size, size, deviation=math.sqrt(gain / fan_in))
        bias = self.normal(outputs, deviation=0.1)
        pads, sizes = [size // 2] * 4, [size, size]
        return self.op(
            "Conv", x, weight, bias, kernel_shape=sizes, strides=[stride] * 2, pads=pads, group=groups
        )

    def gemm(self, x: str, inputs: int, outputs: int) -> str:
        """Add a fully connected layer; its weight has one row for each output."""
        weight = self.normal(outputs, inputs, deviation=math.sqrt(2 / inputs))
        return self.op("Gemm", x, weight, self.normal(outputs, deviation=0.1), transB=1)

    def model(self, result: str, shape: tuple[int | str, ...]) -> onnx.ModelProto:
        """The finished model, whose output is ``result``."""
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, self.name, self._inputs, [output], self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
