"""Compile a real model, show what happens at each level, run it, and check the answer."""

from __future__ import annotations

import argparse
import re
import textwrap
import time

import numpy as np

from tvmlite import runtime, samples
from tvmlite.artifact import CompiledModule
from tvmlite.commands import common
from tvmlite.driver import compile
from tvmlite.relay import printer
from tvmlite.relay.frontend import from_onnx

NAME = "demo"
HELP = "compile a real model and show each level"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--model", default="light_squeezenet", help="a graph of the onnx package")


def main(options: argparse.Namespace) -> int:
    """Tell the story; the status is 1 if the answer is wrong."""
    from tvmlite import zoo  # needs onnx, an optional extra, and says how to get it

    model = zoo.light_model(options.model)
    inputs = zoo.light_input(model)
    _title(f"the model: {options.model} of the onnx package, with seeded random weights, as a relay graph")
    module = from_onnx(model)
    print(_excerpt(printer.astext(module, show_meta_data=False), 8))

    progress, start = common.Progress(), time.perf_counter()
    lib = compile(module, name=options.model, progress=progress)
    seconds = time.perf_counter() - start
    progress.close()
    _title("1. graph passes; the last makes groups of operators, and each group becomes one kernel")
    print(lib.report.pass_times)
    print(_excerpt(printer.astext(lib.module, show_meta_data=False), 10))
    _show_kernel(lib)
    _title(f"5. {len(lib.report.rows)} kernels and one entry for {lib.target}, in {seconds:.1f} s")
    print(_excerpt(str(lib.report), 8))
    _title("6. the answer, against the onnx package's reference in numpy")
    return _check(lib, inputs, zoo.light_output(model, inputs))


def _show_kernel(lib: CompiledModule) -> None:
    name = next((n for n in lib.kernel_names if "conv2d" in n), lib.kernel_names[0])
    _title("2. one kernel as loops, scheduled for this processor")
    print(_wrapped(lib.source("loops", name)))
    _title("3. the same in LLVM IR: the innermost loop")
    print(_hottest(lib.source("llvm", name), r"= f(mul|add) "))
    _title("4. and in the assembly LLVM makes of it")
    print(_hottest(lib.source("asm", name), r"^\s+(vfmadd|fmla)"))


def _hottest(text: str, pattern: str, count: int = 12) -> str:
    """The ``count`` lines on end of ``text`` most of which match ``pattern``."""
    lines = text.splitlines()
    hot = [re.search(pattern, line) is not None for line in lines]
    best = max(range(max(len(lines) - count, 0) + 1), key=lambda i: sum(hot[i : i + count]))
    return _excerpt("\n".join(lines[best : best + count]), count)


def _check(lib: CompiledModule, inputs: dict[str, np.ndarray], expected: list[np.ndarray]) -> int:
    outputs = list(lib.run(inputs).values())
    gap = max(samples.relative_gap(a, b) for a, b in zip(outputs, expected, strict=True))
    right = gap <= samples.TOLERANCE
    print(f"largest difference: {gap:.1e} of the largest value: {'right' if right else 'WRONG'}")
    for threads in range(1, runtime.num_threads() + 1):
        runtime.set_num_threads(threads)
        timing = lib.time(*(inputs[name] for name in lib.input_names))
        print(f"time on {threads} thread{'s'[: threads > 1]}: {timing}")
    return 0 if right else 1


def _title(text: str) -> None:
    print(f"\n--- {text}")


def _wrapped(text: str, width: int = 130) -> str:
    """``text`` with what is beyond ``width`` continued on the next line, further in."""
    lines = []
    for line in text.splitlines():
        margin = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, width, initial_indent="", subsequent_indent=f"{margin}        ") or [""]
    return "\n".join(lines)


def _excerpt(text: str, count: int, width: int = 130) -> str:
    """The first ``count`` lines of ``text``, cut at ``width``; what is left out is told."""
    lines = [line if len(line) <= width else f"{line[: width - 4]} ..." for line in text.splitlines()]
    return "\n".join(
        lines if len(lines) <= count else [*lines[:count], f"  ... {len(lines) - count} more lines"]
    )
