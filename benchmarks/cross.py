"""Compile models for other machines, run them under emulation, and compare with onnxruntime.

    python benchmarks/cross.py [--model resnet18] [--machine aarch64] ...

Without options ResNet-18 runs in a C program for AArch64 under qemu-user, and MobileNetV2 in WebAssembly with
vectors of 128 bits in wasmtime. A row gives the difference from onnxruntime's result, relative to its largest
value; the exit status is 1 if it exceeds 1e-4 anywhere. Times under emulation would be meaningless. It needs
the packages ziglang and wasmtime, and qemu-user-static.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from models import inputs_of
from networks import model as network
from runtimes import onnxruntime_runs

import tvmlite
from tvmlite.model.artifact import CompiledModule
from tvmlite.model.example_inputs import TOLERANCE, relative_gap
from tvmlite.relay.frontend import from_onnx

TRIPLE = "aarch64-linux-musl"
MAIN = """
#include <stdio.h>
#include "net.h"
static float x[{taken}], y[{made}];
static _Alignas(64) char workspace[{workspace}];
int main(void) {{
    FILE *file = fopen("x.bin", "rb");
    if (file == NULL || fread(x, sizeof *x, {taken}, file) != {taken}) return 1;
    if (net(x, y, workspace, 1, 0) != 0) return 2;
    return fwrite(y, sizeof *y, {made}, stdout) != {made};
}}
"""


def by_qemu(lib: CompiledModule, x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Run ``lib`` on ``x`` in a C program for AArch64; the result is an array like ``like``."""
    with tempfile.TemporaryDirectory(prefix="tvmlite-cross-") as place:
        folder = Path(place)
        lib.export(folder / "net.a")
        lib.export(folder / "net.h")
        text = MAIN.format(taken=x.size, made=like.size, workspace=lib.signature.workspace or 1)
        (folder / "main.c").write_text(text)
        x.tofile(folder / "x.bin")
        build = [sys.executable, "-m", "ziglang", "cc", "-target", TRIPLE, "-O1", "-static"]
        subprocess.run([*build, "main.c", "net.a", "-lm", "-o", "main"], cwd=folder, check=True)
        run = ["qemu-aarch64-static", "./main"]
        done = subprocess.run(run, cwd=folder, stdout=subprocess.PIPE, check=True)
        return np.frombuffer(done.stdout, np.float32).reshape(like.shape)


def by_wasmtime(lib: CompiledModule, x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Run ``lib`` on ``x`` as WebAssembly; the result is an array like ``like``."""
    import wasmtime  # an optional extra

    store = wasmtime.Store()
    with tempfile.TemporaryDirectory(prefix="tvmlite-cross-") as place:
        lib.export(Path(place) / "net.wasm")
        module = wasmtime.Module.from_file(store.engine, str(Path(place) / "net.wasm"))
    exports: Any = wasmtime.Instance(store, module, []).exports(store)
    memory, begin = exports["memory"], exports["__heap_base"].value(store)
    places = []
    for size in (x.nbytes, like.nbytes, lib.signature.workspace or 0):
        places.append((begin + 63) // 64 * 64)
        begin = places[-1] + size
    memory.grow(store, -(-begin // 65536))
    memory.write(store, x.tobytes(), places[0])
    code = exports["net"](store, *places, 1, 0)
    assert code == 0, f"the model returned {code}"
    return np.frombuffer(memory.read(store, places[1], places[2]), np.float32, like.size).reshape(like.shape)


MACHINES = {"aarch64": (f"llvm -mtriple={TRIPLE}", by_qemu), "wasm": ("wasm", by_wasmtime)}
"""For each machine the target, and the function that runs a model compiled for it."""


def main() -> int:
    """Print a row for each model and machine; return 1 if a result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="one of models.py with one input and one output, of floats")
    parser.add_argument("--machine", choices=MACHINES)
    options = parser.parse_args()
    rows = [("resnet18", "aarch64"), ("mobilenet_v2", "wasm")]
    if options.model or options.machine:
        rows = [(options.model or name, options.machine or machine) for name, machine in rows]
    gaps = [row(*one) for one in dict.fromkeys(rows)]
    return int(not max(gaps) <= TOLERANCE)


def row(name: str, machine: str) -> float:
    """Run one model on one machine; print and return the difference from onnxruntime's result."""
    model, (target, run) = network(name), MACHINES[machine]
    inputs = inputs_of(model)
    (expected,) = onnxruntime_runs(model.SerializeToString(), 1)(inputs)()
    (x,) = inputs.values()
    gap = relative_gap(
        run(tvmlite.compile(from_onnx(model), target=target, name="net"), x, expected), expected
    )
    print(f"{name:14} {machine:8} {expected.size:5} numbers, off by {gap:.1e}", flush=True)
    return gap


if __name__ == "__main__":
    sys.exit(main())
