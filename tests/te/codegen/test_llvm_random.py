"""Random expressions through LLVM agree bit for bit with the interpreter, as scalars and as vectors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret

COUNT = 32
TARGETS = {
    "baseline": "llvm -mtriple=x86_64-unknown-linux-gnu",  # no fused multiply-add: rounds as the interpreter
    "native": "native",
}
NUMBERS = (*dtypes.SIGNED, *dtypes.UNSIGNED, "float16", "float32", "float64", "bool")


class Maker:
    """Make random expressions over loads from one array per dtype."""

    def __init__(self, seed: int, lanes: int, fused: bool) -> None:
        self.random = random.Random(seed)
        self.fused = fused
        self.made: dict[str, list[te.Expr]] = {dtype: [] for dtype in NUMBERS}
        self.inputs = [ir.Buffer(f"x_{d}", d, (te.const(COUNT, "int64"),), "param") for d in NUMBERS]
        self.i = te.Var("i", "int64")
        index: te.Expr = self.i
        if lanes > 1:
            index = te.Ramp(self.i * lanes, te.const(1, "int64"), lanes)
        self.index, self.lanes = index, lanes
        for buffer in self.inputs:
            self.made[buffer.dtype].append(ir.Load(buffer, (index,)))

    def any(self, dtype: str, depth: int) -> te.Expr:
        choices = [self._leaf, self._cast, self._select]
        if dtype == "bool":
            choices += [self._compare] * 3 + [self._logic] * 2
        elif dtypes.is_float(dtype):
            choices += [self._float] * 5
        else:
            choices += [self._int] * 5
        make = self._leaf if depth == 0 else self.random.choice(choices)
        made = make(dtype, depth - 1)
        self.made[dtype].append(made)
        return made

    def _leaf(self, dtype: str, _: int) -> te.Expr:
        if self.random.random() < 0.75:
            return self.random.choice(self.made[dtype])
        value = self.random.choice([0, 1, 2, 3, 7, 64, -1, -2, 100])
        return te.const(value, dtype, self.lanes)

    def _cast(self, dtype: str, depth: int) -> te.Expr:
        source = self.random.choice([d for d in NUMBERS if d != dtype])
        return te.Cast(dtype, self.any(source, depth))

    def _select(self, dtype: str, depth: int) -> te.Expr:
        condition, a, b = self.any("bool", depth), self.any(dtype, depth), self.any(dtype, depth)
        if self.random.random() < 0.3 and self.lanes == 1:
            return te.Call("if_then_else", (condition, a, b), dtype)
        return te.Select(condition, a, b)

    def _compare(self, _: str, depth: int) -> te.Expr:
        make = self.random.choice([te.Less, te.LessEqual, te.Equal, te.NotEqual])
        dtype = self.random.choice(NUMBERS)
        return make(self.any(dtype, depth), self.any(dtype, depth))

    def _logic(self, _: str, depth: int) -> te.Expr:
        make = self.random.choice([te.And, te.Or, te.Min, te.Max])
        if self.random.random() < 0.3:
            return te.Not(self.any("bool", depth))
        return make(self.any("bool", depth), self.any("bool", depth))

    def _float(self, dtype: str, depth: int) -> te.Expr:
        make = self.random.choice([te.Add, te.Sub, te.Div, te.Min, te.Max, *([] if self.fused else [te.Mul])])
        if self.random.random() < 0.3:
            name = self.random.choice(["floor", "ceil", "round", "trunc", "fabs", "sqrt"])
            return te.Call(name, (self.any(dtype, depth),), dtype)
        return make(self.any(dtype, depth), self.any(dtype, depth))

    def _int(self, dtype: str, depth: int) -> te.Expr:
        plain = [te.Add, te.Sub, te.Mul, te.Min, te.Max, te.FloorDiv, te.FloorMod, te.TruncDiv, te.TruncMod]
        bits = ["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"]
        chosen = self.random.choice([*plain, *bits])
        a, b = self.any(dtype, depth), self.any(dtype, depth)
        return te.Call(chosen, (a, b), dtype) if isinstance(chosen, str) else chosen(a, b)


def program(seed: int, lanes: int, fused: bool) -> ir.Function:
    maker = Maker(seed, lanes, fused)
    stores, outputs = [], []
    for dtype in NUMBERS:
        out = ir.Buffer(f"y_{dtype}", dtype, (te.const(COUNT, "int64"),), "param")
        outputs.append(out)
        stores.append(ir.Store(out, (maker.index,), maker.any(dtype, 4)))
    loop = ir.For(maker.i, te.const(0, "int64"), te.const(COUNT // lanes, "int64"), ir.sequence(*stores))
    return ir.Function("mix", (*maker.inputs, *outputs), tuple(outputs), (), loop)


def data(dtype: str, generator: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return generator.random(COUNT) < 0.5
    if dtypes.is_float(dtype):
        values = generator.standard_normal(COUNT) * generator.choice([0.1, 3.0, 1000.0], COUNT)
        values[:5] = [0.0, -0.0, np.inf, -np.inf, np.nan]
        return values.astype(dtype)
    low, high = dtypes.limits(dtype)
    values = generator.integers(int(low), int(high), COUNT, dtype, endpoint=True)
    values[:8] = np.array([int(low), int(high), 0, 1, 2, 3, int(high) - 1, int(low) + 1], dtype)
    return values


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("seed", range(8))
def test_llvm_agrees_with_the_interpreter(run: Any, target: str, lanes: int, seed: int) -> None:
    function = program(seed, lanes, fused=target != "baseline")
    generator = np.random.default_rng(seed)
    arguments = [data(dtype, generator) for dtype in NUMBERS]
    wanted = [np.zeros(COUNT, dtype) for dtype in NUMBERS]
    given = [np.zeros(COUNT, dtype) for dtype in NUMBERS]

    interpret(function, [*arguments, *wanted])
    assert run(function, *arguments, *given, target=TARGETS[target]) == 0

    for dtype, one, other in zip(NUMBERS, given, wanted, strict=True):
        np.testing.assert_array_equal(one, other, f"{dtype} of\n{function}")


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "riscv64-linux-gnu", "armv7-linux-gnueabihf"])
def test_other_machines_support_every_operation(triple: str) -> None:
    target = Target.parse(f"llvm -mtriple={triple}")

    code = jit.compile_object(llvm.generate(program(0, 8, fused=True), target), target)

    assert code[:4] == b"\x7fELF"
    assert b"hfsf2" not in code, "float16 is converted by its bits, not by a compiler's library"
