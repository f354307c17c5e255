"""The report of a quantization as a self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from tvmlite.relay.quantize.report.report import LayerRow, QuantizationReport
from tvmlite.show import html
from tvmlite.te.visualizer import text

PACKAGE = "tvmlite.relay.quantize.report"

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 900, 180, 44, 12, 18

_MAX_BAR_WIDTH = 40
"""The maximum width of a layer's bar."""


def page(
    report: QuantizationReport, title: str = "Quantization", facts: Mapping[str, str] | None = None
) -> html.Page:
    """The HTML of ``report``; equal arguments give equal pages. ``facts`` are shown under the title."""
    values = {
        "title": escape(title),
        "tiles": _tiles(report),
        "options": _options({**(facts or {}), **report.options}),
        "chart": _chart([row for row in report.layers if row.snr is not None]),
        "layers": _layers(report),
    }
    style = html.resource("tvmlite.te.visualizer", "page.css") + html.resource(PACKAGE, "page.css")
    return html.page(title, style, html.resource(PACKAGE, "page.html"), values)


def _tiles(report: QuantizationReport) -> str:
    quantized = sum(row.precision != "float32" for row in report.layers)
    tiles = [(f"{quantized} of {len(report.layers)}", f"layers in {report.narrow}")]
    before, after = (text.amount(size, "B") for size in (report.bytes_before, report.bytes_after))
    tiles.append((after, f"of weights, {before} before"))
    if report.metric_before is not None and report.metric_after is not None:
        tiles.append((f"{report.metric_after:.4g}", f"metric, {report.metric_before:.4g} before"))
    if report.output_snr is not None:
        tiles.append((f"{report.output_snr:.1f} dB", "signal to noise in the outputs"))
    if report.latency is not None:
        first, second = report.latency
        tiles.append((text.seconds(second), f"a run, {text.seconds(first)} before"))
    content = "".join(
        f"<div><b>{escape(value)}</b> <span>{escape(what)}</span></div>" for value, what in tiles
    )
    return f'<div class="tiles">{content}</div>'


def _options(facts: Mapping[str, str]) -> str:
    rows = facts.items()
    content = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in rows)
    return f'<dl class="facts">{content}</dl>' if content else ""


def _layers(report: QuantizationReport) -> str:
    heads, *rows = report.rows()
    heading = ["layer", "operator", *heads[:-2], "why"]
    cells = (
        (row.name, cells[-2], *cells[:-2], row.reason) for row, cells in zip(report.layers, rows, strict=True)
    )
    return html.table(heading, list(cells))


def _chart(rows: list[LayerRow]) -> str:
    """A bar chart of the signal-to-noise ratio of each layer, in the order of the model."""
    if not rows:
        return ""
    values = [max(row.snr or 0.0, 0.0) for row in rows]
    largest = max(60.0, *values) if max(values) < 100 else 100.0
    plot_height = _HEIGHT - _TOP - _BOTTOM
    width = min((_WIDTH - _LEFT) / len(rows), _MAX_BAR_WIDTH)
    parts = []
    for grid in range(0, int(largest) + 1, 20):
        y = _TOP + plot_height * (1 - grid / largest)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{grid}</text>')
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        bar_height = plot_height * min(value, largest) / largest
        kind = "kept" if row.precision == "float32" else "whole"
        name = escape(f"{row.name}: {row.snr:.1f} dB, {row.precision}")
        parts.append(
            f'<rect class="{kind}" x="{_LEFT + place * width:.1f}" y="{_TOP + plot_height - bar_height:.1f}" '
            f'width="{max(width - 1, 0.5):.1f}" height="{bar_height:.1f}"><title>{name}</title></rect>'
        )
    caption = "Signal to noise of each layer, in dB: in few bits (blue) and kept in float32 (grey)"
    label = f'<text x="{_LEFT}" y="{_HEIGHT - 3}">{caption}</text>'
    drawn = "".join(parts) + label
    return f'<figure><svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{drawn}</svg></figure>'
