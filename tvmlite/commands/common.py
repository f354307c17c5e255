"""Shared by several commands: options, reading inputs, random inputs, a progress line."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite import runtime
from tvmlite.commands.parsing import files
from tvmlite.core.abi import symbols
from tvmlite.core.errors import InputError
from tvmlite.core.pipeline import Pipeline
from tvmlite.driver import CompiledModule, compile
from tvmlite.machine.target import Target
from tvmlite.model import example_inputs
from tvmlite.relay import passes
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.passes.precision.to_mixed_precision import DTYPES
from tvmlite.relay.text import printer


def model_argument(parser: argparse.ArgumentParser, what: str = "an ONNX file") -> None:
    """Add the options for the model and the shapes of its inputs; ``what`` describes the file."""
    parser.add_argument("model", type=Path, help=what)
    parser.add_argument(
        "--input-shapes",
        metavar="NAME:[1,3,224,224]",
        nargs="+",
        default=[],
        help='fix the shape of an input; a string is a dimension that stays open: x:[1,3,"h","w"]',
    )


def model_options(parser: argparse.ArgumentParser, what: str = "an ONNX file") -> None:
    """Add the options of every command that compiles a model; ``what`` describes the file."""
    model_argument(parser, what)
    parser.add_argument(
        "--sizes",
        metavar="NAME=N[,N...]",
        nargs="+",
        default=[],
        help="fix an open dimension, or add kernels for some of its sizes: batch=1,8,32",
    )
    parser.add_argument(
        "--target", default="native", help='"native", "c", or "llvm -mcpu=..." (default: native)'
    )
    parser.add_argument("--opt-level", type=int, choices=range(5), default=3, help="0 to 4 (default: 3)")
    parser.add_argument(
        "--precision",
        choices=("float32", *DTYPES),
        default="float32",
        help="dtype of the operands of matrix products and convolutions (default: float32)",
    )
    parser.add_argument(
        "--error-bound",
        type=float,
        default=0.0,
        metavar="E",
        help="relative error that faster convolutions and dense layers may have, such as 1e-4 (default: 0)",
    )


def model_arguments(options: argparse.Namespace) -> list[str]:
    """Return those of ``model_options`` that differ from their defaults, as words of a command line."""
    words: list[str] = []
    for name in ("input_shapes", "sizes", "target", "opt_level", "precision", "error_bound"):
        value = getattr(options, name)
        if value != options.parser.get_default(name):
            values = value if isinstance(value, list) else [value]
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return words


def records_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--records``, for commands whose kernels may have been tuned."""
    parser.add_argument("--records", type=Path, help="the records that tvmlite tune wrote")


