"""What came of a tuning run, as one HTML file: curves, predictions, where the time of the model goes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tvmlite.autotune.decision_records import DecisionRecord
from tvmlite.autotune.report import decisions as decided
from tvmlite.autotune.report.chart import bars, curve, scatter
from tvmlite.autotune.tune import Tuned
from tvmlite.autotune.watch import label_of
from tvmlite.te.visualizer import html, text

PACKAGE = "tvmlite.autotune.report"


@dataclass(frozen=True)
class KernelTime:
    """Seconds that a part of a model takes before and after; ``origin`` says how it is scheduled now."""

    name: str
    before: float
    after: float
    origin: str = ""


def write(
    path: str | Path,
    tuned: Sequence[Tuned],
    *,
    title: str = "Tuning",
    times: Sequence[KernelTime] = (),
    peak: float | None = None,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    decisions: Sequence[DecisionRecord] = (),
) -> Path:
    """Write the page of ``tuned`` to ``path``, and give the path; see ``page``."""
    written = Path(path)
    made = page(tuned, title=title, times=times, peak=peak, labels=labels, notes=notes, decisions=decisions)
    written.write_text(made, encoding="utf-8")
    return written


def page(
    tuned: Sequence[Tuned],
    *,
    title: str = "Tuning",
    times: Sequence[KernelTime] = (),
    peak: float | None = None,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    decisions: Sequence[DecisionRecord] = (),
) -> str:
    """The HTML of a run: each task's best against trials, and what was predicted against what was measured.

    ``times`` are those of a model's parts before and after, as its library measured them; ``peak`` is how
    many operations a second the machine can do, ``labels`` name tasks by their keys, ``notes`` are told as
    they are, ``decisions`` are those about the model's graph.
    """
    ordered = sorted(tuned, key=_seconds, reverse=True)
    values = {
        "title": escape(title),
        "header": _header(ordered, times, notes),
        "model": _model(times),
        "decisions": decided.section(decisions),
        "tasks": "".join(_task(one, peak, labels) for one in ordered),
        "table": _table(ordered, peak, labels),
    }
    style = html.resource("tvmlite.te.visualizer", "page.css") + html.resource(PACKAGE, "page.css")
    return html.page(title, style, html.resource(PACKAGE, "page.html"), values)


def _header(tuned: Sequence[Tuned], times: Sequence[KernelTime], notes: Sequence[str]) -> str:
    trials = sum(one.progress.trials for one in tuned)
    failed = sum(sum(one.progress.failures.values()) for one in tuned)
    before = sum(one.before for one in times) or sum(map(_seconds_before, tuned))
    after = sum(one.after for one in times) or sum(map(_seconds, tuned))
    tiles = [(text.seconds(before), "before"), (text.seconds(after), "after")]
    if after > 0:
        tiles.append((text.times(before / after), "before by after"))
    tiles += [(str(trials), f"trials of {len(tuned)} tasks"), (str(failed), "of them failed")]
    inside = "".join(
        f"<div><b>{escape(number)}</b> <span>{escape(what)}</span></div>" for number, what in tiles
    )
    told = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    return f'<div class="tiles">{inside}</div>{told}'


def _model(times: Sequence[KernelTime]) -> str:
    if not times:
        return ""
    rows = [(one.name, one.before, one.after, one.origin) for one in times]
    return f"<section><h2>Where the time of the model goes</h2>{bars(rows)}</section>"


def _task(one: Tuned, peak: float | None, labels: Mapping[str, str] | None) -> str:
    progress = one.progress
    rates = [one.task.flop / cost / 1e9 if math.isfinite(cost) else 0.0 for cost in progress.curve]
    started = one.task.flop / one.default.cost / 1e9 if one.default else None
    name = escape(label_of(one.task, labels))
    figures = f"<figure>{curve(rates, started, peak / 1e9 if peak else None)}</figure>"
    if len(progress.predicted) > 2:
        points = [(thought, speed / 1e9) for thought, speed in progress.predicted]
        figures += f"<figure>{scatter(points)}</figure>"
    return (
        f'<section class="task"><h2>{name}</h2><p class="line">{escape(_told(one))}</p>'
        f'<div class="pair">{figures}</div></section>'
    )


def _told(one: Tuned) -> str:
    told = [f"{one.progress.trials} trials", f"called {one.progress.weight:g} times"]
    told += [f"{count} {kind}" for kind, count in one.progress.failures.items()]
    if one.best is not None:
        told.append(f"best: {one.best.config}")
    return "; ".join(told)


def _table(tuned: Sequence[Tuned], peak: float | None, labels: Mapping[str, str] | None) -> str:
    heads = ("task", "calls", "trials", "failed", "before", "after", "gain", "GFLOP/s", "of peak", "rule")
    rows = "".join(_row(one, peak, labels) for one in tuned)
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f'<table class="tasks"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(one: Tuned, peak: float | None, labels: Mapping[str, str] | None) -> str:
    failed = sum(one.progress.failures.values())
    cells = [f"{one.progress.weight:g}", str(one.progress.trials), str(failed)]
    if one.best is None:
        cells += ["", "nothing measured", "", "", "", ""]
    else:
        flops = one.task.flop / one.best.cost
        cells += [
            text.seconds(one.default.cost) if one.default else "",
            text.seconds(one.best.cost),
            text.times(one.gain),
            text.digits(flops / 1e9),
            text.percent(flops / peak) if peak else "",
            one.rule or "",
        ]
    inside = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(label_of(one.task, labels))}</th>{inside}</tr>'


def _seconds(one: Tuned) -> float:
    return one.progress.weight * one.best.cost if one.best is not None else 0.0


def _seconds_before(one: Tuned) -> float:
    return one.progress.weight * one.default.cost if one.default is not None else _seconds(one)
