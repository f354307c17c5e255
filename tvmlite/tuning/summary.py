"""The results of tuning a model as lines of text: each faster kernel, and the others by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tvmlite.autotune.report.watch import label_of
from tvmlite.autotune.tune import Tuned

MOST_REASONS = 5
"""The number of kernels for which it is explained why the best found is not used."""


def lines(
    searches: Sequence[Tuned],
    skipped: Mapping[str, str],
    shares: Mapping[str, float],
    dropped: Mapping[str, str],
    late: Sequence[str] = (),
) -> list[str]:
    """Return the lines. ``skipped`` has the reasons for kernels that are no tasks, by symbol; ``shares`` are
    parts of the model's time by symbol and task text; ``dropped`` has the reasons, by task text, for those
    whose best was not faster in the model; ``late`` are those that there was no time to time in it."""
    faster, failed, unchanged, lost, untimed, untried = [], [], [], [], [], []
    for one in searches:
        if one.best is None:
            (failed if one.progress.failures else untried).append(one)
        elif one.task.args[0] in late:
            untimed.append(one)
        elif one.gain > 1:
            faster.append(one)
        else:
            (lost if one.task.args[0] in dropped else unchanged).append(one)

    def share_of(some: Iterable[Tuned]) -> str:
        return _share(shares, (one.task.args[0] for one in some))

    made = [str(one) for one in sorted(faster, key=lambda one: -_seconds_saved(one))]
    made += [str(one) for one in failed]
    made += _lost(lost, shares, dropped)
    if unchanged:
        made.append(f"{_count(unchanged)}{share_of(unchanged)}: nothing faster than the default was found")
    if untimed:
        reason = "no time was left to time the best in the model; --resume does"
        made.append(f"{_count(untimed)}{share_of(untimed)}: {reason}")
    if untried:
        reason = "all trials or all the time went to other kernels"
        made.append(f"{_count(untried)}{share_of(untried)}: not tried: {reason}")
    for reason in dict.fromkeys(skipped.values()):
        some = [symbol for symbol, why in skipped.items() if why == reason]
        made.append(f"{_count(some)}{_share(shares, some)}: not tuned: {reason}")
    return [*made, *_failures(searches)]


def _lost(lost: Sequence[Tuned], shares: Mapping[str, float], dropped: Mapping[str, str]) -> list[str]:
    """The lines for kernels whose best was faster alone and is not used, those that take most time singly."""
    if not lost:
        return []
    texts = [one.task.args[0] for one in lost]
    lines = [
        f"{_count(lost)}{_share(shares, texts)}: timed in the model, not significantly faster there: not used"
    ]
    ordered = sorted(lost, key=lambda one: -shares.get(one.task.args[0], 0.0))
    for one in ordered[:MOST_REASONS]:
        share = _share(shares, [one.task.args[0]])
        reason = dropped[one.task.args[0]]
        lines.append(f"    {label_of(one.task)}{share}: {one.progress.gain:.2f}x alone; {reason}")
    more = len(ordered) - MOST_REASONS
    return [*lines, f"    ... {more} more"] if more > 0 else lines


def _failures(searches: Sequence[Tuned]) -> list[str]:
    """The failed trials, by cause; no line if there are none."""
    causes: Counter[str] = Counter()
    for one in searches:
        causes.update(one.progress.failures)
    if not causes:
        return []
    trials = sum(one.progress.trials for one in searches)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(causes.items()))
    return [f"{sum(causes.values())} of {trials} trials failed: {kinds}"]


def _seconds_saved(search: Tuned) -> float:
    """The seconds of a run that the winner saves."""
    assert search.best is not None
    default = search.best if search.default is None else search.default
    return search.progress.weight * (default.cost - search.best.cost)


def _count(some: Sequence[object]) -> str:
    return "1 kernel" if len(some) == 1 else f"{len(some)} kernels"


def _share(shares: Mapping[str, float], names: Iterable[str]) -> str:
    """The part of the model's time that the kernels take."""
    return f" ({sum(shares.get(name, 0.0) for name in names):.1%} of the time)" if shares else ""
