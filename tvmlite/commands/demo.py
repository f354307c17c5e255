"""Compile a real model, show each level, check the answer, and search faster schedules for a minute."""

from __future__ import annotations

import argparse
import re
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np

from tvmlite import autotune, runtime, te
from tvmlite.autotune.report.watch import Watch
from tvmlite.autotune.tune import seconds_of
from tvmlite.commands import common
from tvmlite.driver import compile
from tvmlite.model import example_inputs
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.text import printer
from tvmlite.tuning.tune import tune

NAME = "demo"
HELP = "compile a real model, show each level, tune for a minute"
SHOWN, WIDTH = 12, 130
"""The lines of code that are shown, and their columns."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--model", default="light_squeezenet", help="a graph of the onnx package")
    parser.add_argument("--budget", default="60s", help="how long to tune: 60s, 5m (default: 60s)")


def main(options: argparse.Namespace) -> int:
    """Run the demo; the status is 1 if the result is wrong."""
    from tvmlite.relay.onnx import (
        light_models as zoo,  # needs onnx, an optional extra, and says how to get it
    )

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
    budget = seconds_of(options.budget)
    with tempfile.TemporaryDirectory(prefix="tvmlite_demo_") as folder:
        _title(
            f"7. a schedule written by hand, with knobs: {budget / 4:.0f} s of search for their best setting"
        )
        _tune_by_hand(Path(folder) / "hand.jsonl", budget / 4)
        _title(f"8. {budget * 3 / 4:.0f} s of search for the front end of a speech recogniser, on one thread")
        _tune_model(from_onnx(zoo.log_mel()), Path(folder) / "model.jsonl", budget * 3 / 4)
    return right


def _tune_by_hand(records: Path, budget: float) -> None:
    """Search the knobs of a matrix product that starts as plain loops."""
    print(
        "A 256x256 matrix product: two knobs split its rows and columns into tiles. The first setting is no\n"
        "tiles at all, plain loops, as one would write them first; that is slow, so there is much to gain."
    )
    autotune.template("tvmlite.demo.matmul", _tiled_matmul)
    task = autotune.create("tvmlite.demo.matmul", (256,))
    (found,) = autotune.tune(task, records, budget=budget)
    assert found.best is not None, "a search without a measurement is an error"
    print(f"{_wrapped(str(found))}\nbest: {found.best.config}")


def _tiled_matmul(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """``C = A @ B``, in tiles whose sizes are knobs."""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    schedule, config = te.create_schedule(c.op), autotune.get_config()
    y, x = c.op.axis  # type: ignore[attr-defined]
    config.define_split("rows", y, num_outputs=2)
    config.define_split("columns", x, num_outputs=2)
    y_outer, y_inner = config["rows"].apply(schedule, c, y)
    x_outer, x_inner = config["columns"].apply(schedule, c, x)
    schedule[c].reorder(y_outer, x_outer, k, y_inner, x_inner)
    schedule[c].vectorize(x_inner)
    return schedule, [a, b, c]


def _tune_model(module: Module, records: Path, budget: float) -> None:
    """Tune ``module``; only schedules that are faster in the model are kept, so it cannot become slower."""
    print(
        "Its Fourier transform is a convolution: 402 outputs over 400 samples of one channel, every 160.\n"
        "Default schedules are made for the shapes of images and matrices; for others a search finds more.\n"
        "Each schedule is checked; at the end the best are timed in the model, interleaved with the default."
    )
    threads = runtime.num_threads()
    runtime.set_num_threads(1)  # the speed of a second thread depends on what else runs on the machine
    with Watch(budget=budget) as watch:
        tuned = tune(module, records=records, budget=budget, name="log_mel", callbacks=[watch], say=watch.say)
    runtime.set_num_threads(threads)
    print(_wrapped(str(tuned)))


def _show_kernel(lib: CompiledModule) -> None:
    name = next((n for n in lib.kernel_names if "conv2d" in n), lib.kernel_names[0])
    _title("2. one kernel as loops, scheduled for this processor")
    print(_wrapped(lib.source("loops", name)))
    _title("3. the same in LLVM IR: the innermost loop")
    print(_hottest(lib.source("llvm", name), r"= f(mul|add) "))
    _title("4. and in the assembly LLVM makes of it")
    print(_hottest(lib.source("asm", name), r"^\s+(vfmadd|fmla)"))


def _hottest(text: str, pattern: str) -> str:
    """The ``SHOWN`` consecutive lines of ``text`` with the most matches of ``pattern``."""
    lines = text.splitlines()
    hot = [re.search(pattern, line) is not None for line in lines]
    best = max(range(max(len(lines) - SHOWN, 0) + 1), key=lambda i: sum(hot[i : i + SHOWN]))
    return _excerpt("\n".join(lines[best : best + SHOWN]), SHOWN)


def _check(lib: CompiledModule, inputs: dict[str, np.ndarray], expected: list[np.ndarray]) -> int:
    outputs = list(lib.run(inputs).values())
    gap = max(example_inputs.relative_gap(a, b) for a, b in zip(outputs, expected, strict=True))
    right = gap <= example_inputs.TOLERANCE
    print(f"largest difference: {gap:.1e} of the largest value: {'right' if right else 'WRONG'}")
    for threads in range(1, runtime.num_threads() + 1):
        runtime.set_num_threads(threads)
        timing = lib.time(*(inputs[name] for name in lib.input_names))
        print(f"time on {threads} thread{'s'[: threads > 1]}: {timing}")
    return 0 if right else 1


def _title(text: str) -> None:
    print(f"\n--- {text}")


def _wrapped(text: str) -> str:
    """``text`` with lines wrapped at ``WIDTH`` and continued with more indentation."""
    lines = []
    for line in text.splitlines():
        margin = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, WIDTH, initial_indent="", subsequent_indent=f"{margin}        ") or [""]
    return "\n".join(lines)


def _excerpt(text: str, count: int) -> str:
    """The first ``count`` lines of ``text``, cut at ``WIDTH``, and the number of further lines."""
    lines = [line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..." for line in text.splitlines()]
    return "\n".join(
        lines if len(lines) <= count else [*lines[:count], f"  ... {len(lines) - count} more lines"]
    )
