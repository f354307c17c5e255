"""The page of a graph: complete, self-contained, deterministic, and safe for arbitrary names."""

from __future__ import annotations

import json
import re

import pytest

from tvmlite import cli, relay
from tvmlite.graph_page import Box, Drawing, draw, page
from tvmlite.relay.ir.nodes import Module


def _drawing() -> Drawing:
    boxes = [
        Box("x", "input", "float32 (2,)"),
        Box(
            "tanh",
            "elementwise",
            "float32 (2,)",
            ("exp", "tanh"),
            ("</script><b>",),
            "fn",
            16,
            8,
            4,
            microseconds=2.0,
        ),
        Box("y", "output", "float32 (2,)"),
    ]
    return Drawing(boxes, [(0, 1, "float32 (2,)"), (1, 2, "float32 (2,)")], set(), [])


def _data(html: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_the_page_contains_the_graph_and_is_self_contained() -> None:
    html = page(_drawing(), "net & <co>", "as imported")
    data = _data(html)

    assert "<title>net &amp; &lt;co&gt;</title>" in html
    assert [box["title"] for box in data["boxes"]] == ["x", "tanh", "y"]
    assert data["boxes"][1]["nodes"] == ["</script><b>"]
    assert data["boxes"][1]["microseconds"] == 2.0
    assert data["edges"][0] == [0, 1, "float32 (2,)", 0]
    outside = re.findall(r"(?:src|href)\s*=|@import|url\((?!#)|https?://(?!www\.w3\.org/)", html)
    assert outside == []
    assert "{{" not in html


def test_the_header_has_the_totals() -> None:
    html = page(_drawing(), "net")

    for tile in (
        "<b>1</b> <span>groups",
        "<b>2</b> <span>operators",
        "<b>4 FLOP</b>",
        "<b>8 B</b>",
        "<b>2 µs</b>",
    ):
        assert tile in html


def test_the_same_graph_gives_the_same_page() -> None:
    def made() -> str:
        x = relay.var("x", (3, 4))
        return page(draw(Module.from_expr(relay.Function((x,), relay.nn.softmax(relay.exp(x))))), "net")

    assert made() == made()


def test_the_command_writes_the_page_with_times(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    import onnx
    from small_models import one, tensor

    onnx.save(one("Relu", tensor("x", ["n", 3])), tmp_path / "net.onnx")
    out = tmp_path / "net.html"
    words = ["show", str(tmp_path / "net.onnx"), "--html", str(out)]

    assert cli.main([*words, "--profile", "--dims", "n=5"]) == 0
    timed = _data(out.read_text())
    assert cli.main([*words, "--pass", "none"]) == 0
    plain = _data(out.read_text())
    assert cli.main([*words, "--pass", "none", "--profile"]) == 1

    assert timed["boxes"][1]["microseconds"] > 0
    assert timed["boxes"][1]["bytes"] == 2 * 5 * 3 * 4
    assert "microseconds" not in plain["boxes"][1]
    assert "--profile times the kernels of the whole pipeline" in capsys.readouterr().err
