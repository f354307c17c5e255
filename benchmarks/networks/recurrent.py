"""Recurrent layers."""

from __future__ import annotations

import onnx

from networks.graph import Graph


def lstm(steps: int, size: int) -> onnx.ModelProto:
    """One LSTM (Hochreiter and Schmidhuber 1997) of ``size`` cells, over inputs of as many numbers."""
    graph = Graph("lstm")
    x = graph.input("x", (steps, 1, size))
    deviation = size**-0.5
    weight, recurrence = (graph.normal(1, 4 * size, size, deviation=deviation) for _ in range(2))
    bias = graph.normal(1, 8 * size, deviation=0.1)
    return graph.model(graph.op("LSTM", x, weight, recurrence, bias, hidden_size=size), (steps, 1, 1, size))
