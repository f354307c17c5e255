"""Networks for microcontrollers: one that reads digits, and three of MLPerf Tiny (Banbury et al. 2021,
arXiv:2106.07597)."""

from __future__ import annotations

import onnx

from networks.graph import Graph


def digits() -> onnx.ModelProto:
    """Two convolutions and two dense layers for digits of 28 by 28 pixels."""
    graph = Graph("digits")
    x = graph.input("x", (1, 1, 28, 28))
    for inputs, outputs in ((1, 8), (8, 16)):
        x = graph.op("Relu", graph.conv(x, inputs, outputs, 3))
        x = graph.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = graph.op("Relu", graph.gemm(graph.op("Flatten", x), 16 * 7 * 7, 32))
    return graph.model(graph.op("Softmax", graph.gemm(x, 32, 10)), (1, 10))


def keyword_spotter() -> onnx.ModelProto:
    """The DS-CNN of 64 channels (Zhang et al. 2017, arXiv:1711.07128) for 49 frames of 10 features."""
    graph = Graph("keyword_spotter")
    x = graph.input("x", (1, 1, 49, 10))
    weight, bias = graph.normal(64, 1, 10, 4, deviation=0.2), graph.normal(64, deviation=0.1)
    x = graph.op("Relu", graph.op("Conv", x, weight, bias, strides=[2, 2], pads=[4, 1, 5, 1]))
    for _ in range(4):
        x = graph.op("Relu", graph.conv(x, 64, 64, 3, groups=64))
        x = graph.op("Relu", graph.conv(x, 64, 64, 1))
    x = graph.gemm(graph.op("Flatten", graph.op("GlobalAveragePool", x)), 64, 12)
    return graph.model(graph.op("Softmax", x), (1, 12))


def autoencoder() -> onnx.ModelProto:
    """Ten dense layers around a bottleneck of 8, for anomalies in 640 features of sound."""
    graph = Graph("autoencoder")
    x, inputs = graph.input("x", (1, 640)), 640
    for outputs in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x, inputs = graph.op("Relu", graph.gemm(x, inputs, outputs)), outputs
    return graph.model(graph.gemm(x, inputs, 640), (1, 640))


def resnet8() -> onnx.ModelProto:
    """Three residual blocks for images of 32 by 32 pixels."""
    graph = Graph("resnet8")
    x, inputs = graph.op("Relu", graph.conv(graph.input("x", (1, 3, 32, 32)), 3, 16, 3)), 16
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        y = graph.op("Relu", graph.conv(x, inputs, outputs, 3, stride))
        y = graph.conv(y, outputs, outputs, 3, gain=1)
        x = graph.conv(x, inputs, outputs, 1, stride) if stride > 1 else x
        x, inputs = graph.op("Relu", graph.op("Add", y, x)), outputs
    x = graph.op("AveragePool", x, kernel_shape=[8, 8])
    return graph.model(graph.op("Softmax", graph.gemm(graph.op("Flatten", x), 64, 10)), (1, 10))


TINY = {
    "digits": digits,
    "keyword_spotter": keyword_spotter,
    "autoencoder": autoencoder,
    "resnet8": resnet8,
}
"""The networks by name."""
