"""Measure compile time, cached compile time, peak memory, and latency interleaved with onnxruntime.

    python benchmarks/spine.py light_resnet50 light_squeezenet --threads 1 2

Each compilation runs in its own process: first cold, with an empty cache, then with the cache that the first
has filled. The exported library also runs in its own process; the last column is the ratio of its time to
that in the process that compiled it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from exported import Exported
from interleaved import CLOCKS, interleave, measure

from tvmlite import runtime
from tvmlite.commands.peers.runtimes import onnxruntime_session
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.onnx import light_models as zoo

CHILD = """
import json, re, sys, time
start = time.perf_counter()
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx
lib = compile(from_onnx(sys.argv[1]))
seconds = time.perf_counter() - start
# VmHWM is of this program alone; getrusage would begin with the process it was forked from.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(json.dumps([seconds, int(peak[1]) / 1e6]))
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "models", nargs="*", default=["light_resnet50"], help="graphs of the onnx package, or paths"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.2f}; processors: {len(os.sched_getaffinity(0))}")
    print(
        f"{'model':20} {'cold s':>7} {'cached s':>8} {'peak GB':>7}  "
        f"{'threads':>7} {'ours ms':>8} {'ort ms':>8} ratio "
        f"{'exported ms':>11} ratio"
    )
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            _model(name, Path(folder), options)
    print(f"load after: {os.getloadavg()[0]:.2f}")


def _model(name: str, folder: Path, options: argparse.Namespace) -> None:
    path = folder / "model.onnx"
    model = zoo.light_model(name)
    path.write_bytes(model.SerializeToString())
    environment = {**os.environ, "TVMLITE_CACHE": str(folder / "cache")}
    (cold, peak), (cached, _) = _compile(path, environment), _compile(path, environment)
    inputs = zoo.light_input(model)
    lib = compile(from_onnx(model))
    for threads in options.threads:
        runtime.set_num_threads(threads)
        session = onnxruntime_session(str(path), threads)
        ours, theirs = next(iter(lib.run(inputs).values())), session.run(None, inputs)[0]
        gap = np.abs(ours - theirs).max() / np.abs(theirs).max()
        assert gap <= 1e-4, f"{name}: differs from onnxruntime by {gap:.1e} of the largest value"
        runs = {"ours": lambda: lib.run(inputs), "ort": lambda s=session: s.run(None, inputs)}
        measurements = {key: partial(measure, run, clock=CLOCKS["wall"]) for key, run in runs.items()}
        with Exported(lib, inputs, threads) as loaded:
            calls = interleave(
                {**measurements, "exported": loaded.measure}, options.rounds, seconds=0.05, pause=0.2
            )
        times = {key: float(np.median(seconds)) for key, seconds in calls.items()}
        print(
            f"{name:20} {cold:7.1f} {cached:8.2f} {peak:7.2f}  {threads:7} {times['ours'] * 1e3:8.2f} "
            f"{times['ort'] * 1e3:8.2f} {times['ours'] / times['ort']:5.2f} "
            f"{times['exported'] * 1e3:11.2f} {times['exported'] / times['ours']:5.2f}",
            flush=True,
        )


def _compile(path: Path, environment: dict[str, str]) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


if __name__ == "__main__":
    main()
