"""The measured limits of this machine: multiply-adds in registers, and reads of memory."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.machine.target import Target
from tvmlite.te.codegen import jit

_CHAINS = 14
"""The accumulators of a loop: more than the latency of a multiply-add times the number of its units."""

_SECONDS = 0.002
"""The approximate seconds of one measurement: short, so that the best of ``_TRIES`` is undisturbed."""

_TRIES = 40


@dataclass(frozen=True)
class Limits:
    """``operations`` per second (a multiply-add is two) of kind ``unit``, and ``bandwidth``, the bytes per
    second of repeated reads of ``size`` bytes, both of ``threads`` threads together."""

    operations: float
    bandwidth: float
    unit: str
    size: int
    threads: int

    def seconds(self, operations: int, size: int) -> float:
        """The least time that ``operations`` on ``size`` bytes can take, by the roofline model."""
        return max(operations / self.operations, size / self.bandwidth)


def measure(dtypes_used: Sequence[str], size: int, threads: int) -> Limits:
    """Measure the limits of this machine for computations whose arrays have ``dtypes_used``."""
    target = Target.parse("native")
    unit, text, work = _multiply_add(dtypes_used, target)
    peak = _function(text, ctypes.c_int64)
    read = _function(_read(target), ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    step = 8 * target.vector_bits // 8
    part = max(size // threads // step, 1) * step
    memory = np.ones(part * threads + 64, "uint8")
    first = memory.ctypes.data + -memory.ctypes.data % 64
    with ThreadPoolExecutor(threads) as pool:
        arithmetic = _rate(pool, threads, lambda iterations, _: peak(iterations)) * work
        reading = _rate(pool, threads, lambda iterations, n: read(iterations, part, first + part * n)) * part
    return Limits(arithmetic, reading, unit, part * threads, threads)


def _rate(pool: ThreadPoolExecutor, threads: int, run: Callable[[int, int], object]) -> float:
    """Iterations per second of all threads together."""
    iterations = 1
    while (seconds := min(_timed(pool, threads, run, iterations) for _ in range(3))) < _SECONDS / 2:
        iterations = max(
            2 * iterations, min(100 * iterations, int(iterations * _SECONDS / max(seconds, 1e-6)))
        )
    best = min(_timed(pool, threads, run, iterations) for _ in range(_TRIES))
    return iterations * threads / best


def _timed(
    pool: ThreadPoolExecutor, threads: int, run: Callable[[int, int], object], iterations: int
) -> float:
    """Seconds of ``iterations`` iterations on each of ``threads``: the slowest thread's processor time, which
    excludes other processes."""

    def one(number: int) -> float:
        start = time.thread_time()
        run(iterations, number)
        return time.thread_time() - start

    waiting = [pool.submit(one, number) for number in range(threads - 1)]
    return max([one(threads - 1), *(other.result() for other in waiting)])


def _multiply_add(used: Sequence[str], target: Target) -> tuple[str, str, int]:
    """The kind of operation, the LLVM IR of a loop of nothing else, and the operations of one iteration."""
    if {"int8", "uint8"} & set(used) and target.has("avx512vnni"):
        call = "call <16 x i32> @llvm.x86.avx512.vpdpbusd.512({acc}, {x}, {x})"
        return "int8 dot products", _loop("<16 x i32>", "<64 x i8>", call), 2 * 64 * _CHAINS
    if "bfloat16" in used and target.has("avx512bf16"):
        call = "call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512({acc}, {x}, {x})"
        return "bfloat16 dot products", _loop("<16 x float>", "<32 x bfloat>", call), 2 * 32 * _CHAINS
    floats = any(dtypes.is_float(one) for one in used)
    dtype = "float64" if floats and "float64" in used else "float32" if floats else "int32"
    lanes = target.lanes(dtype)
    vector = f"<{lanes} x {'i32' if dtype == 'int32' else 'double' if dtype == 'float64' else 'float'}>"
    return f"{dtype} multiply-adds", _loop(vector, vector, ""), 2 * lanes * _CHAINS


def _loop(vector: str, operand: str, call: str) -> str:
    """The LLVM IR of a function of a number of iterations, each of which updates ``_CHAINS`` accumulators
    once."""
    letter = "" if "i32" in vector else "f"
    note = " contract" if letter else ""
    phis, steps, uses = [], [], []
    for n in range(_CHAINS):
        phis.append(f"  %a{n} = phi {vector} [zeroinitializer, %entry], [%b{n}, %loop]")
        if call:
            steps.append(f"  %b{n} = {call.format(acc=f'{vector} %a{n}', x=f'{operand} %x')}")
        else:
            steps.append(f"  %m{n} = {letter}mul{note} {vector} %a{n}, %x")
            steps.append(f"  %b{n} = {letter}add{note} {vector} %m{n}, %x")
        uses.append(f"  store volatile {vector} %b{n}, ptr %spare")
    declared = call.split("(")[0].removeprefix("call ")
    declaration = f"declare {declared}({vector}, {operand}, {operand})" if call else ""
    return "\n".join(
        [
            *(declaration, "define void @limit(i64 %iterations) {", "entry:", f"  %spare = alloca {vector}"),
            *(f"  %given = alloca {operand}", f"  store {operand} zeroinitializer, ptr %given"),
            *(f"  %x = load volatile {operand}, ptr %given", "  br label %loop", "loop:"),
            "  %i = phi i64 [0, %entry], [%next, %loop]",
            *(*phis, *steps, "  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %iterations"),
            *("  br i1 %more, label %loop, label %end", "end:", *uses, "  ret void", "}"),
        ]
    )


def _read(target: Target) -> str:
    """The LLVM IR of a function of iterations, bytes and an address; each iteration reads all bytes."""
    wide = target.vector_bits // 8
    vector = f"<{wide // 4} x i32>"
    phis, steps, uses = [], [], []
    for n in range(8):
        phis.append(f"  %a{n} = phi {vector} [zeroinitializer, %iteration], [%b{n}, %loop]")
        steps.append(f"  %o{n} = add i64 %i, {wide * n}")
        steps.append(f"  %p{n} = getelementptr i8, ptr %data, i64 %o{n}")
        steps.append(f"  %v{n} = load volatile {vector}, ptr %p{n}, align 4")
        steps.append(f"  %b{n} = xor {vector} %a{n}, %v{n}")
        uses.append(f"  store volatile {vector} %b{n}, ptr %spare")
    return "\n".join(
        [
            *("define void @limit(i64 %iterations, i64 %bytes, ptr %data) {", "entry:"),
            *(f"  %spare = alloca {vector}", "  br label %iteration", "iteration:"),
            *("  %t = phi i64 [0, %entry], [%after, %done]", "  br label %loop", "loop:"),
            "  %i = phi i64 [0, %iteration], [%next, %loop]",
            *(*phis, *steps, f"  %next = add i64 %i, {wide * 8}", "  %more = icmp slt i64 %next, %bytes"),
            *("  br i1 %more, label %loop, label %done", "done:", *uses),
            *("  %after = add i64 %t, 1", "  %again = icmp slt i64 %after, %iterations"),
            *("  br i1 %again, label %iteration, label %end", "end:", "  ret void", "}"),
        ]
    )


def _function(text: str, *types: type) -> Callable[..., None]:
    loaded = jit.load([jit.compile_object(text, Target.parse("native"))], {})
    call = ctypes.CFUNCTYPE(None, *types)(loaded.address("limit"))

    def run(*args: int, keep: object = loaded) -> None:
        call(*args)

    return run
