"""``tvm.ir.instrument``: classes whose methods are called before and after each pass."""

from __future__ import annotations

import functools
import inspect
import time
from typing import Any


class PassInstrument:
    """The base class of instruments. The methods ``enter_pass_ctx``, ``exit_pass_ctx``, ``should_run``,
    ``run_before_pass`` and ``run_after_pass`` are called if they are defined."""


def pass_instrument(pi_cls: Any = None) -> Any:
    """Decorate a class to make it a pass instrument."""

    def decorate(cls: Any) -> Any:
        if not inspect.isclass(cls):
            raise TypeError(f"pass_instrument: {cls!r} is no class")
        return _class(cls)

    return decorate if pi_cls is None else decorate(pi_cls)


def _class(cls: type) -> type:
    if issubclass(cls, PassInstrument):
        return cls
    made = type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__, "__module__": cls.__module__})
    functools.update_wrapper(made, cls, updated=())
    return made


class PassTimingInstrument(PassInstrument):
    """Measures the time of each pass."""

    def __init__(self) -> None:
        self._rows: list[list[Any]] = []
        self._open: list[tuple[int, float]] = []

    def enter_pass_ctx(self) -> None:
        """Discard the measurements."""
        self._rows.clear()

    exit_pass_ctx = enter_pass_ctx

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Start timing a pass."""
        self._open.append((len(self._rows), time.perf_counter()))
        self._rows.append([len(self._open) - 1, info.name, 0.0])

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Stop timing the pass that was started last."""
        row, start = self._open.pop()
        self._rows[row][2] = time.perf_counter() - start

    def render(self) -> str:
        """Return a line for each pass with its time in microseconds; nested passes are indented."""
        return "".join(
            f"{'  ' * depth}{name}: {seconds * 1e6:.0f}us\n" for depth, name, seconds in self._rows
        )


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass."""

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Print the module."""
        print(f"Before Running Pass: {info}\n{mod}")


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Print the module."""
        print(f"After Running Pass: {info}\n{mod}")


class PassPrintingInstrument(PassInstrument):
    """Prints the module before or after the passes of given names."""

    def __init__(self, print_before_pass_names: Any = (), print_after_pass_names: Any = ()) -> None:
        self.before, self.after = list(print_before_pass_names), list(print_after_pass_names)

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Print the module if the pass is in ``print_before_pass_names``."""
        if info.name in self.before:
            print(f"Print IR before: {info.name}\n{mod}\n\n")

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Print the module if the pass is in ``print_after_pass_names``."""
        if info.name in self.after:
            print(f"Print IR after: {info.name}\n{mod}\n\n")
