"""A kernel to be measured: its schedule, its data, and the reference result computed by numpy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernels.machine import TARGET
from tvmlite import driver
from tvmlite.model.artifact import CompiledKernelFunction
from tvmlite.te.schedule.schedule import Schedule


@dataclass(frozen=True)
class Case:
    """``schedule`` with its arguments ``args``, the output last. ``work`` is the operations or bytes of a
    call.

    ``want`` is the reference; results may differ from it by ``tolerance`` times its largest value.
    ``written_in`` are the functions that create the schedule, and nothing else. ``needs`` is the instruction
    set that the kernel requires.
    """

    schedule: Schedule
    args: Sequence[Any]
    inputs: Sequence[np.ndarray]
    want: np.ndarray
    work: float
    tolerance: float = 1e-5
    peer_inputs: dict[str, np.ndarray] = field(default_factory=dict)
    written_in: tuple[Callable[..., object], ...] = ()
    needs: str = ""

    @property
    def missing(self) -> str:
        """The required instruction set, if this machine lacks it."""
        return "" if not self.needs or TARGET.has(self.needs) else self.needs

    @property
    def lines(self) -> int:
        """The number of lines of code of the schedule, without docstrings."""
        return lines_of(*self.written_in)

    def build(self, target: str = "native") -> CompiledKernelFunction:
        """The compiled kernel."""
        return driver.build(self.schedule, self.args, target, "kernel")

    def prepare(self, function: CompiledKernelFunction) -> Ready:
        """Compare ``function`` with the reference, and return it ready to be called without arguments."""
        out = aligned(np.full(self.want.shape, 77, self.want.dtype))
        ready = Ready(function, (*map(aligned, self.inputs), out))
        ready()
        want, got = self.want.astype("float64"), out.astype("float64")
        gap = np.abs(got - want).max() / np.abs(want).max()
        assert gap <= self.tolerance, f"the result differs from numpy's by {gap:.1e} of the largest value"
        return ready


def lines_of(*functions: Callable[..., object]) -> int:
    """The number of lines of code of ``functions``, without docstrings and empty lines."""
    count = 0
    for function in functions:
        lines = inspect.getsourcelines(function)[0]
        told = (function.__doc__ or "").splitlines()
        count += sum(bool(line.strip()) for line in lines) - sum(bool(line.strip()) for line in told)
    return count


@dataclass(frozen=True)
class Ready:
    """A kernel with its arguments."""

    function: CompiledKernelFunction
    arguments: tuple[np.ndarray, ...]

    def __call__(self) -> None:
        self.function(*self.arguments)


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy that starts at a cache line, like arrays of tvmlite; numpy does not guarantee this."""
    memory = np.empty(array.nbytes + 64, "uint8")
    first = -memory.ctypes.data % 64
    made = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def random(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal float32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape, "float32")


def panels(matrix: np.ndarray, width: int) -> np.ndarray:
    """The columns of a matrix in panels of ``width``, padded with zeros: ``(panels, rows, width)``."""
    rows, columns = matrix.shape
    count = -(-columns // width)
    padded = np.zeros((rows, count * width), matrix.dtype)
    padded[:, :columns] = matrix
    return np.ascontiguousarray(padded.reshape(rows, count, width).transpose(1, 0, 2))
