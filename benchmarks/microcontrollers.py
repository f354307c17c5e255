"""Measure the memory of models on a microcontroller, and the number of instructions of a run.

    python benchmarks/microcontrollers.py [NAMES] [--cpu cortex-m4] [--levels=-Os,-O2] [--sizes-only]

Each model is compiled in float32 and, quantized on random data, in 8 bits. The code size is that of the
compiled source without its weights. The instructions of one run are counted by an emulator (``bare_metal``),
for the target with the processor's ``-mcpu`` and, in the column "loops", for the same target without the
technique that uses special instructions to multiply bytes. With ``--published``, published numbers of others
for the same networks are printed with their source.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bare_metal
import numpy as np
from networks.tiny import TINY

import tvmlite
from tvmlite import relay
from tvmlite.core import techniques
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Module
from tvmlite.te.templates import table

CALIBRATION = 8
"""The number of random inputs with which a model is quantized."""

TECHNIQUE = "acle_products"
"""The technique that multiplies bytes by C functions; without it they are multiplied in plain loops."""

PUBLISHED = """Published by others, for networks of MLPerf Tiny (Banbury et al. 2021):
- weights, TensorFlow Lite, int8: keyword spotter 53 KB, ResNet-8 96 KB, autoencoder 270 KB
  (Linley Newsletter of August 3, 2021, "MLPerf Gets Tiny");
- keyword spotter on a Cortex-M4 (Nano 33 BLE), flash of the whole program: microTVM (AoT) 125,544 bytes,
  microTVM (graph executor) 148,152, TensorFlow Lite Micro 151,480
  (github.com/guberti/tvm-arduino-profiling, README);
- keyword spotter, int8, arena of TensorFlow Lite Micro: 23,412 bytes, of them 16,008 for tensors
  (a log of its RecordingMicroAllocator on an STM32H745, notes on the benchmark's network, read 2026);
- arenas of TensorFlow Lite Micro and microTVM for ResNet-8 and the autoencoder: not found."""


def main() -> None:
    """Print a row for each model and data type."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(TINY), help=f"of {', '.join(TINY)}")
    parser.add_argument("--cpu", default="cortex-m4", choices=bare_metal.BOARDS)
    parser.add_argument("--levels", default="-Os,-O2", help="of optimization, with commas between")
    parser.add_argument("--sizes-only", action="store_true", help="run nothing")
    parser.add_argument("--published", action="store_true", help="print what others have published")
    options = parser.parse_args()
    missing = bare_metal.missing()
    if missing:
        parser.error(f"there is no {missing[0]}")
    levels = options.levels.split(",")
    heads = "".join(f" {f'code {one}':>9} {f'run {one}':>12} {'loops':>12}" for one in levels)
    print(f"{'model':22} {'arena':>8} {'weights':>9}{heads}   bytes and instructions; {options.cpu}")
    for name in options.names:
        module = relay.frontend.from_onnx(TINY[name]())
        for label, one in ((name, module), (f"{name} int8", quantized(module))):
            print(f"{label:22} {row(one, options.cpu, levels, not options.sizes_only)}", flush=True)
    if options.published:
        print(PUBLISHED)


def quantized(module: Module) -> Module:
    """``module`` in 8 bits."""
    draw = np.random.default_rng(0)
    data = [
        {p.name: draw.standard_normal(p.type.shape).astype("float32") for p in module.main.params}  # type: ignore[union-attr]
        for _ in range(CALIBRATION)
    ]
    return relay.quantize(module, data, measure=False).module  # times on this machine would not apply


def row(module: Module, cpu: str, levels: list[str], runs: bool) -> str:
    """The columns of the table for ``module``."""
    own = tvmlite.compile(module, f"c -mcpu={cpu}", name="net")
    columns = [f"{own.signature.workspace or 0:8,}", f"{own.constants.size:9,}"]
    for level in levels:
        columns.append(f"{code(own, cpu, level):9,}")
        columns.append(f"{count(own, cpu, level):12,}" if runs else f"{'-':>12}")
        with without(TECHNIQUE):  # kernels are lowered when their source is written
            loops = tvmlite.compile(module, f"c -mcpu={cpu}", name="net")
            columns.append(f"{count(loops, cpu, level):12,}" if runs else f"{'-':>12}")
    return " ".join(columns)


@contextlib.contextmanager
def without(technique: str) -> Iterator[None]:
    """Disable the schedules of ``technique``."""
    techniques.load()
    kept = {anchor: list(rows) for anchor, rows in table.TEMPLATES.items()}
    for anchor, rows in kept.items():
        table.TEMPLATES[anchor] = [row for row in rows if row.technique != technique]
    try:
        yield
    finally:
        table.TEMPLATES.update(kept)


def code(lib: CompiledModule, cpu: str, level: str) -> int:
    """The code size of ``lib`` without its weights, in bytes."""
    with tempfile.TemporaryDirectory(prefix="tvmlite-tiny-") as folder:
        source = Path(folder) / "net.c"
        lib.export(source, weights="file")
        return bare_metal.code_size(source, cpu, [level])


def count(lib: CompiledModule, cpu: str, level: str) -> int:
    """The number of instructions of one run; its self-test must pass."""
    with tempfile.TemporaryDirectory(prefix="tvmlite-tiny-") as folder:
        lib.export(Path(folder) / "net.c")
        failed, instructions = bare_metal.run(bare_metal.compiled(Path(folder), cpu, level), cpu)
        assert failed == 0, f"case {failed} of the self-test"
        return instructions


if __name__ == "__main__":
    main()
