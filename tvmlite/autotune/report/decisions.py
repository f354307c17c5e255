"""What was decided about a graph, as a table in text and on the page of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tvmlite.autotune.decision_records import DecisionRecord
from tvmlite.te.visualizer import text

HEADS = ("decision", "taken", "alternatives", "won")


def table(records: Sequence[DecisionRecord]) -> list[str]:
    """The lines of a table, what won most first; none if there are no records."""
    if not records:
        return []
    rows = [HEADS, *map(_cells, _ordered(records))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def section(records: Sequence[DecisionRecord]) -> str:
    """The same as a part of a page; empty if there are no records."""
    if not records:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in HEADS)
    rows = ""
    for name, *cells in map(_cells, _ordered(records)):
        inside = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows += f'<tr><th scope="row">{escape(name)}</th>{inside}</tr>'
    body = f'<table class="tasks"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<section><h2>Decisions</h2><div class="wide">{body}</div></section>'


def won(record: DecisionRecord) -> float:
    """Seconds of a run that what was taken wins over the default; 0 where nothing was measured."""
    gain = record.cost(record.default) - record.cost(record.taken)
    return gain if math.isfinite(gain) else 0.0


def _ordered(records: Sequence[DecisionRecord]) -> list[DecisionRecord]:
    return sorted(records, key=lambda one: (-won(one), one.name))


def _cells(record: DecisionRecord) -> tuple[str, ...]:
    costs = ", ".join(f"{name} {text.seconds(record.cost(name))}" for name in record.costs)
    gain = record.note
    if record.taken != record.default:
        share = won(record) / record.cost(record.default)
        gain = f"{text.seconds(won(record))} ({text.percent(share)})" if record.costs else "not measured"
    return record.name, record.taken, costs, gain
