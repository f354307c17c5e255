"""Compile a real model, show what happens at each level, run it, and check the answer."""

from __future__ import annotations

import argparse
import time

import numpy as np

from tvmlite import runtime
from tvmlite.artifact import CompiledModule
from tvmlite.commands import common
from tvmlite.driver import compile
from tvmlite.relay import printer
from tvmlite.relay.frontend import from_onnx

NAME = "demo"
HELP = "compile a real model and show each level"

TOLERANCE = 1e-4
"""The largest difference allowed, relative to the largest value of the answer."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--model", default="light_squeezenet", help="a graph of the onnx package")


def main(options: argparse.Namespace) -> int:
    """Tell the story; the status is 1 if the answer is wrong."""
    from onnx.reference import ReferenceEvaluator  # an optional extra: the zoo says how to get it

    from tvmlite import zoo

    model = zoo.light_model(options.model)
    inputs = zoo.light_input(model)
    _title(f"the model: {options.model} of the onnx package, with seeded random weights")
    module = from_onnx(model)
    print(_excerpt(printer.astext(module, show_meta_data=False), 8))

    progress, start = common.Progress(), time.perf_counter()
    lib = compile(module, name=options.model, progress=progress)
    seconds = time.perf_counter() - start
    progress.close()
    _title("1. graph passes, and groups of operators that become one kernel each")
    print(lib.report.pass_times)
    print(_excerpt(printer.astext(lib.module, show_meta_data=False), 10))
    _show_kernel(lib)
    _title(f"5. {len(lib.report.rows)} kernels and one entry for {lib.target}, in {seconds:.1f} s")
    print(_excerpt(str(lib.report), 8))
    expected = [np.asarray(one) for one in ReferenceEvaluator(model).run(None, inputs)]
    return _check(lib, inputs, expected)


def _show_kernel(lib: CompiledModule) -> None:
    name = next(n for n in lib.kernel_names if "conv2d" in n)
    _title(f"2. one kernel, {name}, as loops")
    print(_excerpt(lib.source("loops", name), 30))
    _title("3. the same in LLVM IR")
    print(_excerpt(lib.source("llvm", name), 14))
    _title("4. and in assembly: where the time goes")
    print(_hottest(lib.source("asm", name)))


def _hottest(assembly: str, count: int = 12) -> str:
    """The stretch of ``assembly`` with the most multiply-adds."""
    lines = assembly.splitlines()
    hot = ["fma" in line or "fmla" in line for line in lines]
    best = max(range(max(len(lines) - count, 1)), key=lambda i: sum(hot[i : i + count]))
    return "\n".join(lines[best : best + count])


def _check(lib: CompiledModule, inputs: dict[str, np.ndarray], expected: list[np.ndarray]) -> int:
    _title("6. the answer, against the onnx package's reference in numpy")
    outputs = list(lib.run(inputs).values())
    gap = max(_gap(a, b) for a, b in zip(outputs, expected, strict=True))
    right = gap <= TOLERANCE
    print(f"largest difference: {gap:.1e} of the largest value: {'right' if right else 'WRONG'}")
    for threads in range(1, runtime.num_threads() + 1):
        runtime.set_num_threads(threads)
        timing = lib.time(*(inputs[name] for name in lib.input_names))
        print(f"time on {threads} thread{'s'[: threads > 1]}: {timing}")
    return 0 if right else 1


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    assert a.shape == b.shape, f"the answer has shape {a.shape}, the reference {b.shape}"
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def _title(text: str) -> None:
    print(f"\n--- {text}")


def _excerpt(text: str, lines: int) -> str:
    every = [line[:150] for line in text.splitlines()]
    return "\n".join(
        every if len(every) <= lines else [*every[:lines], f"  ... {len(every) - lines} more lines"]
    )
