"""Compare models quantized by onnxruntime with ONNX Runtime and OpenVINO, in interleaved runs.

    python benchmarks/quantized.py --threads 1 2 --rounds 10
    python benchmarks/quantized.py resnet50 --threads 1
    python benchmarks/quantized.py --kernels             products and convolutions against the VNNI peak

The models of ``models.py`` are quantized by ``onnxruntime.quantization`` (QDQ, weights by channel, data in
uint8) on seeded random inputs. A row gives milliseconds, medians of all rounds; the best peer's time divided
by tvmlite's (at least 1.15); tvmlite's float32 time divided by its time in 8 bits (at least 3.2 for resnet50,
3 for bert_base); and the error of the output in steps of its last rounding. The error is relative to the
model as written, which ONNX Runtime computes without its graph rewrites; next to it is the error of ONNX
Runtime with the rewrites (the limit is 1, or that error). The load is printed with each row.

``--kernels`` compiles single operators and prints their speed relative to the peak of ``vpdpbusd``, which is
measured in interleaved runs (at least 0.9). For depthwise convolutions it prints the speedup over float32 (at
least 1.3); they are so short that the kernel is timed without the call from Python.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType

import networks
import numpy as np
import onnx
from interleaved import CLOCKS, Measurement, interleave, measure
from models import MEASUREMENT_SECONDS, PAUSE, inputs_of
from runtimes import Run, peers

from tvmlite import relay, runtime
from tvmlite.commands.peers.quantizer import quantized_by_onnxruntime
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Constant, Expr, Module, Var
from tvmlite.relay.ir.op import make

MODELS = ("resnet50", "bert_base", "mobilenet_v2", "minilm")
EXAMPLES = 4
"""The number of random inputs with which a model is calibrated."""

PEER_BAR, STEP_BAR = 1.15, 1.0
FLOAT_BARS = {"resnet50": 3.2, "bert_base": 3.0}
KERNEL_BAR, DEPTHWISE_BAR = 0.9, 1.3

PRODUCTS = ((1024, 1024, 1024), (128, 768, 3072), (128, 3072, 768))
"""Rows, depth, columns."""

CONVOLUTIONS = (
    (64, 64, 56, 3), (128, 128, 28, 3), (256, 256, 14, 3), (512, 512, 7, 3),
    (256, 64, 56, 1), (64, 256, 56, 1), (512, 128, 28, 1), (128, 512, 28, 1),
    (1024, 256, 14, 1), (256, 1024, 14, 1),
)  # fmt: skip
"""Those of ResNet-50: input channels, output channels, pixels per side, window."""

DEPTHWISE = ((32, 112, 1), (96, 112, 2), (144, 56, 1), (192, 28, 1), (384, 14, 1), (960, 7, 1))
"""Those of MobileNetV2: channels, pixels per side, stride; windows are 3x3."""


def main() -> int:
    """Print the table; return 1 if a row misses its limit."""
    options = _options()
    if len(options.threads) > 1:  # OpenVINO keeps the first number of threads that it gets in a process
        command = [sys.executable, *sys.argv, "--threads"]
        codes = [subprocess.run([*command, str(count)]).returncode for count in options.threads]
        return int(any(codes))
    (threads,) = options.threads
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    runtime.set_num_threads(threads)
    if options.kernels:
        rows = list(_kernel_rows(options.rounds))
        return int(not all(rows))
    print(
        f"{'model':14} threads   tvmlite  onnxruntime  openvino  float32   peer/ours  float32/ours  "
        "steps|onnxruntime's"
    )
    rows = [_model_row(name, threads, options.rounds) for name in options.models or MODELS]
    return int(not all(rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", choices=[*networks.names(), []], help=f"default: {MODELS}")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of interleaved runs (default: 10)")
    parser.add_argument("--kernels", action="store_true", help="single operators, on one thread")
    return parser.parse_args()


# --- models -----------------------------------------------------------------------------------------


def quantized(model: onnx.ModelProto) -> onnx.ModelProto:
    """``model`` quantized by onnxruntime, with QuantizeLinear and DequantizeLinear."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "given.onnx"
        onnx.save(model, given)
        data = [inputs_of(model) for _ in range(EXAMPLES)]
        return onnx.load_from_string(quantized_by_onnxruntime(given, data))


