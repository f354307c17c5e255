"""Small ONNX models with subgraphs, and their results compiled, interpreted and by onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tvmlite
from tvmlite import relay
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.onnx import from_onnx

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
rng = np.random.default_rng(0)
onnxruntime.set_default_logger_severity(4)


def info(name: str, kind: int, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes, inputs=(), outputs=()) -> onnx.GraphProto:
    return helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs])


def model(nodes, inputs, outputs, **constants) -> onnx.ModelProto:
    made = graph(nodes, inputs, outputs)
    for name, value in constants.items():
        made.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def floats(*shape: int) -> np.ndarray:
    return rng.random(shape).astype("float32")


def check(proto: onnx.ModelProto, feeds: list[dict[str, np.ndarray]], target: str) -> None:
    """Check that compiled, interpreted and onnxruntime's results agree, and that the text is parsed."""
    module = from_onnx(proto)
    verify(module)
    assert str(relay.parse(module.astext())) == str(module)
    lib = tvmlite.compile(module, target=target)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    for feed in feeds:
        wanted: Any = session.run(None, feed)
        meant = interpret(module, feed)
        meant = meant if isinstance(meant, tuple) else (meant,)
        for got, mean, want in zip(lib.run(feed).values(), meant, wanted, strict=True):
            assert got.shape == np.shape(mean)
            if np.size(want):  # without iterations onnxruntime loses the shape of rows
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(got, mean, rtol=1e-5, atol=1e-6)
