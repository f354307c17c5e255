"""The page of a run: well-formed, needing nothing else, with what was passed in it."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_up_tuning import MadeUpMachine, small_matmul

from tvmlite import autotune
from tvmlite.autotune import report
from tvmlite.autotune.progress import Progress
from tvmlite.autotune.report import KernelTime
from tvmlite.autotune.report.chart import bars, curve, scatter
from tvmlite.autotune.tune import Tuned

VOID = {"meta", "path", "circle", "polyline"}


class Balanced(HTMLParser):
    """Fails on a tag that is not closed; keeps texts and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data + " "


@pytest.fixture(scope="module")
def tuned() -> list[Tuned]:
    autotune.template("tests.matmul", small_matmul)
    tasks = [autotune.create("tests.matmul", (n, 16, 16)) for n in (16, 32)]
    return autotune.tune(tasks, trials=48, weights=[1, 5], runner=MadeUpMachine())


def read(page: str) -> Balanced:
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_the_page_tells_of_every_task(tuned: list[Tuned], tmp_path: Path) -> None:
    written = report.write(tmp_path / "tune.html", tuned, title="A <model>", peak=1e9, notes=["a & b"])

    reader = read(written.read_text(encoding="utf-8"))

    for words in ("A <model>", "a & b", "tests.matmul(16, 16, 16)", "48", "trials of 2 tasks", "GFLOP/s"):
        assert words in reader.text, words
    assert reader.links == []
    assert "http" not in written.read_text(encoding="utf-8")


def test_it_tells_where_the_time_of_the_model_goes(tuned: list[Tuned]) -> None:
    times = [KernelTime("conv <1>", 2e-3, 1e-3, "tuned"), KernelTime("pool", 1e-3, 1e-3, "default")]

    reader = read(report.page(tuned, times=times))

    assert "Where the time of the model goes" in reader.text
    for words in ("conv <1>", "2 ms", "1 ms", "default", "3 ms", "1.5×"):
        assert words in reader.text, words


def test_a_task_of_which_nothing_was_measured_is_told(tuned: list[Tuned]) -> None:
    empty = Tuned(tuned[0].task, None, None, Progress(tuned[0].task, 8), "random")

    assert "nothing measured" in read(report.page([empty, tuned[1]])).text


def test_pictures_of_little_are_pictures() -> None:
    for picture in (curve([1.0], None, None), curve([0.0, 0.0], 2.0, 3.0), scatter([(1.0, 1.0), (1.0, 2.0)])):
        read(picture)
    assert curve([], None, None) == ""
    read(bars([]))
