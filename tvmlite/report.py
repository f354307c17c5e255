"""What compiling did, kernel by kernel, in one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tvmlite.choices import Choices, Decision
from tvmlite.core.pipeline import Times
from tvmlite.kernels import CompiledKernel
from tvmlite.relay.infer import type_of
from tvmlite.relay.lower import anchor
from tvmlite.relay.types import show_type
from tvmlite.te.schedules import HAND
from tvmlite.te.space import rule_of


@dataclass(frozen=True)
class KernelRow:
    """One kernel: its symbol and operators, how often it is called, its result, where its schedule comes
    from, and whether its code came from the cache.

    ``loss`` is how much slower than with the best schedule known it is expected to be, None where nothing
    tells; ``seconds`` of a call were measured; ``reason`` says why its schedule was not.
    """

    symbol: str
    operators: tuple[str, ...]
    calls: int
    result: str
    schedule: str
    from_cache: bool
    loss: float | None = None
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Report:
    """A row for each kernel; the seconds of each graph pass, and of each step (all passes are one).

    ``notes`` say what of the records could not be used; None: no records were given.
    """

    rows: tuple[KernelRow, ...]
    pass_times: Times
    step_times: Times
    notes: tuple[str, ...] | None = None

    @staticmethod
    def of(
        kernels: Iterable[CompiledKernel], choices: Choices, pass_times: Times, step_times: Times
    ) -> Report:
        """The report of a compilation."""
        rows = tuple(_row(one, choices.decide(one.task.group)) for one in kernels)
        notes = tuple(choices.notes) if choices.given else None
        return Report(rows, pass_times, step_times, notes)

    def __str__(self) -> str:
        tuned = self.notes is not None
        rows = [
            (
                "calls",
                "schedule",
                *(["measured", "expected loss"] if tuned else []),
                "code",
                "operators",
                "result",
            )
        ]
        for row in self.rows:
            operators = " ".join(row.operators)
            operators = operators if len(operators) <= 60 else operators[:57] + "..."
            code = "cached" if row.from_cache else "compiled"
            known = [_measured(row), _loss(row)] if tuned else []
            rows.append((f"{row.calls:5}", row.schedule, *known, code, operators, row.result))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (
            "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )
        return "\n".join([*lines, *(self.notes or ())])


def _row(kernel: CompiledKernel, decision: Decision) -> KernelRow:
    task = kernel.task
    rule = None if task.config is None else rule_of(task.config)
    template = anchor(task.group).schedule if rule in (None, HAND) else rule
    schedule = f"{decision.origin} {template}"
    result = show_type(type_of(task.group.body))
    return KernelRow(
        task.symbol,
        task.operators,
        task.calls,
        result,
        schedule,
        kernel.from_cache,
        decision.loss,
        decision.reason,
        decision.seconds,
    )


def _measured(row: KernelRow) -> str:
    """Microseconds of a call."""
    return "" if row.seconds is None else f"{row.seconds * 1e6:8.1f} us"


def _loss(row: KernelRow) -> str:
    """The expected loss, and why."""
    known = "?" if row.loss is None else f"{row.loss:.0%}"
    return f"{known} ({row.reason})" if row.reason else known
