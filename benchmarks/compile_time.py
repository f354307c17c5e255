"""Measure the time of each step and pass of compilation, for models of growing size.

    python benchmarks/compile_time.py [--kinds varied deep wide bert] [--sizes 375 750 1500 3000]

Synthetic models: ``varied`` mixes operators and shapes, ``deep`` is one chain, ``wide`` has many short
branches, ``bert`` is an encoder with as many layers as fit. Each is imported and compiled cold: nothing comes
from the cache on disk. Times are seconds of processor time, which is affected least by other programs.
"graph" is the time of importing, type inference and passes together, and their fraction of the whole.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import models

from tvmlite.machine.target import Target
from tvmlite.model.kernels import compile_kernel, interfaces_of
from tvmlite.model.record_lookup import Choices
from tvmlite.relay import passes
from tvmlite.relay.entry.entry import build_entry
from tvmlite.relay.entry.kernels import kernel_tasks
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.verify import verify

Result = TypeVar("Result")


class Builder:
    """Builds a graph: nodes, the shapes of their outputs, and weights, all from one seed."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.shapes: dict[str, tuple[int, ...]] = {}

    def op(self, kind: str, inputs: list[str], shape: tuple[int, ...], **attrs: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], f"{kind}_{len(self.nodes)}", **attrs))
        self.shapes[name] = shape
        return name

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape, np.float32) / max(np.prod(shape[1:]), 1) ** 0.5
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def ints(self, *values: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def model(self, inputs: dict[str, tuple[int, ...]], outputs: list[str]) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "synthetic",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, s) for name, s in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shapes[name]) for name in outputs],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def image_step(b: Builder, x: str) -> str:
    """One random node on an image (1, c, h, w)."""
    n, c, h, w = b.shapes[x]
    match int(b.random.integers(0, 12)):
        case 0 | 1:
            out = int(b.random.choice([8, 12, 16, 24, 32, 48]))
            return b.op("Conv", [x, b.weight(out, c, 3, 3), b.weight(out)], (n, out, h, w), pads=[1, 1, 1, 1])
        case 2 | 3:
            out = int(b.random.choice([8, 12, 16, 24, 32, 48]))
            return b.op("Conv", [x, b.weight(out, c, 1, 1)], (n, out, h, w))
        case 4:
            return b.op("Conv", [x, b.weight(c, 1, 3, 3)], (n, c, h, w), group=c, pads=[1, 1, 1, 1])
        case 5:
            scale, shift, mean = (b.weight(c) for _ in range(3))
            variance = b.op("Abs", [b.weight(c)], (c,))
            return b.op("BatchNormalization", [x, scale, shift, mean, variance], (n, c, h, w))
        case 6 if h > 8:
            shape = (n, c, h // 2, w // 2)
            return b.op("MaxPool", [x], shape, kernel_shape=[2, 2], strides=[2, 2])
        case 6 | 7:
            same = [name for name, shape in list(b.shapes.items())[-40:] if shape == (n, c, h, w)]
            return b.op("Add", [x, str(b.random.choice(same))], (n, c, h, w))
        case 8:
            return b.op("Mul", [x, b.weight(c, 1, 1)], (n, c, h, w))
        case 9:
            return (
                b.op("Concat", [x, x], (n, 2 * c, h, w), axis=1)
                if c < 32
                else b.op("Relu", [x], (n, c, h, w))
            )
        case 10 if c > 8:
            return b.op("Slice", [x, b.ints(0), b.ints(c // 2), b.ints(1)], (n, c // 2, h, w))
        case _:
            return b.op(str(b.random.choice(["Relu", "Sigmoid", "Tanh", "HardSwish"])), [x], (n, c, h, w))


def matrix_step(b: Builder, x: str) -> str:
    """One random node on a sequence (1, length, width)."""
    n, length, width = b.shapes[x]
    match int(b.random.integers(0, 8)):
        case 0 | 1 | 2:
            out = int(b.random.choice([32, 48, 64, 96]))
            return b.op("MatMul", [x, b.weight(width, out)], (n, length, out))
        case 3:
            return b.op("LayerNormalization", [x, b.weight(width), b.weight(width)], (n, length, width))
        case 4:
            return b.op("Softmax", [x], (n, length, width), axis=-1)
        case 5:
            return b.op("Transpose", [x], (n, width, length), perm=[0, 2, 1])
        case 6:
            return b.op("Add", [x, b.weight(width)], (n, length, width))
        case _:
            return b.op(str(b.random.choice(["Relu", "Gelu", "Erf", "Tanh"][::2])), [x], (n, length, width))


def varied(size: int) -> onnx.ModelProto:
    """Alternating images and sequences; each step has another operator, shape or both."""
    b = Builder(1)
    inputs = {"image": (1, 8, 32, 32), "words": (1, 24, 32)}
    b.shapes.update(inputs)
    tails = {"image": "image", "words": "words"}
    while len(b.nodes) < size:
        tails["image"] = image_step(b, tails["image"])
        n, c, h, _ = b.shapes[tails["image"]]
        if h <= 8 and b.random.random() < 0.3:
            up = b.ints(n, c, 32, 32)
            tails["image"] = b.op("Resize", [tails["image"], "", "", up], (n, c, 32, 32), mode="nearest")
        if b.random.random() < 0.6:
            tails["words"] = matrix_step(b, tails["words"])
    return b.model(inputs, list(tails.values()))


def deep(size: int) -> onnx.ModelProto:
    """One chain of convolutions, scales and activation functions, all with the same shape."""
    b = Builder(2)
    b.shapes["x"] = (1, 16, 16, 16)
    last, shape = "x", b.shapes["x"]
    while len(b.nodes) < size:
        match len(b.nodes) % 5:
            case 0:
                last = b.op("Conv", [last, b.weight(16, 16, 3, 3)], shape, pads=[1, 1, 1, 1])
            case 1:
                last = b.op("Add", [last, b.weight(16, 1, 1)], shape)
            case 2:
                last = b.op("Relu", [last], shape)
            case 3:
                last = b.op("Mul", [last, b.weight(16, 1, 1)], shape)
            case _:
                last = b.op("Tanh", [last], shape)
    return b.model({"x": shape}, [last])


def wide(size: int) -> onnx.ModelProto:
    """Branches of five nodes from one input, each with another width, added in pairs."""
    b = Builder(3)
    b.shapes["x"] = (16, 64)
    ends = []
    while len(b.nodes) < size - len(ends):
        width = 16 + 4 * (len(ends) % 24)
        value = b.op("MatMul", ["x", b.weight(64, width)], (16, width))
        value = b.op("Add", [value, b.weight(width)], (16, width))
        value = b.op("Sigmoid", [value], (16, width))
        value = b.op("MatMul", [value, b.weight(width, 32)], (16, 32))
        ends.append(b.op("Relu", [value], (16, 32)))
    while len(ends) > 1:
        ends = [
            b.op("Add", ends[i : i + 2], (16, 32)) if i + 1 < len(ends) else ends[i]
            for i in range(0, len(ends), 2)
        ]
    return b.model({"x": (16, 64)}, ends)


def bert(size: int) -> onnx.ModelProto:
    """An encoder with symbolic batch and length, with as many layers as give about ``size`` nodes."""
    one, two = (len(models.minilm(k, hidden=96, heads=4).graph.node) for k in (1, 2))
    return models.minilm(max(1, round((size - one) / (two - one)) + 1), hidden=96, heads=4)


KINDS: dict[str, Callable[[int], onnx.ModelProto]] = {
    "varied": varied,
    "deep": deep,
    "wide": wide,
    "bert": bert,
}


def measure(model: onnx.ModelProto, passes_only: bool) -> tuple[dict[str, float], int]:
    """Seconds of processor time for each step, and the number of distinct kernels."""
    seconds: dict[str, float] = {}
    gc.collect()

    def timed(name: str, run: Callable[[], Result]) -> Result:
        start = time.process_time()
        made = run()
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
        return made

    target = Target.parse("native")
    imported = timed("import", lambda: from_onnx(model))
    timed("check", lambda: verify(imported))
    module = imported.unnamed()
    for one in passes.pipeline(3, target).passes:
        module = timed(one.__name__, partial(one, module))
    if passes_only:
        return seconds, 0
    choices = Choices(target)
    tasks, task_of = timed("tasks", lambda: kernel_tasks(module, target, lambda g: choices.decide(g).config))
    kernels = timed("kernels", lambda: {one.key: compile_kernel(one, target, None) for one in tasks})
    timed("entry", lambda: build_entry(module, "model", interfaces_of(task_of, kernels)))
    return seconds, len(kernels)


def report(kind: str, size: int, passes_only: bool) -> None:
    """Measure one model and print it."""
    model = KINDS[kind](size)
    seconds, kernels = measure(model, passes_only)
    total = sum(seconds.values())
    graph = total - sum(seconds.get(name, 0) for name in ("tasks", "kernels", "entry"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{kind:7} {len(model.graph.node):6} nodes {kernels:5} kernels {total:8.2f} s"
        f"  graph {graph:6.2f} s {graph / total:5.0%}  {peak:6.0f} MB",
        flush=True,
    )
    print("        " + "  ".join(f"{name} {value:.2f}" for name, value in seconds.items()), flush=True)


def main() -> None:
    """Measure each model in its own process, so that it finds no cached results of another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[375, 750, 1500, 3000])
    parser.add_argument("--passes-only", action="store_true", help="do not compile kernels")
    options = parser.parse_args()
    if len(options.kinds) == len(options.sizes) == 1:
        report(options.kinds[0], options.sizes[0], options.passes_only)
        return
    for kind in options.kinds:
        for size in options.sizes:
            words = ["--kinds", kind, "--sizes", str(size), *["--passes-only"] * options.passes_only]
            environment = {**os.environ, "TVMLITE_CACHE": "off"}
            subprocess.run([sys.executable, __file__, *words], check=True, env=environment)


if __name__ == "__main__":
    main()
