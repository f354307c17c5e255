"""MobileNetV2 for images of 224 by 224 (Sandler et al. 2018, arXiv:1801.04381)."""

from __future__ import annotations

import onnx

from networks.graph import Graph

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, blocks and the first block's stride: the paper's table 2."""


def mobilenet_v2() -> onnx.ModelProto:
    """The network of width 1.0."""
    graph = Graph("mobilenet_v2")
    x = graph.input("x", (1, 3, 224, 224))
    x = _relu6(graph, graph.conv(x, 3, 32, 3, stride=2))
    channels = 32
    for expansion, width, count, first in STAGES:
        for number in range(count):
            x = _block(graph, x, channels, width, expansion, first if number == 0 else 1)
            channels = width
    x = _relu6(graph, graph.conv(x, channels, 1280, 1))
    x = graph.op("Flatten", graph.op("GlobalAveragePool", x), axis=1)
    return graph.model(graph.gemm(x, 1280, 1000), (1, 1000))


def _block(graph: Graph, x: str, channels: int, width: int, expansion: int, stride: int) -> str:
    """Widen by 1x1, filter each channel by 3x3, narrow by 1x1; add where the shapes allow."""
    hidden, y = channels * expansion, x
    if expansion > 1:
        y = _relu6(graph, graph.conv(y, channels, hidden, 1))
    y = _relu6(graph, graph.conv(y, hidden, hidden, 3, stride, groups=hidden))
    y = graph.conv(y, hidden, width, 1, gain=1)
    return graph.op("Add", x, y) if stride == 1 and channels == width else y


def _relu6(graph: Graph, x: str) -> str:
    return graph.op("Clip", x, graph.const(0.0), graph.const(6.0))
