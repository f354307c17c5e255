"""Compare standalone C, compiled by the machine's GCC, with the usual library, interleaved, on one thread.

    TVMLITE_NUM_THREADS=1 taskset -c 1 python benchmarks/standalone.py [NAMES] [--target TARGET]

A ratio is the library's time divided by that of the C code: above 1 the C code is faster. ``best`` is the
ratio of the minimum times, which is more reliable than medians on a machine that others use.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from networks import model

import tvmlite
from tvmlite import relay
from tvmlite.relay.onnx.light_models import light_input
from tvmlite.runtime.tensor import allocated

ROUNDS = 100
FLAGS = ("-std=c99", "-O3", "-march=native", "-shared", "-fPIC")


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["light_squeezenet"])
    parser.add_argument("--target", default="c -system=none -vector-bits=512")
    options = parser.parse_args()
    print(
        f"{'model':20} {'source':>8} {'C ms':>8} {'JIT ms':>8} {'median':>7} {'best':>6}   {options.target}"
    )
    for name in options.names:
        print(f"{name:20} {row(name, options.target)}", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def row(name: str, target: str) -> str:
    """The columns of the table for the model ``name``."""
    graph = model(name)
    module, inputs = relay.frontend.from_onnx(graph), list(light_input(graph).values())
    native = tvmlite.compile(module)
    with tempfile.TemporaryDirectory(prefix="tvmlite-standalone-") as folder:
        source = Path(folder) / "net.c"
        lib = tvmlite.compile(module, target, name="net")
        lib.export(source, weights="file")
        library = source.with_suffix(".so")
        subprocess.run(["gcc", *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
        function, length = ctypes.CDLL(str(library)).net, source.stat().st_size
        weights = np.fromfile(source.with_suffix(".bin"), np.uint8)
    own, arena = (allocated((n,), "uint8") for n in (weights.size, lib.signature.workspace or 64))
    own[:] = weights
    expected: Any = native(*inputs)
    made = np.zeros_like(expected)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*inputs, made, arena, own)]
    times: dict[str, list[float]] = {"c": [], "jit": []}
    for _ in range(ROUNDS):
        times["c"].append(timed(lambda: function(*pointers)))
        times["jit"].append(timed(lambda: native(*inputs)))
    assert np.abs(made - expected).max() <= 1e-4 * np.abs(expected).max()
    c, jit = (statistics.median(times[k]) for k in ("c", "jit"))
    best = min(times["jit"]) / min(times["c"])
    return f"{length:8,} {c * 1e3:8.2f} {jit * 1e3:8.2f} {jit / c:7.2f} {best:6.2f}"


def timed(call: Any) -> float:
    """The seconds of ``call``."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
