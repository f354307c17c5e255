"""Print a model as Relay text, after any pass; or one of its kernels as loops, LLVM, assembly or C."""

from __future__ import annotations

import argparse
import sys

from tvmlite.commands import common
from tvmlite.core.errors import InputError
from tvmlite.core.target import Target
from tvmlite.relay import passes, printer
from tvmlite.relay.frontend import from_onnx

NAME = "show"
HELP = "print a model at any stage, or its kernels"

FORMS = ("relay", "loops", "llvm", "asm", "c")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser)
    parser.add_argument(
        "--pass", dest="last_pass", metavar="PASS", help="stop after this pass; 'none': as imported"
    )
    parser.add_argument("--kernel", help="a kernel by (part of) its name; 'all' for every one")
    parser.add_argument(
        "--form", choices=FORMS, default="loops", help="how to print kernels (default: loops)"
    )


def main(options: argparse.Namespace) -> int:
    """Carry the command out."""
    if options.kernel is not None:
        return _kernels(options)
    module = from_onnx(options.model, common.parse_shapes(options.input_shapes) or None)
    pipeline = passes.pipeline(options.opt_level, Target.parse(options.target))
    names = [p.__name__ for p in pipeline.passes]
    last = options.last_pass or "none"
    if last not in ("none", *names):
        raise InputError(f"no pass {last!r} at level {options.opt_level}; there are {', '.join(names)}")
    for one in pipeline.passes[: names.index(last) + 1 if last != "none" else 0]:
        module = one(module)
    print(printer.astext(module, show_meta_data=False))
    return 0


def _kernels(options: argparse.Namespace) -> int:
    lib = common.compile_model(options)
    chosen = [name for name in lib.kernel_names if options.kernel in ("all", name) or options.kernel in name]
    if not chosen:
        print("\n".join(lib.kernel_names), file=sys.stderr)
        raise InputError(f"no kernel's name holds {options.kernel!r}; they are listed above")
    for name in chosen:
        print(lib.source(options.form, name))
    return 0
