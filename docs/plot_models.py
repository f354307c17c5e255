"""Draws ``docs/models.svg`` from the table of models in ``docs/measured.md``: ``python docs/plot_models.py``.

One row per model and number of threads. A bar is a runtime's median time divided by that of the faster peer,
so the faster of onnxruntime and OpenVINO stands at 1 and shorter is faster.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

PAGE = Path(__file__).with_name("measured.md")
PICTURE = Path(__file__).with_name("models.svg")

RUNTIMES = ("tvmlite", "onnxruntime", "openvino")
COLOURS = ("#1f6feb", "#b6bec9", "#d8b365")
TEXT = "#6e7781"  # a grey that can be read on white and on black
LEFT, WIDTH, BAR, GAP, TOP = 150, 470, 7, 9, 46
"""In pixels: where bars start, the length of a bar of time 1.6, its height, the gap, the head."""

Row = tuple[str, int, tuple[float, ...]]


def read_rows(page: str) -> list[Row]:
    """Model, threads and the median milliseconds of ``RUNTIMES``, row by row of the table of models."""
    table = page.split("## Whole models in float32")[1].split("```")[1]
    rows = []
    for line in table.splitlines():
        cells = re.match(r"(\w+) +(\d) +" + r"([\d.]+)\| *[\d.]+ +" * 3, line)
        if cells:
            rows.append((cells[1], int(cells[2]), tuple(float(cells[number]) for number in (3, 4, 5))))
    return rows


def relative(times: tuple[float, ...]) -> tuple[float, ...]:
    """``times`` of ``RUNTIMES``, divided by the shortest of the peers."""
    return tuple(time / min(times[1:]) for time in times)


def geometric_mean(rows: list[Row], threads: int) -> float:
    """The mean of our relative times."""
    ours = [relative(times)[0] for _, count, times in rows if count == threads]
    return math.exp(sum(map(math.log, ours)) / len(ours))


def draw(rows: list[Row], threads: int) -> str:
    """The picture of the rows of so many ``threads``, as SVG text."""
    shown = [(model, relative(times)) for model, count, times in rows if count == threads]
    height = TOP + len(shown) * (3 * BAR + GAP) + 24
    scale = WIDTH / 1.6
    title = f"Untuned, float32, {threads} thread: time relative to the faster of onnxruntime and OpenVINO"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 50} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{TEXT}">',
        f"<title>{title}</title>",
        f'<text x="{LEFT}" y="14" font-weight="600">{title.split(": ")[1]} (shorter is faster)</text>',
    ]
    for number, (runtime, colour) in enumerate(zip(RUNTIMES, COLOURS, strict=True)):
        x = LEFT + 130 * number
        lines.append(f'<rect x="{x}" y="24" width="10" height="10" fill="{colour}"/>')
        lines.append(f'<text x="{x + 15}" y="33">{runtime}</text>')
    for number, (model, times) in enumerate(shown):
        y = TOP + number * (3 * BAR + GAP)
        lines.append(f'<text x="{LEFT - 8}" y="{y + 2 * BAR}" text-anchor="end">{model}</text>')
        for line, (time, colour) in enumerate(zip(times, COLOURS, strict=True)):
            width, top = min(time, 1.6) * scale, y + line * BAR
            lines.append(
                f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR - 1}" fill="{colour}"/>'
            )
        lines.append(f'<text x="{LEFT + WIDTH + 8}" y="{y + 2 * BAR}">{times[0]:.2f}</text>')
    bottom, one = height - 20, LEFT + scale
    lines.append(
        f'<path d="M{one:.1f} {TOP - 4}V{bottom}" stroke="{TEXT}" stroke-dasharray="3 3"/>'
        f'<text x="{one:.1f}" y="{bottom + 14}" text-anchor="middle">1 = the faster peer</text></svg>'
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw the picture, and print the means that README states."""
    rows = read_rows(PAGE.read_text(encoding="utf-8"))
    PICTURE.write_text(draw(rows, threads=1), encoding="utf-8")
    for threads in (1, 2):
        print(f"{threads} thread(s): geometric mean {geometric_mean(rows, threads):.2f}")


if __name__ == "__main__":
    main()
