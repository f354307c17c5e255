"""Recurrent layers."""

from __future__ import annotations

import onnx

from networks.graph import Graph


def lstm(steps: int, size: int, layers: int = 1) -> onnx.ModelProto:
    """LSTMs (Hochreiter and Schmidhuber 1997) with ``size`` cells and inputs of ``size`` numbers."""
    graph = Graph("lstm")
    x = graph.input("x", (steps, 1, size))
    deviation = size**-0.5
    for layer in range(layers):
        x = graph.op("Squeeze", x, graph.const([1], "int64")) if layer else x
        weight, recurrence = (graph.normal(1, 4 * size, size, deviation=deviation) for _ in range(2))
        bias = graph.normal(1, 8 * size, deviation=0.1)
        x = graph.op("LSTM", x, weight, recurrence, bias, hidden_size=size)
    return graph.model(x, (steps, 1, 1, size))
