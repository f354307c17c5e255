"""The report of a compilation: a table of the kernels, and one of the decisions about the graph."""

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
    """One kernel: its symbol and operators, its number of calls, its result, the origin of its schedule, and
    whether its code came from the cache. ``label`` is its name for people (``entry.labels``): for several
    calls, from the node of the first.

    ``schedule`` has the origin of the knobs, and what scheduled the loops: a template, by the kind of its
    anchor, a generator, marked as such, or nothing (``plain loops``). ``loss`` is the expected slowdown
    relative to the best known schedule, None if unknown; ``seconds`` of a call were measured; ``reason``
    explains why its schedule was not.
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

    ``notes`` list the records that could not be used; None: no records were given. ``decisions`` are all
    those of the graph passes, ``measured`` the records in force for them.
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
        """Return the report of a compilation."""
        rows = tuple(_row(one, choices.decide(one.task.group)) for one in kernels)
        notes = tuple(choices.notes) if choices.given else None
        measured = tuple(_reported(one, choices.decisions.get(one.name)) for one in decisions)
        reported = tuple(one for one in measured if one is not None)
        return Report(rows, pass_times, step_times, notes, decisions, reported)

    def table(self) -> list[tuple[str, ...]]:
        """Return the kernels as rows of texts, the heading first."""
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
    """The record to report: the decision's own, or one without costs if the user set it; None for a
    default."""
    if record is not None and record.taken == decision.taken:
        return record
    if decision.taken == decision.default:
        return None
    return DecisionRecord(decision.name, "", decision.taken, decision.default)


def _measured(row: KernelRow) -> str:
    """The microseconds of a call."""
    return "" if row.seconds is None else f"{row.seconds * 1e6:8.1f} us"


def _loss(row: KernelRow) -> str:
    """The expected loss, and its reason."""
    known = "?" if row.loss is None else f"{row.loss:.0%}"
    return f"{known} ({row.reason})" if row.reason else known
