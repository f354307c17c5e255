"""The charts of a tuning run as inline SVG: curves, scatter plots, bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tvmlite.te.visualizer import text

_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 24, 34
_LABEL_MARGIN = 96
"""The margin on the right for the names of lines, so that no name overlaps a curve."""

_LABEL_SPACING = 14
"""The distance between the names of two lines."""


def curve(rates: Sequence[float], default: float | None, peak: float | None) -> str:
    """Plot the best of ``rates`` (GFLOP/s) so far over trials, with lines for the default and the peak."""
    if not rates:
        return ""
    most = max([*rates, default or 0.0, 1e-9]) * 1.08
    if peak and peak < 3 * most:
        most = max(most, peak * 1.04)
    frame = _Frame(1, max(len(rates), 2), 0, most, _LABEL_MARGIN)
    points = " ".join(f"{frame.x(n):.1f},{frame.y(rate):.1f}" for n, rate in enumerate(rates, 1))
    ends = [("roof", "default", default), ("roof", "peak", peak), ("best", "best", rates[-1])]
    lines = _lines(frame, [(kind, name, value) for kind, name, value in ends if value and value <= most])
    return frame.svg("best so far", "trials", [*lines, f'<polyline class="curve" points="{points}"/>'])


def scatter(points: Sequence[tuple[float, float]]) -> str:
    """Plot the measured GFLOP/s over the predicted scores."""
    predicted, measured = [p for p, _ in points], [s for _, s in points]
    frame = _Frame(min(predicted), max(predicted), 0, max(measured) * 1.08)
    dots = [f'<circle cx="{frame.x(p):.1f}" cy="{frame.y(s):.1f}" r="3"/>' for p, s in points]
    return frame.svg("predicted and measured", "predicted before measuring", dots)


def bars(rows: Sequence[tuple[str, float, float, str]]) -> str:
    """Return a table of names, in order, with bars for the seconds that each takes before and after."""
    most = max([max(before, after) for _, before, after, _ in rows] + [1e-12])
    cells = []
    for name, before, after, origin in rows:
        both = "".join(
            f'<span class="bar {kind}" style="--share:{value / most:.2%}"></span>'
            for kind, value in (("before", before), ("after", after))
        )
        cells.append(
            f'<tr><th scope="row">{escape(name)}</th><td class="bars">{both}</td>'
            f"<td>{text.seconds(before)}</td><td>{text.seconds(after)}</td><td>{escape(origin)}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("kernel", "", "before", "after", "schedule"))
    return f'<table class="tasks"><thead><tr>{head}</tr></thead><tbody>{"".join(cells)}</tbody></table>'


class _Frame:
    """Maps values to coordinates of a chart."""

    def __init__(self, left: float, right: float, low: float, high: float, margin: int = _RIGHT) -> None:
        self.left, self.low = left, low
        self.width, self.height = right - left or 1.0, high - low or 1.0
        self.end = _WIDTH - margin

    def x(self, value: float) -> float:
        return _LEFT + (self.end - _LEFT) * (value - self.left) / self.width

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - self.low) / self.height

    def svg(self, name: str, x_label: str, inside: Sequence[str]) -> str:
        """Return the chart with its axes."""
        grid = []
        for value in _ticks(self.low, self.low + self.height):
            y = self.y(value)
            grid.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{self.end}"/>')
            grid.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        for value in _ticks(self.left, self.left + self.width):
            place = f'x="{self.x(value):.1f}" y="{_HEIGHT - _BOTTOM + 16}"'
            grid.append(f'<text {place} text-anchor="middle">{value:g}</text>')
        names = (
            f'<text x="{_LEFT}" y="12">GFLOP/s</text>'
            f'<text x="{self.end}" y="{_HEIGHT - 4}" text-anchor="end">{escape(x_label)}</text>'
        )
        start = f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(name)}">'
        return f"{start}{''.join(grid)}{names}{''.join(inside)}</svg>"


def _lines(frame: _Frame, ends: Sequence[tuple[str, str, float]]) -> list[str]:
    """Horizontal lines at the values of ``ends`` (kind, name, value), with their names in the margin, without
    overlap. For the kind ``best`` there is only the name: its line is the curve."""
    made, last = [], -math.inf
    lowest = _HEIGHT - _BOTTOM - _LABEL_SPACING * (len(ends) - 1)
    for kind, name, value in sorted(ends, key=lambda end: -end[2]):
        y = frame.y(value)
        last = max(min(y + 4, lowest + 4), last + _LABEL_SPACING)
        lowest += _LABEL_SPACING
        if kind == "roof":
            made.append(f'<path class="roof" d="M{_LEFT} {y:.1f}H{frame.end}"/>')
        place = f'x="{frame.end + 6}" y="{last:.1f}"'
        made.append(f'<text class="{kind}-name" {place}>{escape(name)} {text.digits(value)}</text>')
    return made


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between ``low`` and ``high``, about five."""
    rough = (high - low) / 5 or 1.0
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * n for n in (1, 2, 5, 10) if size * n >= rough)
    first = math.ceil(low / step)
    return [round(n * step, 10) for n in range(first, math.floor(high / step) + 1)]
