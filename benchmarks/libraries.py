"""Measure exported libraries: their size, how fast they load and run, and whether many threads can call one.

    python benchmarks/libraries.py
    python benchmarks/libraries.py --seconds 60 --callers 8 --levels

It prints four lines, each with its limit. First, the size of light_squeezenet's file without its weights (300
KB; ``--levels`` adds a line for the file with code for every CPU level). Second, the time to load ResNet-50's
file, 100 MB, which is in the page cache, in a process that has imported the runtime (20 ms, checksum
verified). Third, the speed of one run of it relative to the process that compiled it, interleaved (0.97).
Fourth, ``--callers`` threads call one loaded library for ``--seconds`` seconds, each with its own inputs: no
result may be wrong, and the memory must not grow after the first second.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from exported import Exported
from interleaved import CLOCKS, measure
from networks import model

import tvmlite
from tvmlite import runtime
from tvmlite.core.abi.signature import Signature
from tvmlite.machine.cpu_levels import LEVELS
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.frontend import from_onnx

SIZE_BAR, LOAD_BAR, SPEED_BAR = 300_000, 0.020, 0.97
LOAD = "import sys, time; from tvmlite import runtime; t = time.perf_counter(); runtime.load(sys.argv[1]); "
LOAD += "print(time.perf_counter() - t)"


def separate_weights(folder: Path) -> bool:
    """Measure the size of a small library without its weights."""
    path = folder / "squeezenet.so"
    lib = tvmlite.compile(from_onnx(model("light_squeezenet")))
    lib.export(path)
    besides = path.stat().st_size - lib.constants.size
    print(f"light_squeezenet.so: {besides / 1e3:.0f} KB besides {lib.constants.size / 1e6:.1f} MB of weights")
    return besides <= SIZE_BAR


def levels(folder: Path) -> bool:
    """Measure the size of the same library with code for all CPU levels, and of their shared weights."""
    path = folder / "levels.so"
    lib = tvmlite.compile(from_onnx(model("light_squeezenet")), cpu_levels=[one.name for one in LEVELS])
    lib.export(path)
    weights = Signature.from_json(runtime.read_metadata(path)["entry"]).constants
    apart = sum(one.constants.size for one in lib.levels)
    code = f"{(path.stat().st_size - weights) / 1e3:.0f} KB besides {weights / 1e6:.1f} MB of weights"
    print(f"of {len(lib.levels)} levels: {code}, which apart would be {apart / 1e6:.1f} MB")
    return weights <= apart


def loading(path: Path) -> bool:
    """Measure the time that a new process takes to load a library."""
    times = [
        float(subprocess.run([sys.executable, "-c", LOAD, str(path)], capture_output=True, check=True).stdout)
        for _ in range(9)
    ]
    print(
        f"{path.name}, {path.stat().st_size / 1e6:.0f} MB: loaded in {statistics.median(times) * 1e3:.1f} ms"
    )
    return statistics.median(times) <= LOAD_BAR


def speed(lib: CompiledModule, inputs: dict[str, np.ndarray], rounds: int) -> bool:
    """Compare runs of the exported library with runs in the process that compiled it."""
    ours: list[float] = []
    theirs: list[float] = []
    with Exported(lib, inputs, 1, "cpu") as other:
        for _ in range(rounds):
            ours.append(statistics.median(measure(lambda: lib.run(inputs), 0.3, CLOCKS["cpu"])))
            theirs.append(statistics.median(other.measure(0.3)))
    ratio = statistics.median(ours) / statistics.median(theirs)
    milliseconds = statistics.median(theirs) * 1e3
    print(f"exported: {milliseconds:.2f} ms a run, {ratio:.2f} of the speed where it was compiled")
    return ratio >= SPEED_BAR


def resident() -> int:
    """The resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def many_callers(path: Path, callers: int, seconds: float) -> bool:
    """Call one library from many threads at once."""
    lib = runtime.load(path)
    rng = np.random.default_rng(0)
    shape = lib.signature.of_kind("input")[0].shape
    inputs = [rng.standard_normal(shape).astype("float32") for _ in range(callers)]
    expected = [lib(x) for x in inputs]
    end, wrong, calls = time.monotonic() + seconds, [0] * callers, [0] * callers

    def call(number: int) -> None:
        while time.monotonic() < end:
            wrong[number] += not np.array_equal(lib(inputs[number]), expected[number])
            calls[number] += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for one in threads:
        one.start()
    time.sleep(min(1.0, seconds / 2))
    before = resident()
    for one in threads:
        one.join()
    grown = resident() - before
    what = f"{sum(calls):,} calls, {sum(wrong)} wrong, memory {grown / 1e6:+.1f} MB"
    print(f"{callers} threads, {seconds:.0f} s: {what}")
    return sum(wrong) == 0 and grown < 4e6


def main() -> int:
    """Print all lines; return 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--levels", action="store_true", help="also the size with all levels of processors")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="tvmlite-libraries-") as place:
        folder = Path(place)
        good = [separate_weights(folder)]
        good += [levels(folder)] if options.levels else []
        runtime.set_num_threads(1)
        lib = tvmlite.compile(from_onnx(model("resnet50")))
        inputs = {lib.input_names[0]: np.ones((1, 3, 224, 224), np.float32)}
        lib.export(folder / "resnet50.so")
        good += [loading(folder / "resnet50.so"), speed(lib, inputs, options.rounds)]
        good.append(many_callers(folder / "squeezenet.so", options.callers, options.seconds))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
