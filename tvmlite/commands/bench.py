"""Time a model, alone or interleaved with other runtimes; if the outputs differ, the status is 1."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tvmlite import runtime
from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.commands.peers.runtimes import PEERS
from tvmlite.core.errors import InputError
from tvmlite.model import example_inputs
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.quantize.prepare import is_quantized

NAME = "bench"
HELP = "time a model, also against onnxruntime and openvino"

ROUNDING = 0.1
"""The largest ``relative_gap`` of outputs of one quantized model: runtimes that sum in another order round
some values to the next step."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser, "an ONNX file, or a library (.so, .tar)")
    common.thread_option(parser)
    common.records_option(parser)
    parser.add_argument(
        "--against", choices=PEERS, nargs="+", default=[], help="other runtimes, timed interleaved with ours"
    )
    parser.add_argument(
        "--quantized-peer",
        type=Path,
        metavar="FILE",
        help="the ONNX file that these run, quantized by another quantizer (default: the model itself)",
    )
    common.dims_option(parser)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each runtime (default: 10)")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    common.set_threads(options)
    if options.rounds < 1:
        raise InputError(f"--rounds is {options.rounds}, expected at least 1")
    model = _model_of_peers(options)
    quantized: list[bool] = []

    def check(module: Module) -> None:
        quantized.append(is_quantized(module))

    loads = common.is_library(options.model)
    lib = runtime.load(options.model) if loads else common.compile_model(options, check)
    inputs = common.random_inputs(lib, options)
    runs: dict[str, Callable[[], object]] = {"tvmlite": lambda: lib.run(inputs)}
    runs |= {
        name: PEERS[name](str(model), runtime.num_threads(), [*inputs.values()]) for name in options.against
    }
    right = True
    for name in options.against:
        ours, theirs = list(lib.run(inputs).values()), list(map(np.asarray, runs[name]()))  # type: ignore[call-overload]
        if options.quantized_peer is not None:
            print(
                f"{name}: its outputs are {signal_to_noise(ours, theirs):.1f} dB signal to noise beside ours"
            )
        else:
            right &= _compare(name, ours, theirs, any(quantized))
    show_times(runs, options.rounds)
    return 0 if right else 1


def _model_of_peers(options: argparse.Namespace) -> Path:
    """The file that other runtimes run."""
    if options.quantized_peer is None:
        if options.against and common.is_library(options.model):
            raise InputError(
                f"--against: other runtimes cannot run the library {options.model}",
                hint="--quantized-peer FILE is the ONNX file that they run",
            )
        return options.model
    if not options.against:
        raise InputError("--quantized-peer is given without --against, which names the runtimes that run it")
    return files.readable(options.quantized_peer, "--quantized-peer")


def show_times(runs: dict[str, Callable[[], object]], rounds: int) -> None:
    """Time ``runs``, one of which is "tvmlite", interleaved, and print a line for each."""
    times = common.interleaved(runs, rounds)
    load = os.getloadavg()[0]
    print(f"threads {runtime.num_threads()}, load {load:.2f}, medians of {rounds} interleaved rounds")
    width = max(12, *map(len, times))
    for name, seconds in times.items():
        ratio = f"  {seconds / times['tvmlite']:.2f} times ours" if name != "tvmlite" else ""
        print(f"{name:{width}} {seconds * 1e3:9.3f} ms{ratio}")


def signal_to_noise(exact: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> float:
    """Return the signal-to-noise ratio of float outputs in dB; minus infinity if their shapes differ."""
    signal = noise = 0.0
    for one, two in zip(exact, other, strict=True):
        if one.shape != two.shape:
            return -math.inf
        if one.dtype.kind == "f":
            signal += float(np.sum(np.square(one, dtype=np.float64)))
            noise += float(np.sum(np.square(one.astype(np.float64) - two)))
    return 10 * math.log10(signal / noise) if signal and noise else math.inf


def _compare(peer: str, ours: list[np.ndarray], theirs: list[np.ndarray], is_rounded: bool) -> bool:
    """Whether all outputs agree; prints a line for each."""
    limit = ROUNDING if is_rounded else example_inputs.TOLERANCE
    gaps = [example_inputs.relative_gap(a, b) for a, b in zip(ours, theirs, strict=True)]
    for index, gap in enumerate(gaps):
        verdict = (
            ": WRONG" if gap > limit else " (steps of rounding)" if gap > example_inputs.TOLERANCE else ""
        )
        print(f"{peer}: output {index}: largest difference {gap:.1e} of the largest value{verdict}")
    return all(gap <= limit for gap in gaps)
