"""Time a model, alone or interleaved with onnxruntime; if the outputs differ, the status is 1."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import numpy as np

from tvmlite import runtime
from tvmlite.commands import common
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.model import example_inputs

NAME = "bench"
HELP = "time a model, also against onnxruntime"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser)
    common.thread_option(parser)
    common.records_option(parser)
    parser.add_argument(
        "--against", choices=["onnxruntime"], help="another runtime, timed interleaved with ours"
    )
    common.dims_option(parser)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each runtime (default: 10)")


def main(options: argparse.Namespace) -> int:
    """Carry the command out."""
    common.set_threads(options)
    if options.rounds < 1:
        raise InputError(f"--rounds is {options.rounds}, expected at least 1")
    right = True
    lib = common.compile_model(options)
    inputs = common.random_inputs(lib, options)
    runs: dict[str, Callable[[], object]] = {"tvmlite": lambda: lib.run(inputs)}
    if options.against:
        peer = onnxruntime_session(str(options.model), runtime.num_threads())
        feed = dict(zip((i.name for i in peer.get_inputs()), inputs.values(), strict=False))
        runs["onnxruntime"] = lambda: peer.run(None, feed)
        right = _compare(list(lib.run(inputs).values()), [np.asarray(one) for one in peer.run(None, feed)])
    times = common.interleaved(runs, options.rounds)
    load = os.getloadavg()[0]
    print(f"threads {runtime.num_threads()}, load {load:.2f}, medians of {options.rounds} interleaved rounds")
    for name, seconds in times.items():
        ratio = f"  {seconds / times['tvmlite']:.2f} times ours" if name != "tvmlite" else ""
        print(f"{name:12} {seconds * 1e3:9.3f} ms{ratio}")
    return 0 if right else 1


def onnxruntime_session(model: str | bytes, threads: int):
    """An onnxruntime session on the processor with ``threads`` threads."""
    try:
        import onnxruntime  # an optional extra: only comparisons need it
    except ImportError:
        raise UnsupportedError("onnxruntime is not installed", hint="pip install onnxruntime") from None
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def _compare(ours: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    """Whether all outputs agree; a line for each."""
    gaps = [example_inputs.relative_gap(a, b) for a, b in zip(ours, theirs, strict=True)]
    for index, gap in enumerate(gaps):
        selection = "" if gap <= example_inputs.TOLERANCE else ": WRONG"
        print(f"output {index}: largest difference {gap:.1e} of the largest value{selection}")
    return all(gap <= example_inputs.TOLERANCE for gap in gaps)
