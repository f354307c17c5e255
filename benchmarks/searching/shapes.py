"""The tasks of the benchmark, and those for training a cost model: other shapes of the same operators."""

from __future__ import annotations

TESTED = {
    "conv3x3": ("bench.conv", (56, 64, 64, 3)),
    "conv1x1": ("bench.conv", (14, 1024, 256, 1)),
    "depthwise": ("bench.depthwise", (112, 32, 3)),
    "dense": ("bench.dense", (128, 768, 3072)),
    "batch_matmul": ("bench.batch_matmul", (12, 128, 64, 128)),
    "softmax": ("bench.softmax", (1024, 1024)),
}

TRAINED = (
    ("bench.conv", (28, 128, 128, 3)),
    ("bench.conv", (56, 64, 256, 1)),
    ("bench.depthwise", (56, 96, 3)),
    ("bench.dense", (64, 512, 1024)),
    ("bench.batch_matmul", (12, 128, 128, 64)),
    ("bench.softmax", (512, 512)),
    ("bench.conv", (14, 256, 256, 3)),
    ("bench.conv", (28, 256, 128, 1)),
    ("bench.depthwise", (28, 192, 5)),
    ("bench.dense", (128, 3072, 768)),
    ("bench.batch_matmul", (16, 64, 64, 64)),
    ("bench.softmax", (1536, 128)),
    ("bench.conv", (112, 16, 32, 3)),
    ("bench.conv", (7, 512, 512, 1)),
    ("bench.depthwise", (14, 384, 3)),
    ("bench.dense", (32, 256, 768)),
    ("bench.batch_matmul", (8, 256, 32, 256)),
    ("bench.softmax", (256, 2048)),
)
