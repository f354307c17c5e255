"""A chart of the rate after each step of a schedule, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 1000, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 26, 34


@dataclass(frozen=True)
class Point:
    """A step: its ``rate`` (None if not timed), its interval ``low`` to ``high``, and the limit ``roof``.

    ``label`` is the text for screen readers and tooltips."""

    number: int
    label: str
    rate: float | None = None
    low: float = 0.0
    high: float = 0.0
    roof: float | None = None


def chart(points: Sequence[Point], unit: str) -> str:
    """The chart of the rates of ``points``, in ``unit``, on a logarithmic scale, with the roofline."""
    rates = [p.rate for p in points if p.rate]
    roofs = [p.roof for p in points if p.roof]
    if not rates:
        return ""
    scale = _Scale(min(rates), max(rates + roofs), len(points))
    return "".join(
        [
            f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" ',
            f'aria-label="{escape(unit)} after each step, logarithmic scale">',
            *(_column(scale, p.number) for p in points),
            *_grid(scale, unit),
            *_roof(scale, points),
            *_curve(scale, points),
            *(_dot(scale, p, len(points)) for p in points),
            "</svg>",
        ]
    )


class _Scale:
    """Maps numbers of steps and rates to coordinates of the chart."""

    def __init__(self, least: float, most: float, count: int) -> None:
        self.low = math.log10(least) - 0.15
        self.high = math.log10(most) + 0.12
        if self.high - self.low < 1:
            self.low = self.high - 1
        self.count = count

    def x(self, number: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (number + 0.5) / self.count

    def y(self, rate: float) -> float:
        part = (math.log10(max(rate, 1e-30)) - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(max(part, 0.0), 1.0)


def _grid(scale: _Scale, unit: str) -> list[str]:
    made = [f'<text class="axis" x="4" y="14">{escape(unit)}</text>']
    steps = (1, 2, 5) if scale.high - scale.low < 1.6 else (1,)
    for power in range(math.floor(scale.low), math.ceil(scale.high) + 1):
        for rate in (step * 10.0**power for step in steps):
            if scale.low <= math.log10(rate) <= scale.high:
                y = scale.y(rate)
                made.append(
                    f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
                    f'<text class="axis" text-anchor="end" x="{_LEFT - 8}" y="{y + 4:.1f}">{rate:g}</text>'
                )
    return made


def _roof(scale: _Scale, points: Sequence[Point]) -> list[str]:
    """The roofline, which steps where the number of threads changes."""
    path, last = "", None
    for point in points:
        if point.roof is None:
            continue
        y = scale.y(point.roof)
        left, right = scale.x(point.number - 0.5), scale.x(point.number + 0.5)
        path += f"M{left:.1f} {y:.1f}H{right:.1f}" if last is None else f"L{left:.1f} {y:.1f}H{right:.1f}"
        last = y
    if last is None:
        return []
    where = scale.x(points[-1].number + 0.5)
    return [
        f'<path class="roof" d="{path}"/>',
        f'<text class="roof-name" text-anchor="end" x="{where:.1f}" y="{last - 7:.1f}">roofline</text>',
    ]


def _curve(scale: _Scale, points: Sequence[Point]) -> list[str]:
    places = [f"{scale.x(p.number):.1f} {scale.y(p.rate):.1f}" for p in points if p.rate]
    return [f'<path class="curve" d="M{"L".join(places)}"/>']


def _column(scale: _Scale, number: int) -> str:
    """The background of a step, which is coloured when the step is selected."""
    left, right = scale.x(number - 0.5), scale.x(number + 0.5)
    place = f'x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" height="{_HEIGHT - _TOP}"'
    return f'<rect class="column" data-step="{number}" {place} rx="6"/>'


def _dot(scale: _Scale, point: Point, count: int) -> str:
    x = scale.x(point.number)
    column = (_WIDTH - _LEFT - _RIGHT) / count
    made = [
        f'<a href="#step-{point.number}" data-step="{point.number}" class="dot" ',
        f'aria-label="{escape(point.label)}"><title>{escape(point.label)}</title>',
        f'<rect class="hit" x="{x - column / 2:.1f}" y="{_TOP}" width="{column:.1f}" ',
        f'height="{_HEIGHT - _TOP}"/>',
        f'<text class="tick" text-anchor="middle" x="{x:.1f}" y="{_HEIGHT - 10}">{point.number}</text>',
    ]
    if point.rate is None:
        y = _HEIGHT - _BOTTOM - 8
        made.append(f'<path class="cross" d="M{x - 5:.1f} {y - 5}l10 10m0 -10l-10 10"/>')
    else:
        y = scale.y(point.rate)
        made.append(f'<path class="bar" d="M{x:.1f} {scale.y(point.low):.1f}V{scale.y(point.high):.1f}"/>')
        made.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>')
        if column > 44:
            made.append(
                f'<text class="value" text-anchor="middle" x="{x:.1f}" y="{y + 20:.1f}">'
                f"{point.rate:.3g}</text>"
            )
    return "".join((*made, "</a>"))
