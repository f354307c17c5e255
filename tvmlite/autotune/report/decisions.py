"""The decisions about a graph, as a table in text and on the page of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.show import html
from tvmlite.te.visualizer import text

HEADS = ("decision", "taken", "alternatives", "won")


def table(records: Sequence[DecisionRecord]) -> list[str]:
    """The lines of a table, the largest gain first; none if there is nothing to show."""
    ordered = _ordered(records)
    return text.table([HEADS, *map(_cells, ordered)]) if ordered else []


def section(records: Sequence[DecisionRecord]) -> str:
    """The same as a part of a page; empty if there is nothing to show."""
    ordered = _ordered(records)
    if not ordered:
        return ""
    body = html.table(HEADS, map(_cells, ordered))
    return f'<section><h2>Decisions</h2><div class="wide">{body}</div></section>'


def won(record: DecisionRecord) -> float:
    """Seconds of a run that the alternative taken saves over the default; 0 if nothing was measured."""
    gain = record.cost(record.default) - record.cost(record.taken)
    return gain if math.isfinite(gain) else 0.0


def _ordered(records: Sequence[DecisionRecord]) -> list[DecisionRecord]:
    """The records that were measured or are not the default. Those that were tried together without success
    are combined into one."""
    shown: list[DecisionRecord] = []
    together: dict[str, list[DecisionRecord]] = {}
    for one in records:
        if one.costs or one.taken != one.default:
            shown.append(one)
        elif one.note:
            together.setdefault(one.note, []).append(one)
    for first, *others in together.values():
        more = f"{first.name} (and {len(others)} more)" if others else first.name
        shown.append(replace(first, name=more))
    return sorted(shown, key=lambda one: (-won(one), one.name))


def _cells(record: DecisionRecord) -> tuple[str, ...]:
    costs = ", ".join(f"{name} {text.seconds(record.cost(name))}" for name in record.costs)
    gain = record.note
    if record.taken != record.default and record.costs:
        share = won(record) / record.cost(record.default)
        gain = f"{text.seconds(won(record))} ({text.percent(share)})"
    elif record.taken != record.default:
        gain = record.note or "not measured"
    return record.name, record.taken, costs, gain
