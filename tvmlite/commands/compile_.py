"""Compile an ONNX model into a library that needs no compiler to run."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError
from tvmlite.machine.cpu_levels import LEVELS
from tvmlite.machine.target import Target
from tvmlite.model import export, standalone
from tvmlite.model.code_size import budget

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
        "--cpu-levels",
        metavar="LEVEL[,LEVEL...]",
        help="code for several levels of x86-64 processors in one library: "
        + ", ".join(one.name for one in LEVELS),
    )
    parser.add_argument(
        "--threads",
        type=int,
        help="use the records measured with this many threads (default: TVMLITE_NUM_THREADS, or all)",
    )
    parser.add_argument(
        "--require-tuned", action="store_true", help="a kernel without a record is an error (needs --records)"
    )
    parser.add_argument("--report", action="store_true", help="print a line for each kernel")
    parser.add_argument("--times", action="store_true", help="print the time of each step and graph pass")
    parser.add_argument(
        "--standalone",
        action="store_true",
        help='C for a machine without an operating system (implies --target "c -system=none")',
    )
    parser.add_argument(
        "--weights",
        choices=(standalone.IN_SOURCE, standalone.IN_FILE),
        default=standalone.IN_SOURCE,
        help="put the weights of standalone C into the source, or into a separate file (default: source)",
    )
    parser.add_argument(
        "--code-size",
        metavar="BYTES",
        help="limit of the compiled size of standalone C, without weights: 32768, or 32k",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="check every pass and the library against the interpreter, on random inputs",
    )


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.require_tuned and options.records is None:
        raise InputError("--require-tuned needs --records: without them nothing is tuned")
    _check_standalone(options)
    common.set_threads(options)
    export.check_format(options.output)
    if options.output.suffix == ".wasm" and options.target == options.parser.get_default("target"):
        options.target = "wasm"
    export.check_target(options.output, Target.parse(options.target))
    files.writable(options.output, "-o")
    start = time.perf_counter()
    lib = common.compile_model(
        options,
        lambda module: export.check_format(options.output, export.weights_of(module)),
        {} if options.cpu_levels is None else {"cpu_levels": options.cpu_levels.split(",")},
    )
    lib.export(options.output, options.weights, options.code_size)
    seconds = time.perf_counter() - start
    if options.report:
        print(lib.report)
    if options.times:
        print(f"{lib.report.pass_times}\n\n{lib.report.step_times}")
    size, count = common.describe(options.output), len(lib.report.rows)
    machines = f"levels {options.cpu_levels}" if lib.levels else lib.target
    print(f"{options.output}: {count} kernels, {size}, {seconds:.1f} s, for {machines}")
    return 0


def _check_standalone(options: argparse.Namespace) -> None:
    """Set the target that ``--standalone`` means; an InputError if options contradict each other."""
    if options.standalone and options.target == options.parser.get_default("target"):
        options.target = "c -system=none"
    target = Target.parse(options.target)
    if options.standalone and not target.standalone:
        raise InputError(
            f"--standalone: target {options.target!r} is for a machine with an operating system",
            hint='such as --target "c -system=none", or leave --target out',
        )
    if options.code_size is not None:
        budget(options.code_size)
        if not target.standalone:
            raise InputError(
                f"--code-size {options.code_size} needs --standalone, or a target without a system"
            )
    if options.weights == standalone.IN_FILE and not target.standalone:
        raise InputError(f"--weights {options.weights} needs --standalone: elsewhere libraries hold them")