def _model_row(name: str, threads: int, rounds: int) -> bool:
    """Measure one model and print its row; return whether it is within its limits."""
    model = networks.model(name)
    inputs, small = inputs_of(model), quantized(model)
    lib, exact = compile(from_onnx(small)), compile(from_onnx(model))
    runs: dict[str, Run] = {
        "tvmlite": lambda: list(lib.run(inputs).values()),
        "float32": lambda: list(exact.run(inputs).values()),
        **peers(small, inputs, threads, exact=False),
    }
    answers = {key: [np.array(one) for one in run()] for key, run in runs.items()}
    measurements = {key: partial(measure, run, clock=CLOCKS["wall"]) for key, run in runs.items()}
    times = {
        key: float(np.median(calls))
        for key, calls in interleave(measurements, rounds, MEASUREMENT_SECONDS, PAUSE).items()
    }
    ours = times["tvmlite"]
    ratio = min(times[key] for key in ("onnxruntime", "openvino") if key in times) / ours
    gain, written = times["float32"] / ours, _as_written(small, inputs)
    steps, others = (_steps(small, answers[key], written) for key in ("tvmlite", "onnxruntime"))
    cells = "  ".join(
        f"{times[key] * 1e3:9.3f}" if key in times else f"{'-':>9}"
        for key in ("tvmlite", "onnxruntime", "openvino", "float32")
    )
    within = ratio >= PEER_BAR and gain >= FLOAT_BARS.get(name, 0.0) and steps <= max(STEP_BAR, others)
    verdict = "" if within else "  beyond its bar"
    print(
        f"{name:14} {threads:7} {cells}   {ratio:9.2f} {gain:13.2f}  {steps:5.0f}|{others:<13.0f}  "
        f"load {os.getloadavg()[0]:.2f}{verdict}",
        flush=True,
    )
    return within


