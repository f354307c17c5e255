"""The results of a tuning run as one HTML file: the model before and after, its kernels, and each search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.autotune.report import decisions as decided
from tvmlite.autotune.report import kernels
from tvmlite.autotune.report.chart import bars, curve, scatter
from tvmlite.autotune.report.watch import label_of
from tvmlite.autotune.tune import Tuned
from tvmlite.show import html
from tvmlite.te.visualizer import text

PACKAGE = "tvmlite.autotune.report"

UNFOLDED = 2
"""The number of searches whose charts are unfolded: those of the kernels that take most time."""

MOST_BARS = 16
"""The most kernels drawn as bars; the rest is one bar."""


@dataclass(frozen=True)
class KernelTime:
    """Seconds of a part of a model before and after tuning; ``origin`` describes its schedule now."""

    name: str
    before: float
    after: float
    origin: str = ""


@dataclass(frozen=True)
class ModelTime:
    """Seconds of a run of a whole model before and after tuning, and the gain with its 95% interval."""

    before: float
    after: float
    gain: float
    interval: tuple[float, float]


def write(path: str | Path, tuned: Sequence[Tuned], **options: Any) -> Path:
    """Write the page of ``tuned`` to ``path``, and return the path; ``options`` are the arguments of
    ``page``."""
    written = Path(path)
    written.write_text(page(tuned, **options), encoding="utf-8")
    return written


def page(
    tuned: Sequence[Tuned],
    *,
    title: str = "Tuning",
    facts: Mapping[str, str] | None = None,
    model: ModelTime | None = None,
    times: Sequence[KernelTime] = (),
    outcomes: Mapping[str, str] | None = None,
    skipped: Mapping[str, str] | None = None,
    peak: float | None = None,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    decisions: Sequence[DecisionRecord] = (),
) -> html.Page:
    """Return the HTML of a run: the same arguments give the same page.

    ``facts`` are shown under the title: date, machine, command. ``model`` has the times of the whole model,
    None if it is unchanged or there is none, ``times`` those of its kernels, measured in its library.
    ``outcomes`` explains by task key why a schedule found is not used, ``skipped`` by kernel name why a
    kernel was not searched. ``peak`` is the machine's peak in operations a second, ``labels`` are names by
    task key, ``notes`` are shown as they are, ``decisions`` are those about the model's graph.
    """
    ordered = sorted(tuned, key=kernels.seconds_before, reverse=True)
    measured = [one for one in ordered if one.best is not None]
    values = {
        "title": escape(title),
        "facts": _facts(facts or {}),
        "header": _header(ordered, model, notes),
        "model": _model(times),
        "kernels": kernels.section(ordered, peak, labels, outcomes or {}, skipped or {}),
        "decisions": decided.section(decisions),
        "tasks": "".join(_task(one, peak, labels, n < UNFOLDED) for n, one in enumerate(measured)),
    }
    style = html.resource("tvmlite.te.visualizer", "page.css") + html.resource(PACKAGE, "page.css")
    return html.page(title, style, html.resource(PACKAGE, "page.html"), values)


def _facts(facts: Mapping[str, str]) -> str:
    inside = "".join(f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return f'<dl class="about">{inside}</dl>' if inside else ""


def _header(tuned: Sequence[Tuned], model: ModelTime | None, notes: Sequence[str]) -> str:
    trials = sum(one.progress.trials for one in tuned)
    failed = sum(sum(one.progress.failures.values()) for one in tuned)
    tiles = []
    if model is not None:
        low, high = model.interval
        tiles += [(text.seconds(model.before), "a run before"), (text.seconds(model.after), "a run after")]
        tiles.append((text.gain(model.gain), f"as fast, 95% interval {text.gain(low)} to {text.gain(high)}"))
    tiles.append(
        (str(trials), f"trials of {len(tuned)} {'kernel' if len(tuned) == 1 else 'kernels'}, {failed} failed")
    )
    inside = "".join(
        f"<div><b>{escape(number)}</b> <span>{escape(what)}</span></div>" for number, what in tiles
    )
    shown = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    return f'<div class="tiles">{inside}</div>{shown}'


def _model(times: Sequence[KernelTime]) -> str:
    if not times:
        return ""
    rows = sorted(((one.name, one.before, one.after, one.origin) for one in times), key=lambda row: -row[1])
    shown, rest = rows[:MOST_BARS], rows[MOST_BARS:]
    if rest:
        before, after = (sum(row[column] for row in rest) for column in (1, 2))  # type: ignore[misc]
        shown.append((f"{len(rest)} more kernels", before, after, ""))
    key = "The fastest of all interleaved runs, call by call: before (grey) and after (blue)."
    inside = f'<div class="wide">{bars(shown)}</div><p class="caption">{key}</p>'
    return f"<section><h2>Where the time of a run goes</h2>{inside}</section>"


def _task(one: Tuned, peak: float | None, labels: Mapping[str, str] | None, is_open: bool) -> str:
    progress = one.progress
    figures = ""
    if one.task.flop:
        rates = [one.task.flop / cost / 1e9 if math.isfinite(cost) else 0.0 for cost in progress.curve]
        default = rates[0] or None if rates else None
        figures = f"<figure>{curve(rates, default, peak / 1e9 if peak else None)}</figure>"
    if len(progress.predicted) > 2 and one.task.flop:
        points = [(predicted, speed / 1e9) for predicted, speed in progress.predicted]
        figures += f"<figure>{scatter(points)}</figure>"
    name = escape(label_of(one.task, labels))
    return (
        f'<details class="task"{" open" * is_open}><summary>{name}</summary>'
        f'<p class="line">{escape(_counts(one))}</p><div class="pair">{figures}</div></details>'
    )


def _counts(one: Tuned) -> str:
    parts = [f"{one.progress.trials} trials by {one.tuner}", f"{one.progress.weight:g} calls a run"]
    parts += [f"{count} {kind}" for kind, count in one.progress.failures.items()]
    if one.best is not None:
        parts.append(f"best: {one.best.config}")
    return "; ".join(parts)
