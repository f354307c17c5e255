"""Numbers as text with three digits and a unit."""

from __future__ import annotations

from collections.abc import Sequence

_SMALL = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def seconds(value: float) -> str:
    """``value`` seconds with a unit: ``1.23 ms``."""
    size, unit = next(((s, u) for s, u in _SMALL if value >= s), _SMALL[-1])
    return f"{digits(value / size)} {unit}"


def amount(value: float, unit: str) -> str:
    """``value`` with a prefix before ``unit``: ``2.15 GFLOP``."""
    size, prefix = next(((s, p) for s, p in _LARGE if value >= s), _LARGE[-1])
    return f"{digits(value / size)} {prefix}{unit}"


def digits(value: float) -> str:
    """Three digits, without an exponent from 0.001 on: ``1230``, ``12.3``, ``0.0123``."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 1e-3 or value == 0 else f"{value:.1e}"


def percent(share: float) -> str:
    """A percentage: ``93%``; with more digits if it is small."""
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" if share >= 0.001 else f"{share:.2%}"


def times(ratio: float) -> str:
    """A ratio with two digits, three from 10 on: ``1.8×``, ``207×``."""
    return f"{ratio:.0f}×" if ratio >= 20 else f"{ratio:.3g}×" if ratio >= 10 else f"{ratio:.2g}×"


def gain(ratio: float) -> str:
    """A ratio with three digits, which gains near one need: ``1.04×``."""
    return f"{ratio:.0f}×" if ratio >= 100 else f"{ratio:.3g}×"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """``rows`` of cells as lines, each column as wide as its longest cell; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
