"""The processor time of compiling a kernel."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from kernels import clock, convolution, matmul, narrow, rows
from kernels.case import Case
from tvmlite import driver
from tvmlite.machine.target import Target
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop.passes import legalize

KERNELS: dict[str, Callable[[], Case]] = {
    "matmul512": lambda: matmul.packed(512),
    "matmul_odd": lambda: matmul.packing(511, 513, 1023),
    "gemv": matmul.one_row,
    "conv3x3": convolution.three_by_three,
    "conv1x1": convolution.one_by_one,
    "int8": narrow.int8,
    "bf16": narrow.bfloat16,
    "depthwise": convolution.depthwise,
    "softmax": rows.softmax,
    "layernorm": rows.layer_norm,
}


def measure(effort: clock.Effort) -> tuple[float, str]:
    """Milliseconds from a schedule to machine code, for the kernel that takes longest."""
    target = Target.parse("native")
    totals, words = [], []
    for name, make in KERNELS.items():
        case = make()
        if case.missing:
            words.append(f"{name}: no {case.missing}")
            continue
        _compile(case, target)
        runs = [_compile(case, target) for _ in range(effort.rounds)]
        ours, theirs = (statistics.median(part) * 1e3 for part in zip(*runs, strict=True))
        totals.append(ours + theirs)
        words.append(f"{name} {ours:.0f} + {theirs:.0f} LLVM")
    return max(totals), ", ".join(words)


def _compile(case: Case, target: Target) -> tuple[float, float]:
    start = time.process_time()
    function: Any = legalize(driver.lower(case.schedule, case.args, "kernel"), target)
    text = llvm.generate(function, target)
    middle = time.process_time()
    jit.compile_object(text, target)
    return middle - start, time.process_time() - middle
