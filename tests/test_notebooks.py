"""Displays in notebooks: tables, pages in frames, and a table of tuning that is updated in place."""

from __future__ import annotations

import io
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, te
from tvmlite.autotune.report.live import Notebook, display_for
from tvmlite.autotune.report.watch import Watch
from tvmlite.core.errors import InputError
from tvmlite.show.html import Page, collapsible, grid


class Cells(HTMLParser):
    """The texts of table cells and of other elements, and the attributes by element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.attributes: dict[str, dict[str, str | None]] = {}
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.attributes[tag] = dict(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def model() -> relay.Module:
    x = relay.var("x", shape=("n", 4))
    dense = relay.nn.dense(x, relay.const(np.ones((3, 4), np.float32)))
    return relay.Module({"main": relay.Function([x], relay.nn.relu(dense))}, ("y <out>",))


def test_text_in_tables_is_escaped() -> None:
    cells = Cells(grid([("a", "b"), ("<i>", "x & y")]) + collapsible("<b>", "<u>"))

    assert cells.texts == ["a", "b", "<i>", "x & y", "<b>", "<u>"]
    assert cells.open == []


def test_a_module_shows_its_inputs_outputs_operators_and_text() -> None:
    cells = Cells(model()._repr_html_())

    assert cells.texts[0] == "2 calls of 2 operators, 0.0 MB of constants"
    assert {"x", "Tensor[(n, 4), float32]", "y <out>", "Tensor[(n, 3), float32]"} <= set(cells.texts)
    assert {"nn.dense", "nn.relu"} <= set(cells.texts)
    assert "def @main" in cells.texts[-1]


def test_a_compiled_model_shows_its_signature_kernels_and_times() -> None:
    lib = tvmlite.compile(model())
    shown = Cells(lib._repr_html_())
    profile = lib.profile(np.ones((2, 4), np.float32))

    assert {"x", "float32[n, 4]", "y <out>", "float32[n, 3]"} <= set(shown.texts)
    assert lib.report.rows[0].label in shown.texts
    times = set(Cells(profile._repr_html_()).texts)
    assert {"kernel", "time", "share", lib.kernel_labels[0], "100.0%"} <= times


def test_a_schedule_shows_its_loops_and_primitives() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    assert "Primitives" not in s._repr_html_()
    _, inner = s[b].split(b.op.axis[0], 4)
    s[b].vectorize(inner)

    text = "".join(Cells(s._repr_html_()).texts)
    assert "i.inner: data, vectorize" in text
    assert "2. s[B].vectorize(i.inner)" in text


def test_a_schedule_has_no_other_display_methods() -> None:
    s = te.create_schedule(te.compute((8,), lambda i: i, name="B").op)

    assert not hasattr(s, "_ipython_canary_method_should_not_exist_")
    assert not hasattr(s, "_repr_png_")


def test_a_page_is_a_string_shown_in_a_sandboxed_frame(tmp_path: Any) -> None:
    page = tvmlite.draw(model(), sizes={"n": 2}, title="small")

    assert isinstance(page, Page)
    assert page.save(tmp_path / "graph.html").read_text(encoding="utf-8") == page
    frame = Cells(page._repr_html_().replace("></iframe>", "/>")).attributes["iframe"]
    assert frame["srcdoc"] == page
    assert frame["sandbox"] == "allow-scripts"
    assert "n = 2" in page


def test_a_compiled_model_is_drawn_with_kernel_times() -> None:
    lib = tvmlite.compile(model())
    page = tvmlite.draw(lib, sizes={"n": 2}, profile=lib.profile(np.ones((2, 4), np.float32)))

    assert '"microseconds":' in page
    assert '"microseconds":' not in tvmlite.draw(lib, sizes={"n": 2})


def test_draw_refuses_a_wrong_model_or_profile() -> None:
    profile = tvmlite.compile(model()).profile(np.ones((2, 4), np.float32))

    with pytest.raises(InputError, match="draw: model: 3 given, expected a module or a compiled one"):
        tvmlite.draw(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="draw: profile is of 1 kernels, the model has 0"):
        tvmlite.draw(model(), profile=profile)


def test_visualize_without_a_path_returns_a_page() -> None:
    b = te.compute((8,), lambda i: i + 1, name="B")

    page = te.visualize(te.create_schedule(b.op), [b], path=None, budget=None)

    assert isinstance(page, Page)
    assert "<title>" in page


class _Handle:
    def __init__(self, outputs: list[str]) -> None:
        self.outputs = outputs

    def update(self, shown: dict[str, str], raw: bool) -> None:
        assert raw
        self.outputs[-1] = shown["text/html"]


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Outputs of a notebook cell, collected by a fake IPython display."""
    made: list[str] = []

    def display(shown: dict[str, str], raw: bool, display_id: bool) -> _Handle:
        assert raw
        assert display_id
        made.append(shown["text/html"])
        return _Handle(made)

    shell = SimpleNamespace(kernel=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return made


def test_the_table_in_a_notebook_is_updated_in_place(outputs: list[str]) -> None:
    shown = display_for(sys.stderr)
    assert isinstance(shown, Notebook)

    shown.start()
    shown.show("tuning", [("kernel",), ("a",)])
    shown.show("tuning", [("kernel",), ("b",)])
    shown.say("nothing <else>")
    shown.stop()

    assert [Cells(one).texts for one in outputs] == [["nothing <else>", "tuning", "kernel", "b"]]


def test_outside_notebooks_lines_are_printed() -> None:
    assert display_for(io.StringIO()) is None
    stream = io.StringIO()
    with Watch(stream=stream) as watch:
        watch.say("one line")
    assert stream.getvalue() == "one line\n"


def test_repr_of_objects_is_what_print_shows() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], 4)
    loops = te.lower(s, [a, b])
    timing = tvmlite.build(s, [a, b]).time(np.zeros(8, np.float32), np.zeros(8, np.float32), budget=0.01)
    lib = tvmlite.compile(model())

    for shown in (s, s.trace, s.trace[0], loops, loops.body, timing, lib.report):
        assert repr(shown) == str(shown)
        assert f"{type(shown).__name__}(" not in repr(shown)
    assert repr(tvmlite.draw(model(), sizes={"n": 2})).startswith("<page of ")
