"""Measure, with generated loops, the numbers of this processor's row in ``tvmlite/machine/table.py``.

    python benchmarks/machine.py [--gigahertz 3.7]

It prints multiply-adds, additions and loads per cycle, the latency of a multiply-add, whether additions slow
down multiply-adds, and the bytes per second that one core reads from arrays of growing size: where this
number falls, the array exceeds a cache. The clock is measured by a chain of integer operations, each of which
takes one cycle, unless ``--gigahertz`` gives it. Each number is the best of seven measurements. On a busy
machine, repeat the run.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable

import numpy as np

from tvmlite.machine.target import Target
from tvmlite.te.codegen import jit

TARGET = Target.parse("native")
LANES = TARGET.lanes("float32")
VECTOR = f"<{LANES} x float>"
ITERATIONS = 200_000
CHAINS = 10
"""The number of independent accumulators: more than a latency of four cycles times two ports."""

KILOBYTES = (16, 24, 40, 64, 128, 256, 384, 768, 1536, 3072, 6144, 16384, 131072)

LOOP = """declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})
define void @run(i64 %turns, ptr %data) {{
entry:
{before}
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{body}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %turns
  br i1 %more, label %loop, label %end
end:
{after}
  ret void
}}
"""


def function(text: str) -> Callable[[int, int], None]:
    """The function ``run`` compiled from ``text``; its arguments are a number and an address."""
    loaded = jit.load([jit.compile_object(text, TARGET)], {}, forever=True)
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(loaded.address("run"))


def seconds(run: Callable[[], None]) -> float:
    """The processor time of this thread in the best of seven runs."""
    found = []
    for _ in range(7):
        start = time.thread_time()
        run()
        found.append(time.thread_time() - start)
    return min(found)


def per_update(kind: str, chains: int) -> float:
    """Seconds of a loop iteration in which each of ``chains`` accumulators is updated by ``fma``, ``fadd``,
    or one of each (``both``)."""
    before = [f"  %s{n} = load volatile {VECTOR}, ptr %data, align 64" for n in range(2 * chains + 1)]
    phis, body, after = [], [], []
    names = [f"a{n}" for n in range(chains)] if kind != "fadd" else []
    sums = [f"b{n}" for n in range(chains)] if kind != "fma" else []
    fixed = f"{VECTOR} %s{2 * chains}"
    for place, name in enumerate([*names, *sums]):
        phis.append(f"  %{name} = phi {VECTOR} [%s{place}, %entry], [%n{name}, %loop]")
        after.append(f"  store volatile {VECTOR} %n{name}, ptr %data, align 64")
    for name in names:
        arguments = f"{VECTOR} %{name}, {fixed}, {fixed}"
        body.append(f"  %n{name} = call {VECTOR} @llvm.fma.v{LANES}f32({arguments})")
    body += [f"  %n{name} = fadd {VECTOR} %{name}, %s{2 * chains}" for name in sums]
    return _per_iteration(before, [*phis, *body], after)


def per_loads(count: int) -> float:
    """Seconds of a loop iteration that loads ``count`` vectors from the first-level cache."""
    wide = TARGET.vector_bits // 8
    body = []
    for n in range(count):
        body.append(f"  %p{n} = getelementptr i8, ptr %data, i64 {wide * n}")
        body.append(f"  %v{n} = load volatile {VECTOR}, ptr %p{n}, align {wide}")
    return _per_iteration([], body, [])


def per_cycle_of_the_clock() -> float:
    """Seconds of a cycle, measured by a chain of integer operations that LLVM cannot shorten."""
    body = ["  %c0 = phi i64 [1, %entry], [%c32, %loop]"]
    body += [f"  %c{n + 1} = {'xor' if n % 2 else 'add'} i64 %c{n}, %i" for n in range(32)]
    return _per_iteration([], body, ["  store volatile i64 %c32, ptr %data"]) / 32


def _per_iteration(before: list[str], body: list[str], after: list[str]) -> float:
    made = (before, body, after)
    texts = dict(zip(("before", "body", "after"), map("\n".join, made), strict=True))
    run = function(LOOP.format(vector=VECTOR, lanes=LANES, **texts))
    data = np.zeros(4096, "uint8")
    address = data.ctypes.data + -data.ctypes.data % 64
    return seconds(lambda: run(ITERATIONS, address)) / ITERATIONS


def bandwidth(size: int) -> float:
    """The bytes per second at which one core reads the same ``size`` bytes again and again."""
    wide, lines = TARGET.vector_bits // 8, 8
    body = [
        "  %o = phi i64 [0, %entry], [%around, %loop]",
        *(
            f"  %p{n} = getelementptr i8, ptr %data, i64 %o\n"
            f"  %q{n} = getelementptr i8, ptr %p{n}, i64 {wide * n}\n"
            f"  %v{n} = load volatile {VECTOR}, ptr %q{n}, align {wide}"
            for n in range(lines)
        ),
        f"  %step = add i64 %o, {wide * lines}",
        f"  %ends = icmp sge i64 %step, {size}",
        "  %around = select i1 %ends, i64 0, i64 %step",
    ]
    run = function(LOOP.format(vector=VECTOR, lanes=LANES, before="", body="\n".join(body), after=""))
    data = np.ones(size + 64, "uint8")
    address = data.ctypes.data + -data.ctypes.data % 64
    iterations = max(size, 16 << 20) // (wide * lines)
    run(iterations, address)
    return iterations * wide * lines / seconds(lambda: run(iterations, address))


def main() -> None:
    """Print the measured numbers."""
    parser = argparse.ArgumentParser(description="measure this processor for tvmlite/machine/table.py")
    parser.add_argument("--gigahertz", type=float, help="the clock, if it is known")
    given = parser.parse_args().gigahertz
    cycle = 1e-9 / given if given else per_cycle_of_the_clock()
    print(f"target                   {TARGET}")
    print(f"clock                    {1e-9 / cycle:.2f} GHz")
    multiply_adds, additions = per_update("fma", CHAINS), per_update("fadd", CHAINS)
    print(f"multiply-adds a cycle    {CHAINS * cycle / multiply_adds:.2f} of {TARGET.vector_bits} bits")
    print(f"latency of one           {per_update('fma', 1) / cycle:.2f} cycles")
    print(f"additions a cycle        {CHAINS * cycle / additions:.2f}")
    both = per_update("both", CHAINS) / max(multiply_adds, additions)
    print(f"as many of both          {both:.2f} of the time of the slower (1: separate ports, 2: the same)")
    print(f"loads a cycle            {16 * cycle / per_loads(16):.2f}")
    for size in KILOBYTES:
        rate = bandwidth(size << 10)
        print(f"{size:>8} kB              {rate / 1e9:7.1f} GB/s {rate * cycle:6.1f} bytes a cycle")


if __name__ == "__main__":
    main()
