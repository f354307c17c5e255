"""What this machine has, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
from pathlib import Path

import numpy as np

from tvmlite import runtime, te
from tvmlite.commands.parsing import files, tvm_script
from tvmlite.core import VERSION, config
from tvmlite.core.extras import how_to_install
from tvmlite.driver import build
from tvmlite.machine.cores import processors
from tvmlite.machine.machine import Cache
from tvmlite.machine.target import Target
from tvmlite.runtime.library import link
from tvmlite.techniques.common import amx
from tvmlite.techniques.common.dot import quads_of
from tvmlite.techniques.common.quads import QUAD

NAME = "doctor"
HELP = "say what this machine has and what is missing"

EXTRAS = (
    ("onnx", "import ONNX models", "onnx"),
    ("xgboost", "tune with a learned cost model", "tune"),
    ("rich", "live tables while tuning", "tune"),
    ("torch", "compare with torch.compile", ""),
    ("onnxruntime", "compare with onnxruntime", "bench"),
    ("openvino", "compare with OpenVINO", "bench"),
    ("ziglang", "link for other machines and WebAssembly", "cross"),
)

DISTRIBUTIONS = {"xgboost": ("xgboost-cpu", "xgboost")}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--tvm",
        nargs="+",
        type=Path,
        metavar="SCRIPT",
        help="list the names of TVM that scripts use, and which of them tvmlite.tvm lacks",
    )


def main(options: argparse.Namespace) -> int:
    """Print a line for each item; the status is 1 if a kernel cannot be compiled and run, or if a script uses
    missing names."""
    if options.tvm is not None:
        return max(_of_script(path) for path in options.tvm)
    target = Target.parse("native")
    _line("tvmlite", VERSION)
    _line("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in ("numpy", "llvmlite", "cffi"):
        _line(name, importlib.metadata.version(name))
    _line("target", str(target))
    for name, text in machine_rows(target):
        _line(name, text)
    _line("threads", f"{config.num_threads() or processors()} (TVMLITE_NUM_THREADS sets them)")
    _line("cache", _cache())
    _line("linker", _linker())
    for name, use, extra in EXTRAS:
        version = next(filter(None, map(_version, DISTRIBUTIONS.get(name, (name,)))), None)
        how = how_to_install(extra) if extra else f"pip install {name}"
        _line(name, version or f"not installed: needed to {use} ({how})")
    works = _kernel_works()
    _line("a kernel", "compiled, run and right" if works else "gives a wrong answer: please report this")
    return 0 if works else 1


def _of_script(path: Path) -> int:
    """Print TVM's names that a script uses; 1 if some are missing."""
    found = tvm_script.uses(files.readable(path, "--tvm"))
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        lines = ", ".join(map(str, one.lines[:6])) + (", ..." if len(one.lines) > 6 else "")
        print(f"{one.name:<{width}}  {'missing' if one.missing else 'there  '}  line {lines}")
        if one.missing:
            print(f"{'':<{width}}           {one.missing}")
    missing = sum(bool(one.missing) for one in found)
    print(f"{path}: {len(found)} names of TVM, {missing} missing")
    return 1 if missing else 0


def machine_rows(target: Target) -> list[tuple[str, str]]:
    """Return what is known of the processor of ``target``, as names and texts."""
    machine = target.machine
    ports = (
        f"{machine.multiply_adds_per_cycle:g} multiply-adds ({machine.multiply_add_latency} cycles each), "
        f"{machine.additions_per_cycle:g} additions{' beside them' if machine.separate_additions else ''}, "
        f"{machine.loads_per_cycle:g} loads"
    )
    return [
        ("machine", f"{machine.name or target.cpu or 'unknown'} ({machine.source})"),
        ("cores", f"{machine.cores} (-num-cores in a target says how many another machine has)"),
        ("vectors", f"{machine.vector_registers} registers of {machine.vector_bits} bits"),
        ("in a cycle", ports),
        *((f"L{level} cache", _cache_text(one)) for level, one in enumerate(machine.caches, 1)),
        ("memory", _rate(machine.memory_bandwidth)),
        ("bytes", _bytes_text(target)),
        ("instructions", " ".join(sorted(target.instructions)) or "those of C"),
    ]


def _bytes_text(target: Target) -> str:
    """The instructions that multiply quantized numbers."""
    found = quads_of(target)
    if found is None:
        return "multiplied as floats"
    tiles = amx.KINDS[found.data]
    text = f"{found.name} adds {QUAD} products of {found.data} by int8 to each of {found.lanes} sums"
    return text + (", tiles have instructions of their own" if target.has(tiles.needs) else "")


def _cache_text(one: Cache) -> str:
    """The cache's size, which cores share it, and the bandwidth to one core."""
    size = f"{one.size >> 20} MB" if one.size >= 1 << 20 else f"{one.size >> 10} kB"
    shared = {0: "shared", 1: "of each core"}.get(one.shared_by, f"shared by {one.shared_by} cores")
    return f"{size if one.size else 'size not known'}, {shared}, {_rate(one.bandwidth)}"


def _rate(bandwidth: float) -> str:
    return f"{bandwidth / 1e9:.0f} GB/s to one core" if bandwidth else "bandwidth not measured"


def _line(name: str, text: str) -> None:
    print(f"{name:12} {text}")


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cache() -> str:
    directory = config.cache_dir()
    if directory is None:
        return "off"
    existing = next(p for p in (directory, *directory.parents) if p.exists())
    return f"{directory}" if os.access(existing, os.W_OK) else f"{directory} cannot be written"


def _linker() -> str:
    commands = link.linkers()
    if not commands:
        return f"none: exporting a library needs one ({link.HINT})"
    return " ".join(commands[0])


def _kernel_works() -> bool:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: te.exp(a[i]) + 1, name="b")
    schedule = te.create_schedule(b.op)
    kernel = build(schedule, [a, b], name="doctor")
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    y = runtime.empty((1000,), "float32").numpy()
    kernel(x, y)
    return bool(np.allclose(y, np.exp(x) + 1, rtol=1e-5))
