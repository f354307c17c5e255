"""Call an exported library from many threads in C: check its results, its memory, and the reports of analysis
tools.

    python benchmarks/library_threads.py
    python benchmarks/library_threads.py --seconds 60 --callers 8

The program ``library_threads.c`` calls a library of three dense layers from ``--callers`` threads at once for
``--seconds`` seconds, and compares each result with that thread's first. It calls the plain function and the
one for DLPack's arrays. It runs in three ways: normally; compiled by Clang with ThreadSanitizer, including
the thread pool, the interface and the kernels (with the target ``c``); and, for at most ten seconds, in
Valgrind's memcheck. Finally, one thread runs a library 10,000 times in Python. The exit status is 1 if a
result is wrong, a tool reports an error, or the memory has grown by more than 4 MB.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tvmlite
from tvmlite import relay, runtime
from tvmlite.model.artifact import CompiledModule
from tvmlite.runtime.library import interface
from tvmlite.runtime.pool import pool

ROWS, COLUMNS, HIDDEN, OUTPUTS = 96, 64, 128, 32
DRIVER = Path(__file__).with_suffix(".c")
MOST_GROWTH = 4 << 10
"""The most kB by which a process may grow once all threads have started."""

RUNS = 10_000


def network(target: str) -> CompiledModule:
    """Three dense layers and a softmax, whose loops are large enough for several threads."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(ROWS, COLUMNS), dtype="float32")
    made: relay.Expr = x
    for shape in ((HIDDEN, COLUMNS), (HIDDEN, HIDDEN), (OUTPUTS, HIDDEN)):
        weight = relay.const((rng.standard_normal(shape) / 8).astype("float32"))
        made = relay.nn.relu(relay.nn.dense(made, weight))
    return tvmlite.compile(relay.Function((x,), relay.nn.softmax(made)), target=target, name="net")


def build_driver(folder: Path, options: list[str], sources: list[str], name: str) -> Path:
    """Compile the driver together with ``sources``."""
    command = ["clang", "-O1", "-gdwarf-4", *options, str(DRIVER), *sources, "-lm", "-lpthread", "-o", name]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


def run_driver(label: str, command: list[str], options: argparse.Namespace, seconds: float, way: str) -> bool:
    """Run the driver and print the errors that it found; return whether there are none."""
    sizes = [ROWS, COLUMNS, OUTPUTS]
    words = [*command, str(options.callers), str(seconds), *map(str, sizes), way]
    environment = os.environ | {"TVMLITE_NUM_THREADS": str(options.threads)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    found = re.search(r"^(\d+) (\d+) (-?\d+)$", done.stdout, re.MULTILINE)
    reports = done.stderr.count("WARNING: ThreadSanitizer")
    errors = re.search(r"ERROR SUMMARY: (\d+) errors", done.stderr)
    reports += int(errors[1]) if errors else 0
    if found is None:
        print(f"{label}, {way}: ended with {done.returncode}: {done.stderr[-2000:]}")
        return False
    calls, wrong, grown = map(int, found.groups())
    tools = f", {reports} reports" if options.tool else ""
    print(f"{label}, {way}: {calls:,} calls, {wrong} wrong, memory {grown / 1e3:+.1f} MB{tools}", flush=True)
    if reports:
        print(done.stderr[:4000])
    return done.returncode == 0 and not wrong and not reports and (bool(options.tool) or grown < MOST_GROWTH)


def many_runs(path: Path) -> bool:
    """Check the growth of memory over many runs from Python, after the first thousand."""
    lib, x = runtime.load(path), np.ones((ROWS, COLUMNS), np.float32)
    for _ in range(1000):
        lib(x)
    before = resident()
    for _ in range(RUNS):
        lib(x)
    grown = resident() - before
    print(f"{RUNS:,} runs from Python: memory {grown / 1e3:+.1f} MB")
    return grown < MOST_GROWTH


def resident() -> int:
    """The resident memory of this process, in kB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def main() -> int:
    """Print a line for each run; return 1 if any error was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--threads", type=int, default=4, help="of each loop (default: 4)")
    options = parser.parse_args()
    options.tool = ""
    good = []
    with tempfile.TemporaryDirectory(prefix="tvmlite-threads-") as place:
        folder = Path(place)
        lib = network("native")
        for ending in (".so", ".a", ".h"):
            lib.export(folder / f"net{ending}")
        include = [f"-I{folder}"]
        unmodified = build_driver(folder, include, ["net.so", "-Wl,-rpath,$ORIGIN"], "driver")
        ways = ("plain", "interface")
        good += [run_driver("as it is", [str(unmodified)], options, options.seconds, way) for way in ways]
        options.tool = "sanitizer"
        (folder / "pool.c").write_text(pool.source())
        texts = ["pool.c", str(interface.TEXT.path), "net.a"]
        checked = build_driver(folder, [*include, "-fsanitize=thread"], texts, "checked")
        good += [run_driver("ThreadSanitizer", [str(checked)], options, options.seconds, way) for way in ways]
        own = folder / "c"
        own.mkdir()
        network("c").export(own / "net.c")
        sources = ["net.c", "net_constants.c", "tvmlite_pool.c"]
        flags = [f"-I{own}", "-fsanitize=thread", "-DPLAIN", "-march=native"]
        checked = build_driver(own, flags, sources, "checked")
        good.append(run_driver("ThreadSanitizer, C", [str(checked)], options, options.seconds, "plain"))
        if shutil.which("valgrind"):
            baseline = network("llvm -mcpu=x86-64-v3")  # Valgrind has no AVX-512
            for ending in (".so", ".h"):
                baseline.export(folder / f"net{ending}")
            # the memory of the pool's threads, which are alive at the end, is "possibly lost"
            leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]
            command = ["valgrind", "--fair-sched=yes", *leaks, str(unmodified)]
            good += [run_driver("Valgrind", command, options, min(options.seconds, 10), way) for way in ways]
        lib.export(folder / "again.so")
        good.append(many_runs(folder / "again.so"))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
