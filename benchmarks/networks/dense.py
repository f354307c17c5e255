"""Fully connected layers."""

from __future__ import annotations

from itertools import pairwise

import onnx

from networks.graph import Graph


def mlp(*widths: int) -> onnx.ModelProto:
    """Dense layers with relu between them; ``widths`` begin with that of the input."""
    graph = Graph("mlp")
    x = graph.input("x", (1, widths[0]))
    for number, (inputs, outputs) in enumerate(pairwise(widths)):
        x = graph.gemm(graph.op("Relu", x) if number else x, inputs, outputs)
    return graph.model(x, (1, widths[-1]))
