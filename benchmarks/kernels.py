"""Compare kernels scheduled by hand with the peaks of the machine, measured in the same run on one core.

    python benchmarks/kernels.py                     # everything
    python benchmarks/kernels.py conv3x3 softmax     # some rows
    python benchmarks/kernels.py --quick

The result of every kernel is compared with numpy's before it is timed. The runs of a kernel and of the loop
that measures its peak are interleaved; for each, the median of the best group of runs is used. On one thread,
processor time is measured, so other processes have no influence, except that they evict data from the caches.
Tiles are chosen for the machine's vectors and registers. A row that needs instructions which the machine
lacks says so, and does not count as a failure.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads spin after a product
os.environ["TVMLITE_CACHE"] = "off"  # compilations are timed

import kernels.compilation
import kernels.convolution
import kernels.matmul
import kernels.narrow
import kernels.peers
import kernels.rows
import kernels.scaling
from kernels import clock, peaks
from kernels.case import Case, lines_of
from kernels.clock import QUICK, Effort
from kernels.machine import TARGET

Measure: TypeAlias = Callable[[Effort], tuple[float | None, str]]


@dataclass(frozen=True)
class Row:
    """One line of the table: ``measure`` returns a value and a text. The value must be at least ``bar`` (at
    most ``bar`` if ``is_minimum`` is false); it is None if the row cannot be measured on this processor."""

    title: str
    bar: float
    measure: Measure
    is_minimum: bool = True


def _schedule_length(case: Case) -> str:
    return f"schedule of {case.lines} lines"


def _unsupported(case: Case) -> str:
    return f"not on this processor: no {case.missing}"


def of_peak(make: Callable[[], Case], peak: Callable[[], Callable[[], float]]) -> Measure:
    """A measurement of a kernel's rate relative to a peak."""

    def measure(effort: Effort) -> tuple[float | None, str]:
        case = make()
        if case.missing:
            return None, _unsupported(case)
        share = clock.share_of_peak(case.prepare(case.build()), case.work, peak(), effort)
        rate = case.work / share.seconds / 1e9
        words = f"{share.seconds * 1e6:8.1f} us, {rate:6.1f} of {share.peak / 1e9:6.1f} G/s"
        return share.ratio, f"{words}; worst group {share.lowest:.2f}; {_schedule_length(case)}"

    return measure


def against_peers(make: Callable[[], Case], kernel: str) -> Measure:
    """A measurement of a kernel's speedup over the best of the peers."""

    def measure(effort: Effort) -> tuple[float, str]:
        case = make()
        calls = {"tvmlite": case.prepare(case.build()), **kernels.peers.calls(kernel, case.peer_inputs)}
        times = clock.interleaved(calls, effort, pause=clock.PAUSE)
        ours = times.pop("tvmlite")
        others = ", ".join(f"{name} {seconds * 1e6:.0f}" for name, seconds in times.items())
        return min(times.values()) / ours if times else float(
            "nan"
        ), f"{ours * 1e6:8.1f} us; {others}; {_schedule_length(case)}"

    return measure


def from_c(make: Callable[[], Case]) -> Measure:
    """A measurement of the speed of a kernel generated as C, relative to that of the LLVM generator."""

    def measure(effort: Effort) -> tuple[float | None, str]:
        case = make()
        if case.missing:
            return None, _unsupported(case)
        targets = ("native", f"c -vector-bits={TARGET.vector_bits}")
        calls = {target: case.prepare(case.build(target)) for target in targets}
        llvm, c = clock.interleaved(calls, effort).values()
        return llvm / c, f"C {c * 1e6:8.1f} us, LLVM {llvm * 1e6:8.1f} us; {_schedule_length(case)}"

    return measure


def of_data_movement(effort: Effort) -> tuple[float, str]:
    """The speed of a depthwise convolution relative to its limit: the time to read and write the same data,
    or that of its multiply-adds at the machine's peak, whichever is longer."""
    cases = {"depthwise": kernels.convolution.depthwise(), "doubled": kernels.convolution.doubled()}
    times = clock.interleaved({name: case.prepare(case.build()) for name, case in cases.items()}, effort)
    moved, ours = times["doubled"], times["depthwise"]
    multiplied = cases["depthwise"].work / peaks.multiply_add("float32")()
    words = f"{ours * 1e6:8.1f} us, doubled {moved * 1e6:.1f} us, multiply-adds {multiplied * 1e6:.1f} us"
    return max(moved, multiplied) / ours, words


