"""Small ONNX models, mostly wrong ones, for tests to build in a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL


def ints(name: str, *values: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name: str, values: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(values, np.float32), name)


def tensor(name: str, shape: Any = (2, 3), dtype: int = F) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    nodes: list[onnx.NodeProto], inputs: list[Any], held: list[Any] | None = None, opset: int = 17
) -> onnx.ModelProto:
    """A model of ``nodes`` whose output is ``y``."""
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")], held or [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def one(op: str, *args: Any, opset: int = 17, **attrs: Any) -> onnx.ModelProto:
    """A model of one node, called "bad"; ``args`` are its inputs and initializers, in order."""
    node = helper.make_node(op, [a.name for a in args], ["y"], "bad", **attrs)
    inputs = [a for a in args if isinstance(a, onnx.ValueInfoProto)]
    return model([node], inputs, [a for a in args if isinstance(a, onnx.TensorProto)], opset)


RELU = one("Relu", tensor("x"))
