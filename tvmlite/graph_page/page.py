"""The page of a graph: boxes, edges and numbers as data, with the script that lays out and draws them."""

from __future__ import annotations

import dataclasses
import json
import re
from html import escape
from typing import Any

from tvmlite.graph_page.drawing import Box, Drawing
from tvmlite.show import html
from tvmlite.te.visualizer import text

PACKAGE = "tvmlite.graph_page"


def page(drawing: Drawing, title: str, subtitle: str = "") -> html.Page:
    """Return the HTML of ``drawing``: one self-contained file. The same drawing gives the same page."""
    values = {
        "title": escape(title),
        "subtitle": escape(subtitle),
        "facts": _facts(drawing),
        "script": html.resource(PACKAGE, "page.js"),
        "data": json.dumps(_data(drawing), separators=(",", ":")).replace("</", "<\\/"),
    }
    style = html.resource(PACKAGE, "page.css")
    return html.page(title, style, html.resource(PACKAGE, "page.html"), values)


def _facts(drawing: Drawing) -> str:
    """The figures about the graph."""
    inner = [box for box in drawing.boxes if box.kind not in ("input", "output")]
    fused = any(len(box.operators) > 1 for box in inner)
    tiles = [(str(len(inner)), "groups" if fused else "operators")]
    if fused:
        tiles.append((str(sum(len(box.operators) for box in inner)), "operators"))
    if inner and all(box.flops is not None for box in inner):
        tiles.append((text.amount(sum(box.flops or 0 for box in inner), "FLOP"), "arithmetic"))
    tiles.append((text.amount(sum(box.weights for box in inner), "B"), "of constants"))
    timed = [box.microseconds for box in inner if box.microseconds is not None]
    if timed:
        tiles.append((text.seconds(sum(timed) / 1e6), "in kernels"))
    return "".join(f"<div><b>{escape(number)}</b> <span>{what}</span></div>" for number, what in tiles)


def _data(drawing: Drawing) -> dict[str, Any]:
    return {
        "boxes": [_box(box) for box in drawing.boxes],
        "edges": [[*edge, int(edge[0] in drawing.widely_read)] for edge in drawing.edges],
        "blocks": [[one, _block_title([drawing.boxes[i] for i in one])] for one in drawing.blocks],
    }


def _box(box: Box) -> dict[str, Any]:
    """The fields of ``box`` that are not empty."""
    return {name: value for name, value in dataclasses.asdict(box).items() if value not in (None, "", (), 0)}


def _block_title(boxes: list[Box]) -> str:
    """The common prefix of the names of a block's nodes; empty if there is none."""
    names = [name for box in boxes for name in box.nodes]
    first, last = min(names, default=""), max(names, default="")
    common = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return re.sub(r"[^/.]*$", "", first[:common]).strip("/.")