def symbolic(effort: Effort) -> tuple[float, str]:
    """The speed of a product with symbolic sizes, relative to that of the same schedule with known sizes."""
    cases = {
        name: kernels.matmul.packing(1024, 1024, 1024, symbolic=name == "open") for name in ("open", "fixed")
    }
    times = clock.interleaved({name: case.prepare(case.build()) for name, case in cases.items()}, effort)
    fixed, open_ = times["fixed"], times["open"]
    return (
        fixed / open_,
        f"open {open_ * 1e3:.2f} ms, fixed {fixed * 1e3:.2f} ms; {_schedule_length(cases['open'])}",
    )


def tutorial(effort: Effort) -> tuple[float, str]:
    """The speedup of the last step of the tutorial on matrix products over its first."""
    path = Path(__file__).parents[1] / "tutorials" / "05_gemm.py"
    spec = importlib.util.spec_from_file_location("gemm", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["gemm"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    first, *_, last = module.STEPS
    one, other = module.run(512 if effort is QUICK else 1024, (first, last))
    lines = lines_of(module.STEPS[last], module.register_tile)
    words = f"{first} {one.seconds * 1e3:.0f} ms, {last} {other.seconds * 1e3:.2f} ms"
    return other.speedup, f"{words}; schedule of {lines} lines"


CASES: dict[str, tuple[str, float, str, Callable[[], Case]]] = {
    "matmul512": ("fp32 matmul 512, B packed", 0.90, "float32", lambda: kernels.matmul.packed(512)),
    "matmul1024": ("fp32 matmul 1024, B packed", 0.90, "float32", lambda: kernels.matmul.packed(1024)),
    "matmul_odd": (
        "fp32 matmul 511x513x1023, packing",
        0.75,
        "float32",
        lambda: kernels.matmul.packing(511, 513, 1023),
    ),
    "gemv": ("fp32 matmul 1x4096x4096, of read bandwidth", 0.90, "memory", kernels.matmul.one_row),
    "conv3x3": ("conv2d 3x3 56x56 64->64, bias, relu", 0.90, "float32", kernels.convolution.three_by_three),
    "int8_1024": ("int8 matmul 1024, requantised, of VNNI", 0.85, "int8", kernels.narrow.int8),
    "bf16_1024": ("bf16 matmul 1024, of the bf16 peak", 0.85, "bfloat16", kernels.narrow.bfloat16),
    "conv1x1": ("conv2d 1x1 14x14 1024->256", 0.85, "float32", kernels.convolution.one_by_one),
}

PEERS: dict[str, tuple[str, Callable[[], Case]]] = {
    "depthwise": ("depthwise 3x3 112x112x32, x of best peer", kernels.convolution.depthwise),
    "softmax": ("softmax 1024x1024, x of best peer", kernels.rows.softmax),
    "layernorm": ("layernorm 1024x1024, x of best peer", kernels.rows.layer_norm),
}


def _rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for name, (title, bar, peak, make) in CASES.items():
        rows[name] = Row(title, bar, of_peak(make, lambda peak=peak: _peak(peak)))
    for name, (title, make) in PEERS.items():
        rows[name] = Row(title, 1.0, against_peers(make, name))
    rows["moving"] = Row("depthwise 3x3 112x112x32, of moving or math", 0.85, of_data_movement)
    for name, make in [(n, c[3]) for n, c in CASES.items()] + [(n, p[1]) for n, p in PEERS.items()]:
        rows[f"c.{name}"] = Row(f"the same from C: {name}", 0.9, from_c(make))
    for name, make in kernels.scaling.CASES.items():
        rows[f"threads.{name}"] = Row(
            f"2 threads: {name}", 1.85, lambda e, make=make: kernels.scaling.measure(make, e)
        )
    rows["tutorial"] = Row("GEMM tutorial, first step to last", 200, tutorial)
    rows["compile"] = Row(
        "lowering and code generation, ms of CPU", 60, kernels.compilation.measure, is_minimum=False
    )
    rows["symbolic"] = Row("matmul 1024 with te.var sizes, x of fixed", 0.8, symbolic)
    return rows


def _peak(name: str) -> Callable[[], float]:
    return peaks.read(64) if name == "memory" else peaks.multiply_add(name)


def main() -> int:
    """Print the table; return 1 if a value misses its bar."""
    rows = _rows()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"rows: {', '.join(rows)}; a prefix does")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    options = parser.parse_args()
    effort = QUICK if options.quick else Effort()
    missed = 0
    for name, row in rows.items():
        if options.names and not any(name.startswith(one) for one in options.names):
            continue
        value, words = row.measure(effort)
        fine = value is None or (value >= row.bar if row.is_minimum else value <= row.bar)
        missed += not fine
        shown = "     -" if value is None else f"{value:6.2f}"
        verdict = "" if value is None else "ok" if fine else "MISSED"
        print(
            f"{name:15} {row.title:44} {shown} {'>=' if row.is_minimum else '<='} {row.bar:5.2f} {verdict:6} "
            f"{words}; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
