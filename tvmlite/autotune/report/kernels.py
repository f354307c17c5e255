"""The table of a tuning run's kernels; those without a measurement are listed by reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from tvmlite.autotune.report.watch import label_of
from tvmlite.autotune.tune import Tuned
from tvmlite.show import html
from tvmlite.te.visualizer import text

HEADS = ("kernel", "of time", "calls", "trials", "failed", "before", "after", "gain", "of peak", "outcome")

NOT_TRIED = "not tried: all trials or all the time went to others"

USED, SAME = "used", "nothing faster found: the default is used"


def section(
    tuned: Sequence[Tuned],
    peak: float | None,
    labels: Mapping[str, str] | None,
    outcomes: Mapping[str, str],
    skipped: Mapping[str, str],
) -> str:
    """The table of ``tuned``, in order, then the kernels that were not measured, by reason; see ``page``."""
    rows = [_row(one, peak, labels, outcomes) for one in tuned if one.best is not None]
    table = html.table(HEADS, rows) if rows else ""
    key = (
        "Times are of one call; those of a model's kernels in the model, before and after interleaved. "
        "In brackets is the 95% interval of the speedup. "
        "Of time: what part of a run of the model all calls take by default. Of peak: of the multiply-adds "
        "that this machine can do."
    )
    reasons: dict[str, list[str]] = {}
    for one in tuned:
        if one.best is None:
            reasons.setdefault(_why_unmeasured(one), []).append(label_of(one.task, labels))
    for name, reason in skipped.items():
        reasons.setdefault(f"not tuned: {reason}", []).append(name)
    folded = "".join(_folded(reason, names) for reason, names in reasons.items())
    inside = f'<div class="wide">{table}</div><p class="caption">{key}</p>{folded}'
    return f"<section><h2>Kernels</h2>{inside}</section>"


def seconds_before(one: Tuned) -> float:
    """Seconds of all calls with the default schedule, or with the best if the default was not measured."""
    record = one.default or one.best
    return one.progress.weight * record.cost if record is not None else 0.0


def _row(
    one: Tuned, peak: float | None, labels: Mapping[str, str] | None, outcomes: Mapping[str, str]
) -> list[str]:
    assert one.best is not None
    progress = one.progress
    default = one.default or one.best
    rate = one.task.flop / one.best.cost
    outcome = outcomes.get(one.task.key) or (USED if one.gain > 1 else SAME)
    if one.rule is not None and one.gain > 1:
        outcome += f": by rule {one.rule}"
    return [
        label_of(one.task, labels),
        text.percent(progress.share) if progress.share else "",
        f"{progress.weight:g}",
        str(progress.trials),
        str(sum(progress.failures.values())),
        text.seconds(default.cost),
        text.seconds(one.best.cost),
        text.gain(one.gain) if one.gain > 1 else "",
        text.percent(rate / peak) if peak and one.task.flop else "",
        outcome,
    ]


def _why_unmeasured(one: Tuned) -> str:
    failures = one.progress.failures
    if not failures:
        return NOT_TRIED
    counts = ", ".join(f"{count} {kind}" for kind, count in failures.items())
    return f"nothing could be measured: {counts}; the first: {one.progress.first_failure}"


def _folded(reason: str, names: Sequence[str]) -> str:
    """One line for ``names`` that can be unfolded."""
    count = "1 kernel" if len(names) == 1 else f"{len(names)} kernels"
    items = "".join(f"<li>{escape(name)}</li>" for name in names)
    return f'<details class="folded"><summary>{count}: {escape(reason)}</summary><ul>{items}</ul></details>'