def _as_written(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of ``model``, computed node by node without graph rewrites."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return [np.asarray(one) for one in session.run(None, dict(inputs))]


def _steps(model: onnx.ModelProto, one: list[np.ndarray], other: list[np.ndarray]) -> float:
    """The largest difference of outputs in steps of their last rounding, for outputs that are rounded."""
    makers = {name: node for node in model.graph.node for name in node.output}
    held = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    found = []
    for output, a, b in zip(model.graph.output, one, other, strict=True):
        node = makers[output.name]
        if node.op_type == "DequantizeLinear":
            found.append(float(np.round(np.abs(a - b).max() / held[node.input[1]])))
    return max(found, default=0.0)


# --- kernels ----------------------------------------------------------------------------------------


def _kernel_rows(rounds: int) -> Iterator[bool]:
    """Print a row for each kernel; yield whether it is within its limit."""
    from kernels import peaks  # imported late: this machine may lack the instruction

    print("kernel                                  us    G/s   share of the peak, or of float32's time")
    for rows, depth, columns in PRODUCTS:
        data = relay.var("x", shape=(rows, depth), dtype="uint8")
        made = relay.nn.dense(data, _weights(columns, depth), out_dtype="int32")
        yield _peak_row(
            f"product {rows}x{depth}x{columns}", data, made, 2.0 * rows * depth * columns, peaks, rounds
        )
    for inputs, outputs, side, window in CONVOLUTIONS:
        data = relay.var("x", shape=(1, inputs // 16, side, side, 16), dtype="uint8")
        weight = _weights(outputs, inputs, window, window)
        made = _blocked(data, weight, "OIHW16o4i", window, channels=outputs, out_dtype="int32")
        work = 2.0 * inputs * outputs * window**2 * side**2
        name = f"conv {inputs} to {outputs}, {side}x{side}, {window}x{window}"
        yield _peak_row(name, data, made, work, peaks, rounds)
    for channels, side, stride in DEPTHWISE:
        yield _depthwise_row(channels, side, stride, rounds)


def _weights(*shape: int) -> Constant:
    return relay.const(np.random.default_rng(0).integers(-127, 128, shape).astype("int8"))


def _requantized(sums: Expr, scale: float = 1e-3) -> Expr:
    """``sums`` scaled and rounded to uint8, as between layers."""
    if tensor_type_of(sums).dtype != "float32":
        sums = relay.cast(sums, "float32")
    scaled = relay.multiply(sums, relay.const(np.float32(scale)))
    return relay.qnn.quantize(scaled, relay.const(np.float32(1)), relay.const(np.int32(3)), out_dtype="uint8")


def _blocked(data: Expr, weight: Expr, layout: str, window: int, **attrs: object) -> Expr:
    """A convolution with channels in blocks, as in the middle of a network."""
    depthwise = "1i" in layout
    name = f"nn.contrib_{'depthwise_' if depthwise else ''}conv2d_NCHWc"
    packed = relay.layout_transform(weight, src_layout="OIHW", dst_layout=layout)
    blocks = {"data_layout": "NCHW16c", "kernel_layout": layout, "out_layout": "NCHW16c"}
    own = {"padding": (window // 2,) * 4, "kernel_size": (window, window), **attrs}
    return make(name, data, packed, **blocks, **own)


def _compiled(data: Var, body: Expr) -> tuple[runtime.Library, np.ndarray]:
    """The compiled function of ``data``, and random data for it."""
    (type_, rng) = tensor_type_of(data), np.random.default_rng(1)
    shape = [extent for extent in type_.shape if isinstance(extent, int)]
    given = rng.integers(0, 256, shape).astype("uint8")
    if type_.dtype == "float32":
        given = rng.standard_normal(shape, "float32")
    return compile(Module.from_expr(relay.Function((data,), body))), given


def _peak_row(name: str, data: Var, sums: Expr, work: float, peaks: ModuleType, rounds: int) -> bool:
    """Compare a kernel that requantizes its sums with a loop that only runs ``vpdpbusd``."""
    lib, given = _compiled(data, _requantized(sums))
    rates, least = [], float("inf")
    for _ in range(rounds):
        rates.append(peaks.multiply_add("int8")())
        least = min(least, min(measure(lambda: lib(given), MEASUREMENT_SECONDS, CLOCKS["wall"])))
    share = work / least / max(rates)
    verdict = "" if share >= KERNEL_BAR else "  beyond its bar"
    print(f"{name:34} {least * 1e6:8.1f} {work / least / 1e9:6.0f}   {share:.2f}{verdict}", flush=True)
    return share >= KERNEL_BAR


def _of_kernel(lib: runtime.Library, given: np.ndarray, seconds: float) -> list[float]:
    """A measurement of only the kernel; a call from Python takes as long as a small kernel."""
    return list(lib.function.time(given, budget=seconds).runs)


def _depthwise_row(channels: int, side: int, stride: int, rounds: int) -> bool:
    """Compare a depthwise convolution of uint8, requantized, with the same in float32."""
    measurements: dict[str, Measurement] = {}
    for dtype in ("uint8", "float32"):
        weight = _weights(channels, 1, 3, 3)
        if dtype == "float32":
            weight = relay.const(weight.data.astype("float32"))
        data = relay.var("x", shape=(1, channels // 16, side, side, 16), dtype=dtype)
        made = _blocked(
            data, weight, "OIHW1i16o", 3, groups=channels, strides=(stride,) * 2, out_dtype="float32"
        )
        lib, given = _compiled(data, _requantized(made) if dtype == "uint8" else relay.nn.relu(made))
        measurements[dtype] = partial(_of_kernel, lib, given)
    times = {key: min(calls) for key, calls in interleave(measurements, rounds, MEASUREMENT_SECONDS).items()}
    ratio = times["float32"] / times["uint8"]
    verdict = "" if ratio >= DEPTHWISE_BAR else "  beyond its bar"
    name = f"depthwise {channels}, {side}x{side}, stride {stride}"
    print(f"{name:34} {times['uint8'] * 1e6:8.1f} {'':6}   {ratio:.2f} times{verdict}", flush=True)
    return ratio >= DEPTHWISE_BAR


if __name__ == "__main__":
    sys.exit(main())
