"""Memory that models take on a microcontroller: arena, weights, code, and the length of their source.

    python benchmarks/microcontrollers.py [NAMES] [--target TARGET] [--compiler COMPILER]

Each model is compiled in float32 and, quantized on random data, in 8 bits. Code is what the compiler makes
with -Os, without weights.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from networks.tiny import TINY

import tvmlite
from tvmlite import relay
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Module

CALIBRATION = 8
"""Random inputs that a model is quantized on."""


def main() -> None:
    """Print a row for each model and type of numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(TINY), help=f"of {', '.join(TINY)}")
    parser.add_argument("--target", default="c -mcpu=cortex-m4")
    parser.add_argument("--compiler", default="arm-none-eabi-gcc")
    options = parser.parse_args()
    compiler = [options.compiler, "-std=c99", "-Os", "-ffunction-sections"]
    if options.compiler.startswith("arm-none-eabi"):
        compiler += ["-mthumb", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
    if shutil.which(options.compiler) is None:
        parser.error(f"there is no {options.compiler}")
    print(f"{'model':24} {'arena':>9} {'weights':>9} {'code':>8} {'source':>8}   bytes; {options.target}")
    for name in options.names:
        module = relay.frontend.from_onnx(TINY[name]())
        for label, one in ((name, module), (f"{name} int8", quantized(module))):
            lib = tvmlite.compile(one, options.target, name="net")
            print(f"{label:24} {' '.join(sizes(lib, compiler))}", flush=True)


def quantized(module: Module) -> Module:
    """``module`` in 8 bits."""
    draw = np.random.default_rng(0)
    data = [
        {p.name: draw.standard_normal(p.type.shape).astype("float32") for p in module.main.params}  # type: ignore[union-attr]
        for _ in range(CALIBRATION)
    ]
    return relay.quantize(module, data, measure=False).module  # what is faster here says nothing of there


def sizes(lib: CompiledModule, compiler: list[str]) -> list[str]:
    """The columns of a row."""
    with tempfile.TemporaryDirectory(prefix="tvmlite-tiny-") as folder:
        source, made = Path(folder) / "net.c", Path(folder) / "net.o"
        lib.export(source, weights="file")
        subprocess.run([*compiler, "-c", str(source), "-o", str(made)], check=True)
        listed = subprocess.run(["size", str(made)], check=True, capture_output=True, text=True).stdout
        code = listed.splitlines()[1].split()[0]
        arena = lib.signature.workspace or 0
        return [f"{arena:9,}", f"{lib.constants.size:9,}", f"{int(code):8,}", f"{source.stat().st_size:8,}"]


if __name__ == "__main__":
    main()
