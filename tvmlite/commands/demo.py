"""Compile a real model, show what happens at each level, check the answer, and tune it for a minute."""

from __future__ import annotations

import argparse
import re
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np

from tvmlite import runtime, samples
from tvmlite.artifact import CompiledModule
from tvmlite.autotune.tune import seconds_of
from tvmlite.autotune.watch import Watch
from tvmlite.commands import common
from tvmlite.driver import compile
from tvmlite.relay import printer
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir import Module
from tvmlite.tuning import tune

NAME = "demo"
HELP = "compile a real model, show each level, tune it for a minute"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--model", default="light_squeezenet", help="a graph of the onnx package")
    parser.add_argument("--budget", default="60s", help="how long to tune: 60s, 5m (default: 60s)")


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
    processor = lib.target.cpu or str(lib.target)
    _title(f"5. {len(lib.report.rows)} kernels and one entry for {processor}, in {seconds:.1f} s")
    print(_excerpt(str(lib.report), 8))
    _title("6. the answer, against the onnx package's reference in numpy")
    right = _check(lib, inputs, zoo.light_output(model, inputs))
    _title(
        f"7. {options.budget} of search for quicker schedules, each checked; then before and after, in turns"
    )
    return right + _tune(module, inputs, options)


def _tune(module: Module, inputs: dict[str, np.ndarray], options: argparse.Namespace) -> int:
    """Tune into a file of its own; only what is quicker in the model is kept, so nothing can go wrong."""
    with tempfile.TemporaryDirectory(prefix="tvmlite_demo_") as folder:
        path = Path(folder) / "tune.jsonl"
        budget = seconds_of(options.budget)
        with Watch(budget=budget) as watch:
            tuned = tune(
                module, records=path, budget=budget, inputs=inputs, name=options.model, callbacks=[watch]
            )
        trials = sum(one.progress.trials for one in tuned.kernels)
        better = sum(one.gain > 1 for one in tuned.kernels)
        print(f"{trials} schedules of {len(tuned.kernels)} kernels measured; {better} kernels are quicker")
        print(_excerpt(str(tuned.lib.report), 8))
    turns = tuned.default_and_tuned
    print("\n".join([*tuned.notes, "the default was the best" if turns is None else str(turns)]))
    return 0


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
