"""Quantize an ONNX model to 8 bits on calibration data, and compile it or write it as Relay text."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tvmlite import runtime
from tvmlite.commands import common
from tvmlite.commands.bench import show_times, signal_to_noise
from tvmlite.commands.parsing import files
from tvmlite.commands.peers.quantizer import MODES as PEER_MODES
from tvmlite.commands.peers.quantizer import quantized_by_onnxruntime
from tvmlite.commands.peers.runtimes import PEERS, Run
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError
from tvmlite.driver import CompiledModule
from tvmlite.model import export
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.passes.precision.to_mixed_precision import DTYPES
from tvmlite.relay.quantize.data import calibration_runs
from tvmlite.relay.quantize.modes.options import MODES
from tvmlite.relay.quantize.quantize import QuantizedModule, quantize
from tvmlite.relay.quantize.ranges import METHODS, PERCENTILE
from tvmlite.relay.quantize.report.page import page
from tvmlite.relay.quantize.select import METRICS

NAME = "quantize"
HELP = "quantize an ONNX model to 8 bits"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser)
    common.thread_option(parser)
    common.dims_option(parser)
    parser.add_argument(
        "--data", type=Path, help="typical inputs: an .npz of arrays by input name, or a folder of such"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="a library, model.so or model.c, or text, model.relay",
    )
    parser.add_argument(
        "--calibration",
        choices=METHODS,
        default="mse",
        help="how the range of a tensor is chosen (default: mse)",
    )
    parser.add_argument(
        "--percentile",
        type=float,
        default=PERCENTILE,
        help=f"of elements that a range includes (default: {PERCENTILE})",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="static",
        help="8 bits with ranges from the data (static) or from each run (dynamic), weights only, or "
        "operands of 16 bits (default: static)",
    )
    parser.add_argument(
        "--bits", type=int, default=8, help="bits of a weight with --mode weight_only: 4 or 8 (default: 8)"
    )
    parser.add_argument(
        "--group", type=int, default=32, help="weights per scale with --mode weight_only (default: 32)"
    )
    parser.add_argument(
        "--data-bits",
        type=int,
        default=0,
        help="bits of the data with --mode weight_only: 8, 16, or 0 for floats (default: 0)",
    )
    parser.add_argument(
        "--min-snr",
        type=float,
        metavar="DB",
        help="keep layers with a lower signal-to-noise ratio in float32",
    )
    parser.add_argument(
        "--max-drop",
        type=float,
        metavar="D",
        help="keep layers in float32 until the metric drops by at most this",
    )
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="cosine",
        help="how outputs are compared with float32's (default: cosine)",
    )
    parser.add_argument(
        "--smooth",
        type=float,
        metavar="S",
        help="move outliers of the data into weights (SmoothQuant), with a strength such as 0.5",
    )
    parser.add_argument(
        "--equalize", action="store_true", help="equalize the weights of consecutive convolutions"
    )
    parser.add_argument(
        "--bias-correction", action="store_true", help="subtract the mean error of rounding from each channel"
    )
    parser.add_argument("--attention", action="store_true", help="also quantize the products of attention")
    parser.add_argument(
        "--keep-float", metavar="LAYER", nargs="+", default=[], help="layers that stay in float32"
    )
    parser.add_argument(
        "--measure",
        action=argparse.BooleanOptionalAction,
        help="time layers, and keep those in float32 that are faster so (default: if the model runs here)",
    )
    parser.add_argument(
        "--records",
        type=Path,
        help="file of decisions, which is read and appended to, and of records of tvmlite tune",
    )
    parser.add_argument(
        "--against",
        choices=PEERS,
        nargs="+",
        default=[],
        help="compare with these runtimes, on the model as onnxruntime quantizes it with the same data",
    )
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each runtime (default: 10)")
    parser.add_argument("--report", type=Path, help="write the report: quantized.html, or .json")
    parser.add_argument(
        "--print-time", action="store_true", help="time a run before and after, on random inputs"
    )


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    as_text = options.output.suffix == ".relay"
    if as_text and options.mode in DTYPES:
        raise InputError(
            f"-o {options.output}: --mode {options.mode} is no part of a module's text",
            hint="give -o model.so, or compile --precision",
        )
    if not as_text:
        export.check_format(options.output)
    files.writable(options.output, "-o")
    files.writable(options.report, "--report")
    if options.data is None and options.mode == "static":
        raise InputError(
            "--data is missing: ranges are measured on typical inputs",
            hint="numpy.savez('calib.npz', NAME=array, ...) writes some dozen; or --mode dynamic",
        )
    if options.against and options.mode not in PEER_MODES:
        raise InputError(
            f"--against: onnxruntime's quantizer has no mode {options.mode}, only {' and '.join(PEER_MODES)}"
        )
    if options.rounds < 1:
        raise InputError(f"--rounds is {options.rounds}, expected at least 1")
    if options.records is not None and (options.measure is False or options.records.exists()):
        files.readable(options.records, "--records", files.HOW_RECORDS)
    files.writable(options.records, "--records")
    common.set_threads(options)
    module = common.import_model(options)
    made = _quantized(options, module)
    print(made)
    if as_text:
        options.output.write_text(made.module.astext(), encoding="utf-8")
    else:
        _compiled(options, made.module, made.compile_options).export(options.output)
    print(f"{options.output}: {common.describe(options.output)}")
    if options.report is not None:
        _report(options, made)
    if options.against:
        _beside_peers(options, module, made)
    return 0


def _beside_peers(options: argparse.Namespace, module: Module, made: QuantizedModule) -> None:
    """Print the times and the noise of our model and of the one that onnxruntime quantizes, in each
    runtime."""
    data = [] if options.data is None else calibration_runs(module, options.data)
    small = quantized_by_onnxruntime(options.model, data, options.mode)
    lib, exact = _compiled(options, made.module, made.compile_options), _compiled(options, module, {})
    inputs = dict(data[0]) if data else common.random_inputs(lib, options)
    given = [inputs[name] for name in lib.input_names]
    runs: dict[str, Run] = {
        "tvmlite": lambda: list(lib.run(inputs).values()),
        "tvmlite float32": lambda: list(exact.run(inputs).values()),
    }
    runs |= {name: PEERS[name](small, runtime.num_threads(), given) for name in options.against}
    print("quantized by tvmlite; for others by onnxruntime, on the same data; noise beside float32")
    for name, run in runs.items():
        if name != "tvmlite float32":
            print(
                f"{name}: outputs {signal_to_noise(runs['tvmlite float32'](), run()):.1f} dB signal to noise"
            )
    show_times({**runs}, options.rounds)


def _quantized(options: argparse.Namespace, module: Module) -> QuantizedModule:
    progress = common.Progress()
    made = quantize(
        module,
        options.data,
        calibration=options.calibration,
        percentile=options.percentile,
        mode=options.mode,
        bits=options.bits,
        group=options.group,
        data_bits=options.data_bits,
        max_drop=options.max_drop,
        metric=None if options.max_drop is None else options.metric,
        min_snr=options.min_snr,
        smooth=options.smooth,
        equalize=options.equalize,
        bias_correction=options.bias_correction,
        attention=options.attention,
        keep_float=options.keep_float,
        measure=options.measure,
        records=None if options.mode == "weight_only" else options.records,
        compile_options={
            "target": options.target,
            "opt_level": options.opt_level,
            "precision": options.precision,
            "error_bound": options.error_bound,
        },
        progress=progress,
    )
    progress.close()
    if options.records is not None and not options.records.exists():
        options.records = None  # nothing was decided
    if not options.print_time:
        return made
    seconds = _seconds(options, module, {}), _seconds(options, made.module, made.compile_options)
    return replace(made, report=made.report.with_latency(*seconds))


def _compiled(options: argparse.Namespace, module: Module, more: Mapping[str, Any]) -> CompiledModule:
    progress = common.Progress()
    lib = common.compile_module(options, module, progress, more)
    progress.close()
    return lib


def _seconds(options: argparse.Namespace, module: Module, more: Mapping[str, Any]) -> float:
    """The median time of a run on random inputs, the same for both modules."""
    lib = _compiled(options, module, more)
    inputs = common.random_inputs(lib, options)
    return float(lib.time(*(inputs[name] for name in lib.input_names)).median)


def _report(options: argparse.Namespace, made: QuantizedModule) -> None:
    if options.report.suffix == ".json":
        text = made.report.json()
    else:
        facts = {
            "date": time.strftime("%Y-%m-%d %H:%M %z"),
            "command": shlex.join(["tvmlite", *options.words]),
            "threads": str(runtime.num_threads()),
            "tvmlite": VERSION,
        }
        text = page(made.report, f"Quantization of {options.model.name}", facts)
    options.report.write_text(text, encoding="utf-8")
    print(f"{options.report}: the report")
