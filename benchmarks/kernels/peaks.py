"""Measure the machine's limits with loops in LLVM IR that only multiply and add, or only read."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np

from tvmlite.machine.target import Target
from tvmlite.te.codegen import jit

CHAINS = 12
"""The number of accumulators of a loop: more than the latency times the number of ports, and few enough that
they fit into 16 registers together with an operand."""

ITERATIONS = 400_000
"""Loop iterations of a measurement: about 3 ms at 8 cycles each."""

_LOOP = """
declare {vector} @llvm.{intrinsic}({types})
define void @peak(i64 %turns, ptr %out) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %turns
  br i1 %more, label %loop, label %end
end:
{stores}
  ret void
}}
"""

_LANES = Target.parse("native").lanes("float32")

_KINDS = {
    "float32": (
        f"<{_LANES} x float>",
        f"fma.v{_LANES}f32",
        f"<{_LANES} x float>",
        "splat (float 0.5)",
        2 * _LANES,
    ),
    "int8": ("<16 x i32>", "x86.avx512.vpdpbusd.512", "<64 x i8>", "splat (i8 1)", 128),
    "bfloat16": ("<16 x float>", "x86.avx512bf16.dpbf16ps.512", "<32 x bfloat>", "splat (bfloat 0.5)", 64),
}
"""Accumulator, instruction, type and value of its other operands, operations (two for a multiply-add)."""


@cache
def multiply_add(dtype: str) -> Callable[[], float]:
    """A measurement of the operations per second of one core with ``dtype`` operands."""
    vector, intrinsic, operand, value, operations = _KINDS[dtype]
    accumulates_last = dtype == "float32"
    types = [operand, operand, vector] if accumulates_last else [vector, operand, operand]
    phis, steps, stores = [], [], []
    for n in range(CHAINS):
        other = [f"{operand} {value}"] * 2
        arguments = [*other, f"{vector} %a{n}"] if accumulates_last else [f"{vector} %a{n}", *other]
        phis.append(f"  %a{n} = phi {vector} [zeroinitializer, %entry], [%b{n}, %loop]")
        steps.append(f"  %b{n} = call {vector} @llvm.{intrinsic}({', '.join(arguments)})")
        stores.append(f"  %p{n} = getelementptr {vector}, ptr %out, i64 {n}")
        stores.append(f"  store {vector} %b{n}, ptr %p{n}, align 4")
    text = _LOOP.format(
        vector=vector,
        intrinsic=intrinsic,
        types=", ".join(types),
        phis="\n".join(phis),
        steps="\n".join(steps),
        stores="\n".join(stores),
    )
    out = np.zeros(CHAINS * 16, "float32")
    run = _function(text, ctypes.c_int64, ctypes.c_void_p)

    def measure() -> float:
        start = time.process_time()
        run(ITERATIONS, out.ctypes.data)
        return operations * CHAINS * ITERATIONS / (time.process_time() - start)

    return measure


def cores() -> float:
    """The number of cores whose multiply-adds two threads reach: a host may run two processors on one core
    for a while."""
    work = multiply_add("float32")

    def seconds(threads: int) -> float:
        start = time.perf_counter()
        list(pool.map(lambda _: work(), range(threads)))
        return time.perf_counter() - start

    with ThreadPoolExecutor(2) as pool:
        seconds(2)  # starts the threads
        return statistics.median(2 * seconds(1) / seconds(2) for _ in range(5))


_READ = """
define void @peak(i64 %bytes, ptr %data, ptr %out) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
PHIS
STEPS
  %next = add i64 %i, STRIDE
  %more = icmp slt i64 %next, %bytes
  br i1 %more, label %loop, label %end
end:
STORES
  ret void
}
"""


STREAMS = (1, 2, 4, 8)
"""Numbers of streams in which an array is read at once; which one is the fastest depends on the machine."""


@cache
def read(megabytes: int) -> Callable[[], float]:
    """A measurement of the bytes per second at which one core reads an array of ``megabytes`` again and
    again, in the fastest number of streams (1, 2, 4 or 8), since the hardware prefetches in each."""
    size = megabytes << 20
    whole = np.ones(size + 64, "uint8")
    first = whole.ctypes.data + -whole.ctypes.data % 64
    out = np.zeros(_LINES * 16, "int32")
    iterations = max(2, 64 // megabytes)

    def rate(streams: int, run: Callable[..., None]) -> float:
        run(size // streams, first, out.ctypes.data)  # what others have left in the caches is none of it
        start = time.process_time()
        for _ in range(iterations):
            run(size // streams, first, out.ctypes.data)
        return iterations * size / (time.process_time() - start)

    pointer = ctypes.c_void_p
    loops = [(n, _function(_reading(n, size), ctypes.c_int64, pointer, pointer)) for n in STREAMS]
    tried = [[rate(*loop) for loop in loops] for _ in range(9)]
    _, best = max((max(rates), n) for n, rates in enumerate(zip(*tried, strict=True)))

    def measure(keep: object = whole) -> float:
        return rate(*loops[best])

    return measure


_WORDS = f"<{_LANES} x i32>"

_LINES = 8
"""Cache lines that a loop iteration reads, each into its own accumulator."""


def _reading(streams: int, size: int) -> str:
    """The loop that reads ``size`` bytes in ``streams`` equal parts at once."""
    phis, steps, stores = [], [], []
    each = _LINES // streams
    for n in range(_LINES):
        place = n // each * (size // streams) + 64 * (n % each)
        sums = [f"%a{n}", *(f"%s{n}.{part}" for part in range(1, 16 // _LANES)), f"%b{n}"]
        phis.append(f"  %a{n} = phi {_WORDS} [zeroinitializer, %entry], [%b{n}, %loop]")
        steps.append(f"  %o{n} = add i64 %i, {place}")
        for part, (before, after) in enumerate(pairwise(sums)):
            steps.append(f"  %c{n}.{part} = add i64 %o{n}, {4 * _LANES * part}")
            steps.append(f"  %q{n}.{part} = getelementptr i8, ptr %data, i64 %c{n}.{part}")
            steps.append(f"  %v{n}.{part} = load {_WORDS}, ptr %q{n}.{part}, align {4 * _LANES}")
            steps.append(f"  {after} = xor {_WORDS} {before}, %v{n}.{part}")
        stores.append(f"  %p{n} = getelementptr {_WORDS}, ptr %out, i64 {n}")
        stores.append(f"  store {_WORDS} %b{n}, ptr %p{n}, align 4")
    text = _READ.replace("PHIS", "\n".join(phis)).replace("STEPS", "\n".join(steps))
    return text.replace("STORES", "\n".join(stores)).replace("STRIDE", str(64 * each))


def _function(text: str, *types: type) -> Callable[..., None]:
    loaded = jit.load([jit.compile_object(text, Target.parse("native"))], {}, forever=True)
    return ctypes.CFUNCTYPE(None, *types)(loaded.address("peak"))
