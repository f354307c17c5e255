"""Print a model as Relay text after any pass, or draw it, or print its kernels as loops, LLVM or C."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from tvmlite import runtime
from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError
from tvmlite.graph_page import draw, page
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.quantize.annotate import quantize_annotate
from tvmlite.relay.quantize.prepare import prepare

NAME = "show"
HELP = "print a model at any stage, or its kernels"

PROFILED_RUNS = 9

FORMS = ("relay", "loops", "llvm", "asm", "c")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    common.model_options(parser)
    parser.add_argument(
        "--pass",
        dest="last_pass",
        metavar="PASS",
        help="stop after this pass; 'none': the imported graph; quantize_annotate: the layers to quantize",
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="draw the graph (after the last pass) as a page"
    )
    parser.add_argument(
        "--profile", action="store_true", help="run the model, and show the time of each kernel on the page"
    )
    common.constants_option(parser)
    common.dims_option(parser)
    common.thread_option(parser)
    parser.add_argument("--kernel", help="kernels whose name contains this; 'all' for every kernel")
    parser.add_argument(
        "--form", choices=FORMS, default="loops", help="how to print kernels (default: loops)"
    )


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.kernel is not None:
        return _kernels(options)
    if options.html is not None:
        return _page(options)
    common.print_relay(_module(options, options.last_pass or "none"), options)
    return 0


def _module(options: argparse.Namespace, last: str) -> Module:
    """The model after the pass ``last`` ('none': as imported)."""
    module = common.import_model(options)
    pipeline = common.pipeline_of(options)
    names = [p.__name__ for p in pipeline.passes]
    if last == quantize_annotate.__name__:
        return quantize_annotate(prepare(module))
    if last not in ("none", *names):
        raise InputError(f"no pass {last!r} at level {options.opt_level}; there are {', '.join(names)}")
    for one in pipeline.passes[: names.index(last) + 1 if last != "none" else 0]:
        module = one(module)
    return module


def _page(options: argparse.Namespace) -> int:
    """Write the page for ``--html``."""
    files.writable(options.html, "--html")
    dims = common.parse_dims(options.dims)
    if options.profile:
        if options.last_pass is not None:
            raise InputError("--profile times the kernels of the whole pipeline: not with --pass")
        common.set_threads(options)
        lib = common.compile_model(options)
        module, times = lib.module, _microseconds(lib, options)
        threads = runtime.num_threads()
        said = (
            f"after all passes of level {options.opt_level}, timed on {threads} thread{'s' * (threads > 1)}"
        )
    else:
        names = [one.__name__ for one in common.pipeline_of(options).passes]
        last = options.last_pass or names[-1]
        module, times = _module(options, last), []
        said = "as imported" if last == "none" else f"after the pass {last} at level {options.opt_level}"
    sizes = "".join(f", {name} = {value}" for name, value in dims.items())
    text = page(draw(module, dims, times), options.model.name, f"{said}{sizes}")
    options.html.write_text(text, encoding="utf-8")
    print(f"{options.html}: {common.describe(options.html)}")
    return 0


def _microseconds(lib: CompiledModule, options: argparse.Namespace) -> list[float]:
    """The median time of each kernel call, in order, on random inputs."""
    made = common.random_inputs(lib, options)
    inputs = [made[name] for name in lib.input_names]
    lib(*inputs)
    runs = [[time / 1e3 for _, time in lib.profile(*inputs).kernels] for _ in range(PROFILED_RUNS)]
    return [float(t) for t in np.median(runs, axis=0)]


def _kernels(options: argparse.Namespace) -> int:
    lib = common.compile_model(options)
    chosen = [name for name in lib.kernel_names if options.kernel in ("all", name) or options.kernel in name]
    if not chosen:
        print("\n".join(lib.kernel_names), file=sys.stderr)
        raise InputError(f"no kernel's name contains {options.kernel!r}; they are listed above")
    for name in chosen:
        print(lib.source(options.form, name))
    return 0
