"""Write standalone C for eleven models, each into its own folder, for tests and static analyzers of C.

    python benchmarks/bundles.py FOLDER [NAMES] [--target TARGET]

The networks of ``networks/tiny.py`` in float32 and in 8 bits, an LSTM of two layers, the encoder of a
transformer, and the text classifier of the package rapidocr-onnxruntime.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import onnx
from microcontrollers import quantized
from networks import model
from networks.encoder import encoder
from networks.recurrent import lstm
from networks.tiny import TINY

import tvmlite
from tvmlite import relay
from tvmlite.relay.ir.nodes import Module

OTHERS: dict[str, Callable[[], onnx.ModelProto]] = {
    "lstm": lambda: lstm(steps=20, size=64, layers=2),
    "encoder": lambda: encoder(layers=2, hidden=64, heads=4, tokens=16),
    "ocr_cls": lambda: model("ocr_cls"),
}


def bundles() -> dict[str, Callable[[], Module]]:
    """The functions that create the modules, by the name of the folder."""

    def read(make: Callable[[], onnx.ModelProto]) -> Module:
        return relay.frontend.from_onnx(make())

    made = {name: lambda make=make: read(make) for name, make in (TINY | OTHERS).items()}
    return made | {f"{name}_int8": lambda make=make: quantized(read(make)) for name, make in TINY.items()}


def main() -> None:
    """Write the folders."""
    known = bundles()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(known), help=f"of {', '.join(known)}")
    parser.add_argument("--target", default="c -system=none")
    options = parser.parse_args()
    for name in options.names:
        folder = options.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        tvmlite.compile(known[name](), options.target, name="net").export(folder / "net.c")
        print(f"{name:20} {(folder / 'net.c').stat().st_size:12,} bytes of C", flush=True)


if __name__ == "__main__":
    main()
