"""Run ONNX models in PyTorch: the operators of our networks as torch functions, and ``torch.compile``.

This is not a general importer: features that these networks do not use (padding that differs by side, an
LSTM's initial state) raise a NotImplementedError. Scalars become Python numbers, as is usual in PyTorch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import fx, nn
from torch.nn import functional


def compiled(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], threads: int
) -> Callable[[], list[np.ndarray]]:
    """A run of ``model`` by ``torch.compile`` with its defaults; the first run compiles."""
    torch.set_num_threads(threads)
    module = torch.compile(of_onnx(model))
    given = [torch.from_numpy(value) for value in inputs.values()]

    def run() -> list[np.ndarray]:
        with torch.no_grad():
            return [one.numpy() for one in module(*given)]

    return run


def of_onnx(model: onnx.ModelProto) -> fx.GraphModule:
    """``model`` as a PyTorch module, with the inputs in their order and a tuple of the outputs."""
    root, graph = nn.Module(), fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)  # records operations on its Proxies in the graph
    values: dict[str, Any] = {}
    for place, tensor in enumerate(model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        if array.ndim == 0 or array.dtype != np.float32:
            values[tensor.name] = array.tolist()  # a scalar, or a shape or axes
        else:
            weight = nn.Parameter(torch.from_numpy(array.copy()), requires_grad=False)
            root.register_parameter(f"weight{place}", weight)
            values[tensor.name] = tracer.proxy(graph.get_attr(f"weight{place}"))
    for one in model.graph.input:
        if one.name not in values:
            values[one.name] = tracer.proxy(graph.placeholder(one.name))
    for place, node in enumerate(model.graph.node):
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        arguments = [values[name] if name else None for name in node.input]
        if node.op_type == "LSTM":
            root.add_module(f"lstm{place}", _lstm(root, arguments, attributes))
            states = tracer.proxy(graph.call_module(f"lstm{place}", (arguments[0].node,)))
            values[node.output[0]] = states[0].unsqueeze(1)
        elif node.op_type in _OPERATORS:
            values[node.output[0]] = _OPERATORS[node.op_type](*arguments, **attributes)
        else:
            raise NotImplementedError(f"{node.name}: no {node.op_type} among {', '.join(_OPERATORS)}")
    graph.output(tuple(values[one.name].node for one in model.graph.output))
    module = fx.GraphModule(root, graph)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _lstm(root: nn.Module, arguments: list[Any], attributes: dict[str, Any]) -> nn.LSTM:
    """ONNX's gates have the order input, output, forget, cell; PyTorch's input, forget, cell, output."""
    if len(arguments) != 4 or set(attributes) != {"hidden_size"}:
        raise NotImplementedError(f"an LSTM of {len(arguments)} inputs, {sorted(attributes)}")
    size = attributes["hidden_size"]
    weight, recurrence, bias = (getattr(root, one.node.target)[0] for one in arguments[1:])
    layer = nn.LSTM(weight.shape[1], size)
    own = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
    for to, value in zip(own, (weight, recurrence, bias[: 4 * size], bias[4 * size :]), strict=True):
        to.requires_grad_(False).copy_(torch.cat([value.split(size)[gate] for gate in (0, 2, 3, 1)]))
    return layer


def _even(pads: list[int]) -> list[int]:
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        raise NotImplementedError(f"pads {pads}")
    return pads[:half]


def _conv(x, weight, bias=None, *, kernel_shape=(), strides=1, pads=(), dilations=1, group=1):
    return functional.conv2d(x, weight, bias, strides, _even(list(pads)) or 0, dilations, group)


def _max_pool(x, *, kernel_shape, strides=1, pads=()):
    return functional.max_pool2d(x, kernel_shape, strides, _even(list(pads)) or 0)


def _gemm(a, b, c, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    if (alpha, beta, transA) != (1.0, 1.0, 0):
        raise NotImplementedError(f"Gemm of alpha {alpha}, beta {beta}, transA {transA}")
    return functional.linear(a, b if transB else b.t(), c)


def _cast(x, *, to):
    return x.to(getattr(torch, np.dtype(helper.tensor_dtype_to_np_dtype(to)).name))


def _gather(x, indices, *, axis=0):
    if axis:
        raise NotImplementedError(f"Gather on axis {axis}")
    return functional.embedding(indices, x)


def _layer_norm(x, scale, shift, *, axis=-1, epsilon=1e-5):
    if axis != -1:
        raise NotImplementedError(f"LayerNormalization on axis {axis}")
    return functional.layer_norm(x, scale.shape, scale, shift, epsilon)


def _transpose(x, *, perm):
    """A transpose, with a swap of the last two axes as a separate step, as is usual for attention's keys:
    when torch 2.13 looks for attention, it takes a permutation that also swaps them for only a swap, and
    fails to compile."""
    if perm[-1] < perm[-2]:
        return x.permute([*perm[:-2], perm[-1], perm[-2]]).transpose(-2, -1)
    return x.permute(perm)


def _unsqueeze(x, axes):
    for axis in sorted(axes):
        x = x.unsqueeze(axis)
    return x


_OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add,
    "Cast": _cast,
    "Clip": lambda x, low, high: torch.clamp(x, low, high),
    "Conv": _conv,
    "Div": operator.truediv,
    "Erf": torch.erf,
    "Flatten": lambda x, axis=1: torch.flatten(x, axis),
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": lambda x: functional.adaptive_avg_pool2d(x, 1),
    "LayerNormalization": _layer_norm,
    "MatMul": torch.matmul,
    "MaxPool": _max_pool,
    "Mul": operator.mul,
    "Relu": torch.relu,
    "Reshape": lambda x, shape: x.reshape([n or x.shape[place] for place, n in enumerate(shape)]),
    "Softmax": lambda x, axis=-1: torch.softmax(x, axis),
    "Sub": operator.sub,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
