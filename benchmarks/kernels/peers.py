"""The same operations in other runtimes that are installed, on one thread."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from kernels.case import aligned

Inputs = dict[str, np.ndarray]
Call = Callable[[], Any]


def calls(kernel: str, inputs: Inputs) -> dict[str, Call]:
    """A call of ``kernel`` ("depthwise", "softmax", "layernorm") on ``inputs`` in each installed runtime."""
    inputs = {name: aligned(value) for name, value in inputs.items()}
    found: dict[str, Call] = {}
    if find_spec("torch"):
        found["torch"] = _torch(kernel, inputs)
    if find_spec("onnx"):
        model = _onnx(kernel, inputs)
        if find_spec("onnxruntime"):
            found["onnxruntime"] = _onnxruntime(model, inputs)
        if find_spec("openvino"):
            found["openvino"] = _openvino(model, inputs)
    return found


def _onnx(kernel: str, inputs: Inputs) -> bytes:
    """A model of one operator; all its inputs except the first are weights."""
    from onnx import TensorProto, helper, numpy_helper

    operator, attributes = {
        "depthwise": ("Conv", {"group": inputs["x"].shape[1], "pads": [1, 1, 1, 1]}),
        "softmax": ("Softmax", {"axis": -1}),
        "layernorm": ("LayerNormalization", {"axis": -1, "epsilon": 1e-5}),
    }[kernel]
    shape = inputs["x"].shape
    graph = helper.make_graph(
        [helper.make_node(operator, list(inputs), ["y"], **attributes)],
        kernel,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in inputs.items() if name != "x"],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def _onnxruntime(model: bytes, inputs: Inputs) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()  # avoids copies, as in performance-critical programs
    binding.bind_cpu_input("x", inputs["x"])
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(inputs["x"])))
    return lambda: session.run_with_iobinding(binding)


def _openvino(model: bytes, inputs: Inputs) -> Call:
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(model, b""), "CPU", settings).create_infer_request()
    request.set_input_tensor(openvino.Tensor(inputs["x"], shared_memory=True))
    return request.infer


def _torch(kernel: str, inputs: Inputs) -> Call:
    import torch

    torch.set_num_threads(1)
    given = {name: torch.from_numpy(value) for name, value in inputs.items()}
    x = given["x"]
    operations: dict[str, Call] = {
        "depthwise": lambda: torch.conv2d(x, given["w"], padding=1, groups=x.shape[1]),
        "softmax": lambda: torch.softmax(x, -1),
        "layernorm": lambda: torch.layer_norm(x, x.shape[-1:], given["g"], given["b"], 1e-5),
    }

    def call() -> Any:
        with torch.inference_mode():
            return operations[kernel]()

    return call