def dims_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--dims``, for commands with random inputs."""
    parser.add_argument(
        "--dims", nargs="+", default=[], metavar="NAME=N", help="the open dimensions of random inputs"
    )


def thread_option(parser: argparse.ArgumentParser, default: str = "TVMLITE_NUM_THREADS, or all") -> None:
    """Add ``--threads``, for commands that run a model."""
    parser.add_argument("--threads", type=int, help=f"threads to run on (default: {default})")


def parse_shapes(texts: list[str]) -> dict[str, tuple[int | str, ...]]:
    """Parse ``x:[1,3,"h","w"]`` as a name and a shape; anything else is an InputError."""
    shapes = {}
    for text in texts:
        name, _, shape = text.rpartition(":")
        try:
            extents = json.loads(shape)
        except ValueError:
            extents = None
        if not name or not isinstance(extents, list) or not all(type(d) in (int, str) for d in extents):
            raise InputError(f'--input-shapes {text!r}: expected NAME:[1,3,224,224] or NAME:[1,"h"]')
        shapes[name] = tuple(extents)
    return shapes


def parse_sizes(texts: list[str]) -> dict[str, int | list[int]]:
    """Parse ``batch=1,8`` as a name and a list, ``batch=1`` as a name and a number, else raise an
    InputError."""
    sizes: dict[str, int | list[int]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        numbers = values.split(",")
        if not name or not all(one.isascii() and one.isdecimal() for one in numbers):
            raise InputError(f"--sizes {text!r}: expected NAME=NUMBER or NAME=NUMBER,NUMBER,...")
        sizes[name] = int(numbers[0]) if len(numbers) == 1 else [int(one) for one in numbers]
    return sizes


def import_model(options: argparse.Namespace) -> Module:
    """Return ``options.model`` as a Relay module, with the requested shapes and sizes."""
    shapes: dict[str, Any] = {**parse_shapes(options.input_shapes), **parse_sizes(options.sizes)}
    return from_onnx(options.model, shapes or None)


def pipeline_of(options: argparse.Namespace) -> Pipeline[Module]:
    """Return the graph passes that ``options`` select."""
    target = Target.parse(options.target)
    return passes.pipeline(options.opt_level, target, options.precision, options.error_bound)


def compile_module(
    options: argparse.Namespace, module: Module, progress: Progress, more: Mapping[str, Any] | None = None
) -> CompiledModule:
    """Compile ``module``, named after ``options.model``, with ``options`` and ``more`` options of
    ``compile``."""
    given = {
        "target": options.target,
        "opt_level": options.opt_level,
        "precision": options.precision,
        "error_bound": options.error_bound,
        "name": symbols.unique_names({"program": "main", "pool": "tvmlite", "model": options.model.stem})[
            "model"
        ],
        "progress": progress,
        "verify": getattr(options, "verify", False),
        "records": getattr(options, "records", None),
        "require_tuned": getattr(options, "require_tuned", False),
    }
    return compile(module, **{**given, **(more or {})})


def compile_model(
    options: argparse.Namespace,
    check: Callable[[Module], object] | None = None,
    more: Mapping[str, Any] | None = None,
) -> CompiledModule:
    """Import and compile ``options.model``, with a progress line; ``check`` is called between the two.

    ``more`` are further options of ``compile``.
    """
    records = getattr(options, "records", None)
    if records is not None:
        files.readable(records, "--records", files.HOW_RECORDS)
    progress = Progress()
    progress("importing", 0, 0)
    module = import_model(options)
    if check is not None:
        check(module)
    lib = compile_module(options, module, progress, more)
    progress.close()
    return lib


def is_library(path: Path) -> bool:
    """Whether ``path`` ends like a compiled library that can be loaded: a shared library or an archive."""
    return path.suffix in (".so", ".tar")


def library_of(options: argparse.Namespace) -> runtime.Library:
    """Load a compiled library (.so, .tar), or compile an ONNX model."""
    return runtime.load(options.model) if is_library(options.model) else compile_model(options)


def random_inputs(lib: runtime.Library, options: argparse.Namespace, seed: int = 0) -> dict[str, np.ndarray]:
    """Return seeded inputs of the sizes that ``--dims`` gives."""
    with open_dimensions(options):
        return example_inputs.random_inputs(lib, parse_dims(options.dims), seed)


@contextmanager
def open_dimensions(options: argparse.Namespace) -> Iterator[None]:
    """Report missing sizes of open dimensions with the options that this command has for them."""
    try:
        yield
    except example_inputs.OpenDimensions as error:
        sizes = " ".join(f"{name}=N" for name in error.names)
        ways = ["give inputs with --inputs in.npz"] if hasattr(options, "inputs") else []
        ways += [f"give sizes with --dims {sizes}"] if hasattr(options, "dims") else []
        ways += [f"pin them with --sizes {sizes}"] if not is_library(options.model) else []
        raise InputError(error.message, hint=", or ".join(ways)) from None


def constants_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--constants``, for commands that print Relay text."""
    parser.add_argument(
        "--constants",
        action=argparse.BooleanOptionalAction,
        help="also print large constants, so that opt can read the text (default: not on a terminal)",
    )


def print_relay(module: Module, options: argparse.Namespace) -> None:
    """Print ``module`` as text that ``tvmlite opt`` reads; large constants are omitted on a terminal."""
    whole = not sys.stdout.isatty() if options.constants is None else options.constants
    text = printer.astext(module, show_meta_data=whole)
    print(text, end="" if text.endswith("\n") else "\n")
    if options.constants is None and not whole and "meta[relay.Constant]" in text:
        print("/* large constants are left out on a terminal: write to a file, or give --constants */")


def describe(path: Path) -> str:
    """Return the size of the file, in bytes, kB or MB."""
    size, unit = float(path.stat().st_size), "bytes"
    for larger in ("kB", "MB"):
        if size >= 1000:
            size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"


def set_threads(options: argparse.Namespace) -> None:
    """Apply ``--threads``."""
    if options.threads is not None:
        if options.threads < 1:
            raise InputError(f"--threads is {options.threads}, expected at least 1")
        runtime.set_num_threads(options.threads)


def parse_dims(texts: list[str]) -> dict[str, int]:
    """Parse ``h=32`` as a name and an extent."""
    dims = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value.isdecimal():
            raise InputError(f"--dims {text!r}: expected NAME=NUMBER")
        dims[name] = int(value)
    return dims


class Progress:
    """A progress line on a terminal, which is first shown after a second."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.shown = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that the step ``what`` is running and has done ``done`` of ``total`` (0: unknown)."""
        seconds = time.perf_counter() - self.start
        if seconds > 1 and sys.stderr.isatty():
            count = f" {done}/{total}" if total else ""
            print(f"\r\x1b[K{what}{count}  {seconds:.0f} s", end="", file=sys.stderr, flush=True)
            self.shown = True

    def close(self) -> None:
        """Clear the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def interleaved(
    runs: Mapping[str, Callable[[], object]], rounds: int, pause: float = 0.2
) -> dict[str, float]:
    """Return the median seconds of each of ``runs``, interleaved (A B A B ...), so that drift affects all
    alike.

    Each round is one warm-up and as many calls as fill 50 ms. During ``pause`` the threads of other runtimes,
    which spin after a run, go to sleep.
    """
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(pause)
            run()
            end = time.perf_counter() + 0.05
            while True:
                start = time.perf_counter()
                run()
                now = time.perf_counter()
                samples[name].append(now - start)
                if now > end:
                    break
    return {name: float(np.median(times)) for name, times in samples.items()}
