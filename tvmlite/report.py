"""What compiling did, kernel by kernel, in one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tvmlite.core.pipeline import Times
from tvmlite.kernels import CompiledKernel
from tvmlite.relay.infer import type_of
from tvmlite.relay.lower import anchor
from tvmlite.relay.types import show_type


@dataclass(frozen=True)
class KernelRow:
    """One kernel: its symbol and operators, how often it is called, its result, where its schedule comes
    from, and whether its code came from the cache."""

    symbol: str
    operators: tuple[str, ...]
    calls: int
    result: str
    schedule: str
    from_cache: bool


@dataclass(frozen=True)
class Report:
    """A row for each kernel; the seconds of each graph pass, and of each step (all passes are one)."""

    rows: tuple[KernelRow, ...]
    pass_times: Times
    step_times: Times

    @staticmethod
    def of(kernels: Iterable[CompiledKernel], pass_times: Times, step_times: Times) -> Report:
        """The report of a compilation."""
        rows = (
            KernelRow(
                one.task.symbol,
                one.task.operators,
                one.task.calls,
                show_type(type_of(one.task.group.body)),
                f"default {anchor(one.task.group).schedule}",
                one.from_cache,
            )
            for one in kernels
        )
        return Report(tuple(rows), pass_times, step_times)

    def __str__(self) -> str:
        rows = [("calls", "schedule", "code", "operators", "result")]
        for row in self.rows:
            operators = " ".join(row.operators)
            operators = operators if len(operators) <= 60 else operators[:57] + "..."
            code = "cached" if row.from_cache else "compiled"
            rows.append((f"{row.calls:5}", row.schedule, code, operators, row.result))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )
