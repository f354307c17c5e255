"""The page of a run is well-formed and self-contained, and shows the values it was given."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_up_tuning import MadeUpMachine, small_matmul

from tvmlite import autotune
from tvmlite.autotune import report
from tvmlite.autotune.report import KernelTime, ModelTime
from tvmlite.autotune.report.chart import bars, curve, scatter
from tvmlite.autotune.search.progress import Progress
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


def test_the_page_lists_every_task(tuned: list[Tuned], tmp_path: Path) -> None:
    written = report.write(tmp_path / "tune.html", tuned, title="A <model>", peak=1e9, notes=["a & b"])

    reader = read(written.read_text(encoding="utf-8"))

    for words in ("A <model>", "a & b", "tests.matmul(16, 16, 16)", "48", "trials of 2 kernels", "GFLOP/s"):
        assert words in reader.text, words
    assert reader.links == []
    assert "http" not in written.read_text(encoding="utf-8")


def test_the_page_shows_the_time_of_each_kernel_of_the_model(tuned: list[Tuned]) -> None:
    times = [KernelTime("conv <1>", 2e-3, 1e-3, "tuned"), KernelTime("pool", 1e-3, 1e-3, "default")]

    reader = read(report.page(tuned, times=times))

    assert "Where the time of a run goes" in reader.text
    for words in ("conv <1>", "2 ms", "1 ms", "default"):
        assert words in reader.text, words


def test_a_task_without_a_measurement_is_listed(tuned: list[Tuned]) -> None:
    empty = Tuned(tuned[0].task, None, None, Progress(tuned[0].task, 8), "random")

    assert (
        "1 kernel: not tried: all trials or all the time went to others"
        in read(report.page([empty, tuned[1]])).text
    )


def test_kernels_without_a_measurement_share_a_line_for_each_reason(tuned: list[Tuned]) -> None:
    def unmeasured(name: str, failures: dict[str, int]) -> Tuned:
        task = replace(tuned[0].task, label=name)
        progress = Progress(task, 8, failures=failures, first_failure="crash: as told" if failures else "")
        return Tuned(task, None, None, progress, "random")

    idle = [unmeasured(f"idle {n}", {}) for n in range(38)]
    broken = unmeasured("broken", {"crash": 8})
    skipped = {
        "copy": "its loops are written by hand (te.extern)",
        "cast": "its loops are written by hand (te.extern)",
    }

    html = report.page([*idle, broken, tuned[1]], skipped=skipped)

    reader = read(html)
    for line in (
        "38 kernels: not tried: all trials or all the time went to others",
        "1 kernel: nothing could be measured: 8 crash; the first: crash: as told",
        "2 kernels: not tuned: its loops are written by hand (te.extern)",
    ):
        assert reader.text.count(line) == 1, line
    assert html.count("<tr>") == 2  # the head and the one that was measured
    assert html.count("<li>idle ") == 38


def test_the_header_has_the_facts_of_the_run_and_the_gain_of_the_model(tuned: list[Tuned]) -> None:
    model = ModelTime(2.634e-4, 1.96e-4, 1.344, (1.31, 1.372))
    facts = {"date": "2026-11-24 06:26 +0000", "machine": "A <fast> one, 8 cores", "threads": "2"}

    text = read(report.page(tuned, facts=facts, model=model)).text

    for words in ("2026-11-24 06:26 +0000", "A <fast> one, 8 cores", "263 µs", "196 µs", "1.34×"):
        assert words in text, words
    assert "as fast, 95% interval 1.31× to 1.37×" in text
    assert report.page(tuned, facts=facts, model=model) == report.page(tuned, facts=facts, model=model)


def test_long_names_are_not_shortened(tuned: list[Tuned]) -> None:
    names = [f"{'conv2d+add+relu+' * 8} /a/very/deep/block.{n}/Conv 1x64x56x56" for n in (1, 2)]
    some = [replace(one, task=replace(one.task, label=name)) for one, name in zip(tuned, names, strict=True)]

    text = read(report.page(some)).text

    assert all(name in text for name in names)


def test_a_row_says_why_its_result_is_not_used(tuned: list[Tuned]) -> None:
    html = report.page(tuned, outcomes={tuned[0].task.key: "1.1x [0.9, 1.3] in the model: may be chance"})

    assert '<td class="words">1.1x [0.9, 1.3] in the model: may be chance</td>' in html
    assert '<td class="words">used</td>' in html


def test_labels_of_lines_do_not_overlap() -> None:
    for default, peak in ((10.0, 10.2), (9.9, 10.0), (0.01, 12.0), (0.01, 0.02)):
        picture = curve([0.02, 9.9, 10.0], default, peak)
        heights = [float(y) for y in re.findall(r'-name" x="\d+" y="([\d.]+)"', picture)]
        assert len(heights) == 3
        assert all(abs(a - b) >= 12 for n, a in enumerate(heights) for b in heights[:n])
        assert all(10 < y < 210 for y in heights)


def test_pictures_of_few_points_are_well_formed() -> None:
    for picture in (curve([1.0], None, None), curve([0.0, 0.0], 2.0, 3.0), scatter([(1.0, 1.0), (1.0, 2.0)])):
        read(picture)
    assert curve([], None, None) == ""
    read(bars([]))
