"""AMX's tile registers in plain numpy, after the pseudocode of Intel's manual (Architecture Instruction Set
Extensions, "LDTILECFG", "TILELOADD", "TDPBUSD"), for the interpreter of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tvmlite.te import expr as e
from tvmlite.te.loop import interpret as loops
from tvmlite.te.loop import ir

BYTES = 64
"""Bytes in a row of a tile."""


class Tiles:
    """Eight registers of up to 16 rows of 64 bytes; a row of data beyond those configured is never read."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.held: list[np.ndarray] = []
        self.products = 0

    def configure(self, form: str) -> None:
        self.rows = [int(one) for one in form.split(",")]
        assert len(self.rows) == 8
        assert all(1 <= one <= 16 for one in self.rows)
        self.held = [np.zeros((high, BYTES), np.uint8) for high in self.rows]

    def zero(self, register: int) -> None:
        self.held[register][:] = 0

    def load(self, register: int, memory: np.ndarray, at: int, stride: int) -> None:
        for row in range(self.rows[register]):
            begin = at + row * stride
            assert 0 <= begin <= memory.size - BYTES
            self.held[register][row] = memory[begin : begin + BYTES]

    def store(self, register: int, memory: np.ndarray, at: int, stride: int) -> None:
        for row in range(self.rows[register]):
            begin = at + row * stride
            assert 0 <= begin <= memory.size - BYTES
            memory[begin : begin + BYTES] = self.held[register][row]

    def dot(self, name: str, sums: int, data: int, kernel: int) -> None:
        """Add to each sum the products of 16 groups of neighbours in a row of data and of the kernel."""
        left, right, made = {
            "dot_uint8_int8": (np.dtype("uint8"), np.dtype("int8"), np.dtype("int32")),
            "dot_int8_int8": (np.dtype("int8"), np.dtype("int8"), np.dtype("int32")),
            "dot_bfloat16": (np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.bfloat16), np.dtype("float32")),
        }[name]
        assert self.rows[sums] == self.rows[data]
        assert self.rows[kernel] == BYTES // 4
        together = 4 // left.itemsize
        rows = self.held[data].view(left).reshape(-1, 16, together).astype(made)
        columns = self.held[kernel].view(right).reshape(16, 16, together).astype(made)
        total = self.held[sums].view(made)
        with np.errstate(over="ignore"):
            total += np.einsum("mkp,knp->mn", rows, columns, dtype=made)
        self.products += 1


class _Run(loops._Run):
    """The interpreter, which runs the tile form of statements that have one."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.tiles = Tiles()

    def stmt(self, stmt: ir.Stmt) -> loops.Run:
        if isinstance(stmt, ir.Choice) and stmt.needs[0].startswith("amx-"):
            return super().stmt(stmt.special)
        return super().stmt(stmt)

    def evaluate(self, value: e.Expr) -> loops.Run:
        if not isinstance(value, e.Foreign) or value.kind != "tile":
            return super().evaluate(value)
        name = value.name.removeprefix("tile.")
        if name == "configure":
            return lambda: self.tiles.configure(value.form)
        if name in ("load", "store"):
            register, place, step = value.args
            assert isinstance(place, e.Call)
            (load,) = place.args
            assert isinstance(load, ir.Load)
            address, stride = self.address(load.buffer, load.indices, 1), self.expr(step)
            run, number = getattr(self.tiles, name), int(self.expr(register)())

            def moved() -> None:
                flat = int(address())
                assert flat >= 0
                data = self.of(load.buffer).data
                run(number, data.view(np.uint8), flat * data.itemsize, int(stride()))

            return moved
        registers = [int(self.expr(one)()) for one in value.args]
        if name == "zero":
            return lambda: self.tiles.zero(*registers)
        return lambda: self.tiles.dot(name, *registers)


def interpret(function: ir.Function, arguments: Sequence[Any]) -> int:
    """Run ``function`` on ``arguments`` as ``te.loop.interpret`` does, with the model for tile products;
    return how many tile products there were."""
    run = _Run(function, {}, {}, 3)
    with loops._high_recursion_limit(), np.errstate(all="ignore"):
        run.start(arguments, {})
    return run.tiles.products
