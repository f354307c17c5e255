"""Compile an ONNX model into a library that needs no compiler to run."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError
from tvmlite.machine.target import Target
from tvmlite.model import export

NAME = "compile"
HELP = "compile an ONNX model into a library"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="model.so, .a, .o, .wasm, .c, .h or .tar"
    )
    common.records_option(parser)
    parser.add_argument(
        "--threads",
        type=int,
        help="of the records, take those measured with so many (default: TVMLITE_NUM_THREADS, or all)",
    )
    parser.add_argument(
        "--require-tuned", action="store_true", help="a kernel without a record is an error (needs --records)"
    )
    parser.add_argument("--report", action="store_true", help="print a line for each kernel")
    parser.add_argument("--times", action="store_true", help="print the time of each step and graph pass")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="run the interpreter beside every pass, and the library beside it, on random input",
    )


def main(options: argparse.Namespace) -> int:
    """Carry the command out."""
    if options.require_tuned and options.records is None:
        raise InputError("--require-tuned needs --records: without them nothing is tuned")
    common.set_threads(options)
    export.check_format(options.output)
    if options.output.suffix == ".wasm" and options.target == options.parser.get_default("target"):
        options.target = "wasm"
    export.check_target(options.output, Target.parse(options.target))
    files.writable(options.output, "-o")
    start = time.perf_counter()
    lib = common.compile_model(
        options, lambda module: export.check_format(options.output, export.weights_of(module))
    )
    lib.export(options.output)
    seconds = time.perf_counter() - start
    if options.report:
        print(lib.report)
    if options.times:
        print(f"{lib.report.pass_times}\n\n{lib.report.step_times}")
    size, count = common.describe(options.output), len(lib.report.rows)
    print(f"{options.output}: {count} kernels, {size}, {seconds:.1f} s, for {lib.target}")
    return 0
