"""Residual networks for 224 by 224 pixels (He et al. 2016, arXiv:1512.03385), with torchvision's strides."""

from __future__ import annotations

import onnx

from networks.graph import Graph

BRANCH_GAIN = 0.2
"""The scale of residual branches: small, so that the sums do not grow from block to block."""


def resnet18() -> onnx.ModelProto:
    """Two 3x3 convolutions per block."""
    return _network("resnet18", (2, 2, 2, 2), bottleneck=False)


def resnet50() -> onnx.ModelProto:
    """1x1, 3x3 and 1x1 convolutions per block."""
    return _network("resnet50", (3, 4, 6, 3), bottleneck=True)


def _network(name: str, blocks: tuple[int, ...], bottleneck: bool) -> onnx.ModelProto:
    graph = Graph(name)
    x = graph.input("x", (1, 3, 224, 224))
    x = graph.op("Relu", graph.conv(x, 3, 64, 7, stride=2))
    x = graph.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for number in range(count):
            stride = 2 if stage > 0 and number == 0 else 1
            block = _bottleneck if bottleneck else _basic
            x, channels = block(graph, x, channels, width, stride)
    x = graph.op("Flatten", graph.op("GlobalAveragePool", x), axis=1)
    return graph.model(graph.gemm(x, channels, 1000), (1, 1000))


def _basic(graph: Graph, x: str, channels: int, width: int, stride: int) -> tuple[str, int]:
    y = graph.op("Relu", graph.conv(x, channels, width, 3, stride))
    y = graph.conv(y, width, width, 3, gain=BRANCH_GAIN)
    return _joined(graph, x, y, channels, width, stride), width


def _bottleneck(graph: Graph, x: str, channels: int, width: int, stride: int) -> tuple[str, int]:
    y = graph.op("Relu", graph.conv(x, channels, width, 1))
    y = graph.op("Relu", graph.conv(y, width, width, 3, stride))
    y = graph.conv(y, width, 4 * width, 1, gain=BRANCH_GAIN)
    return _joined(graph, x, y, channels, 4 * width, stride), 4 * width


def _joined(graph: Graph, x: str, y: str, channels: int, outputs: int, stride: int) -> str:
    """The sum of a branch and its input, which is projected if their shapes differ."""
    if stride > 1 or channels != outputs:
        x = graph.conv(x, channels, outputs, 1, stride, gain=1)
    return graph.op("Relu", graph.op("Add", y, x))
