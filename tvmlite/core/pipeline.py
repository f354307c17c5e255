"""Pipelines of named passes, with verification, dumps and timing after each pass on request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from tvmlite.core import config
from tvmlite.core.errors import ConfigError, TvmliteError, VerifyError

IR = TypeVar("IR")


@dataclass
class Times:
    """Seconds spent in each pass or step, in the order they ran; a pass may occur more than once."""

    rows: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add a row with the time that the ``with`` block takes."""
        start = time.perf_counter()
        yield
        self.rows.append((name, time.perf_counter() - start))

    def __str__(self) -> str:
        total = sum(seconds for _, seconds in self.rows)
        rows = [*self.rows, ("total", total)]
        return "\n".join(
            f"{seconds * 1e3:9.1f} ms {seconds / (total or 1):6.1%}  {name}" for name, seconds in rows
        )


@dataclass(frozen=True)
class Pipeline(Generic[IR]):
    """A sequence of ``passes``, named functions from IR to IR.

    ``verify`` raises on an ill-formed IR; it runs after each pass under ``TVMLITE_VERIFY=1``.
    ``show`` gives the IR's text, which is written to the folder ``TVMLITE_DUMP`` after each pass.
    """

    passes: Sequence[Callable[[IR], IR]]
    verify: Callable[[IR], object]
    show: Callable[[IR], str] = str

    def run(
        self,
        ir: IR,
        times: Times | None = None,
        prefix: str = "",
        watch: Callable[[str, IR], object] | None = None,
    ) -> IR:
        """``ir`` after all passes; ``times`` collects seconds, ``prefix`` begins the names of dumps.

        ``watch(name, ir)`` is called after each pass that changed something."""
        dump, checked = config.dump_dir(), config.verify_between_passes()
        if dump is not None:
            self._write(ir, dump / f"{prefix}00_input.txt")
        for number, one in enumerate(self.passes, 1):
            name = getattr(one, "__name__", repr(one))
            before = ir
            with times.step(name) if times is not None else nullcontext():
                ir = one(ir)
            if dump is not None:
                self._write(ir, dump / f"{prefix}{number:02d}_{name}.txt")
            if checked:
                self._check(ir, name)
            if watch is not None and ir is not before:
                watch(name, ir)
        return ir

    def _write(self, ir: IR, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.show(ir), encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"TVMLITE_DUMP: cannot write {path}: {error.strerror}") from error

    def _check(self, ir: IR, name: str) -> None:
        try:
            self.verify(ir)
        except TvmliteError as error:
            raise VerifyError(f"after pass {name!r}: {error.message}", error.span) from error
