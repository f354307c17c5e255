"""Compare the latency of whole models, untuned, with ONNX Runtime and OpenVINO (float32), in interleaved
runs.

    python benchmarks/models.py resnet50 mobilenet_v2 bert_base --threads 1 --rounds 10
    python benchmarks/models.py resnet18 --error-bound 1e-4          with Winograd's convolutions
    python benchmarks/models.py resnet18 --torch                     beside torch.compile, too
    python benchmarks/models.py resnet50 --precision bfloat16        against OpenVINO as it comes
    python benchmarks/models.py --list

A row gives milliseconds, the median and the minimum of all rounds, and the ratio of tvmlite's time to that of
the best peer. The limits are a ratio of 1.3 for the three models above, and of 2 for every other. The column
"exported" is for the exported library in a process that only loads it; the ratio next to it, to the process
that compiled it, has a limit of 1.05. The load is printed with each row: times of a busy machine are not
reliable, though the minimum of many rounds is close to the true time.

In 16 bits (``--precision``) the peer is OpenVINO in the precision that it chooses by default. The results of
both are compared with ONNX Runtime's in float32: the largest difference, relative to the largest value, and
the number of rows whose largest value (a classifier's answer) is at the same position. The limit is a ratio
of 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import exported
import networks
import numpy as np
import onnx
from exported import Exported
from interleaved import CLOCKS, interleave, measure
from runtimes import Run, peers

from tvmlite import runtime
from tvmlite.driver import compile
from tvmlite.model.artifact import CompiledModule
from tvmlite.model.example_inputs import TOLERANCE, relative_gap
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.passes.precision.to_mixed_precision import DTYPES

BARS = {"resnet50": 1.3, "mobilenet_v2": 1.3, "bert_base": 1.3}
OTHER_BAR = 2.0
"""The limit of tvmlite's latency relative to the best peer's."""

MIXED_BAR = 1.0
"""The same limit in 16 bits."""

MIXED_TOLERANCE = 0.1
"""The largest ``relative_gap`` of a correct result in 16 bits."""

PAUSE = 0.2
"""Seconds between runtimes: the threads of some spin after a run."""

MEASUREMENT_SECONDS = 0.1
"""The least duration of a measurement, in seconds."""


@dataclass
class Times:
    """The seconds of every call of one runtime."""

    seconds: list[float]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def least(self) -> float:
        return min(self.seconds)

    def __str__(self) -> str:
        return f"{self.median * 1e3:8.3f}|{self.least * 1e3:8.3f}"


def main() -> int:
    """Print the table; return 1 if a model is wrong or exceeds its limit."""
    options = _options()
    if options.list:
        print("\n".join(networks.names()))
        return 0
    if len(options.threads) > 1:
        return _one_after_another(options.threads)
    (threads,) = options.threads
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    print(
        f"opt level {options.opt_level}, clock {options.clock}, {options.rounds} rounds; median | least, ms"
    )
    names = "  ".join(f"{name:>17}" for name in _columns(options))
    print(f"{'model':20} threads  {names}   ratio      {'exported':>17}   ratio        load")
    failed = False
    for name in options.models or networks.names():
        failed |= not _row(name, networks.model(name), threads, options)
    return int(failed)


def _one_after_another(counts: Sequence[int]) -> int:
    """Print the table for each number of threads in its own process: OpenVINO keeps the first number it gets.
    The ``--threads`` that is appended overrides the earlier one."""
    command = [sys.executable, *sys.argv]
    codes = [subprocess.run([*command, "--threads", str(count)]).returncode for count in counts]
    return int(any(codes))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", choices=[*networks.names(), []], help="default: all of them")
    parser.add_argument("--list", action="store_true", help="print the models' names")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of interleaved runs (default: 10)")
    parser.add_argument("--opt-level", type=int, choices=range(4), default=3, help="0 to 3 (default: 3)")
    parser.add_argument("--error-bound", type=float, default=0.0, help="see tvmlite.compile (default: 0)")
    parser.add_argument(
        "--precision", choices=("float32", *DTYPES), default="float32", help="see tvmlite.compile"
    )
    parser.add_argument("--torch", action="store_true", help="torch.compile is a peer, too (in float32)")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu: this process's own, for a busy machine",
    )
    return parser.parse_args()


def _row(name: str, model: onnx.ModelProto, threads: int, options: argparse.Namespace) -> bool:
    """Measure one model and print its row; return whether it is correct and within its limit."""
    inputs = inputs_of(model)
    lib = _compiled(model, options)
    runs = _runs(lib, model, inputs, threads, options)
    answers = {key: [np.array(one) for one in run()] for key, run in runs.items()}
    with Exported(lib, inputs, threads, options.clock) as loaded:
        clock = CLOCKS[options.clock]
        measurements = {key: partial(measure, run, clock=clock) for key, run in runs.items()}
        seconds = interleave(
            {**measurements, "exported": loaded.measure}, options.rounds, MEASUREMENT_SECONDS, PAUSE
        )
    times = {key: Times(calls) for key, calls in seconds.items()}
    mixed = options.precision != "float32"
    bar, tolerance = (MIXED_BAR, MIXED_TOLERANCE) if mixed else (BARS.get(name, OTHER_BAR), TOLERANCE)
    others = ["openvino"] if mixed and "openvino" in times else _columns(options)[1:]
    peers = [times[key] for key in others if key in times]
    ours = times["tvmlite"]
    middle = ours.median / min(peer.median for peer in peers)
    least = ours.least / min(peer.least for peer in peers)
    cells = "  ".join(str(times.get(key, f"{'-':>17}")) for key in _columns(options))
    exported_ratios = times["exported"].median / ours.median, times["exported"].least / ours.least
    gap = _gap(answers["tvmlite"], answers["onnxruntime"])
    right = gap <= tolerance
    verdict = "" if right else f"  WRONG by {gap:.1e}"
    verdict += "" if middle <= bar else f"  over {bar}"
    verdict += "" if min(exported_ratios) <= exported.BAR else f"  exported over {exported.BAR}"
    print(
        f"{name:20} {threads:7}  {cells}   {middle:4.2f}|{least:4.2f}  {times['exported']}   "
        f"{exported_ratios[0]:4.2f}|{exported_ratios[1]:4.2f}  {os.getloadavg()[0]:6.2f}{verdict}",
        flush=True,
    )
    if mixed:
        for key in (key for key in answers if key != "onnxruntime"):
            print(f"    {key:12} {_accuracy(answers[key], answers['onnxruntime'])}", flush=True)
    return right and middle <= bar and min(exported_ratios) <= exported.BAR


def _columns(options: argparse.Namespace) -> list[str]:
    return ["tvmlite", "onnxruntime", "openvino", *(["torch"] if options.torch else [])]


def _gap(ours: list[np.ndarray], theirs: list[np.ndarray]) -> float:
    return max(relative_gap(a, b) for a, b in zip(ours, theirs, strict=True))


def _accuracy(made: list[np.ndarray], exact: list[np.ndarray]) -> str:
    """The error of ``made``, and the number of rows whose largest value is where it is in ``exact``."""
    agreeing = [
        a.argmax(-1) == b.argmax(-1) for a, b in zip(made, exact, strict=True) if b.ndim and b.shape[-1] > 1
    ]
    rows = sum(one.size for one in agreeing)
    same = sum(int(one.sum()) for one in agreeing)
    return f"off by {_gap(made, exact):.1e} of the largest value; greatest of a row the same in {same}/{rows}"


def inputs_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Seeded inputs: normal floats, ids, and masks of ones."""
    rng = np.random.default_rng(0)
    initializers = {one.name for one in model.graph.initializer}
    made: dict[str, np.ndarray] = {}
    for one in model.graph.input:
        if one.name in initializers:
            continue
        shape = [extent.dim_value for extent in one.type.tensor_type.shape.dim]
        if one.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            made[one.name] = rng.standard_normal(shape, np.float32)
        else:
            low = 1 if "mask" in one.name else 0
            made[one.name] = rng.integers(low, 2 if low else 1000, shape)
    return made


def _compiled(model: onnx.ModelProto, options: argparse.Namespace) -> CompiledModule:
    return compile(
        from_onnx(model),
        opt_level=options.opt_level,
        error_bound=options.error_bound,
        precision=options.precision,
    )


def _runs(
    lib: CompiledModule,
    model: onnx.ModelProto,
    inputs: Mapping[str, np.ndarray],
    threads: int,
    options: argparse.Namespace,
) -> dict[str, Run]:
    """One run of ``model`` in each runtime that is installed, tvmlite first."""
    runtime.set_num_threads(threads)
    ours: dict[str, Run] = {"tvmlite": lambda: list(lib.run(inputs).values())}
    exact = options.precision == "float32"
    return ours | peers(model, inputs, threads, exact, with_torch=options.torch and exact)


if __name__ == "__main__":
    sys.exit(main())
