"""What compiling did, kernel by kernel in one table, and what was decided about the graph in another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.autotune.report import decisions as decided
from tvmlite.core.pipeline import Times
from tvmlite.model.kernels import CompiledKernel
from tvmlite.model.record_lookup import Choice, Choices
from tvmlite.relay.entry import labels
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import show_type
from tvmlite.relay.passes.decisions import Decision
from tvmlite.show import html
from tvmlite.te.templates.table import GENERATORS
from tvmlite.te.visualizer import text


@dataclass(frozen=True)
class KernelRow:
    """One kernel: its symbol and operators, how often it is called, its result, where its schedule comes
    from, and whether its code came from the cache. ``label`` is what people call it (``entry.labels``): of
    several calls by the node of the first.

    ``schedule`` is the origin of the knobs, and what arranged the loops: a template by the kind of its
    anchor, a generator, which says that it is one, or nothing (``plain loops``). ``loss`` is how much slower
    than with the best schedule known it is expected to be, None where that is unknown; ``seconds`` of a call
    were measured; ``reason`` says why its schedule was not.
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
    label: str = ""


@dataclass(frozen=True)
class Report:
    """A row for each kernel; the seconds of each graph pass, and of each step (all passes are one).

    ``notes`` say what of the records could not be used; None: no records were given. ``decisions`` are all
    that the graph passes asked for, ``measured`` what records say of those.
    """

    rows: tuple[KernelRow, ...]
    pass_times: Times
    step_times: Times
    notes: tuple[str, ...] | None = None
    decisions: tuple[Decision, ...] = ()
    measured: tuple[DecisionRecord, ...] = ()

    @staticmethod
    def of(
        kernels: Iterable[CompiledKernel],
        choices: Choices,
        pass_times: Times,
        step_times: Times,
        decisions: tuple[Decision, ...] = (),
    ) -> Report:
        """The report of a compilation."""
        rows = tuple(_row(one, choices.decide(one.task.group)) for one in kernels)
        notes = tuple(choices.notes) if choices.given else None
        measured = tuple(_reported(one, choices.decisions.get(one.name)) for one in decisions)
        reported = tuple(one for one in measured if one is not None)
        return Report(rows, pass_times, step_times, notes, decisions, reported)

    def table(self) -> list[tuple[str, ...]]:
        """The kernels as rows of texts, the heading first."""
        tuned = self.notes is not None
        rows = [("calls", "schedule", *(["measured", "expected loss"] if tuned else []), "code", "kernel")]
        for row in self.rows:
            code = "cached" if row.from_cache else "compiled"
            known = [_measured(row), _loss(row)] if tuned else []
            rows.append((f"{row.calls:5}", row.schedule, *known, code, row.label))
        return rows

    def __repr__(self) -> str:
        return "\n".join([*text.table(self.table()), *(self.notes or ()), *decided.table(self.measured)])

    def _repr_html_(self) -> str:
        return html.grid(self.table()) + html.paragraphs(self.notes or ()) + decided.section(self.measured)


def _row(kernel: CompiledKernel, decision: Choice) -> KernelRow:
    task = kernel.task
    generated = " (generated)" if kernel.template in GENERATORS else ""
    schedule = f"{decision.origin} {kernel.template}{generated}"
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
        labels.label(task.group),
    )


def _reported(decision: Decision, record: DecisionRecord | None) -> DecisionRecord | None:
    """What is reported of a decision: its record, or that it was taken by hand; None for a default."""
    if record is not None and record.taken == decision.taken:
        return record
    if decision.taken == decision.default:
        return None
    return DecisionRecord(decision.name, "", decision.taken, decision.default)


def _measured(row: KernelRow) -> str:
    """Microseconds of a call."""
    return "" if row.seconds is None else f"{row.seconds * 1e6:8.1f} us"


def _loss(row: KernelRow) -> str:
    """The expected loss, and why."""
    known = "?" if row.loss is None else f"{row.loss:.0%}"
    return f"{known} ({row.reason})" if row.reason else known
