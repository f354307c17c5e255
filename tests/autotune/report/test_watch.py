"""Watching a run: the table's cells, the lines without a terminal, the remaining time."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from made_up_tuning import MadeUpMachine

from tvmlite import autotune
from tvmlite.autotune.records.records import Record
from tvmlite.autotune.report import watch as watching
from tvmlite.autotune.report.watch import Watch, label_of
from tvmlite.autotune.search.progress import Progress
from tvmlite.machine.target import Target
from tvmlite.te.space import ConfigSpace, Task


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(task: Task, watch: Callable[..., object]) -> None:
    autotune.tune(task, trials=16, runner=MadeUpMachine(), tuner="random", callbacks=[watch])


def test_without_a_terminal_lines_are_printed(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PRINT_INTERVAL", 0.0)
    stream = io.StringIO()

    with Watch(trials=16, peak=1e9, stream=stream) as watch:
        run(task, watch)

    first, second, heads, last = stream.getvalue().splitlines()
    assert first.startswith("8 trials left; tests.matmul(16, 16, 16): 8 trials, ")
    assert second.startswith("0 trials left; tests.matmul(16, 16, 16): 16 trials, ")
    assert "GFLOP/s, " in first
    assert "% of peak" in first
    assert " alone" in first
    assert "the model" not in stream.getvalue()  # its share of the model is unknown
    assert heads.endswith("in model    kernel")
    assert last.endswith("tests.matmul(16, 16, 16)")


def test_on_a_terminal_a_table_is_shown(task: Task) -> None:
    pytest.importorskip("rich", reason="rich is of the extra tune")
    stream = Terminal()

    with Watch(budget=600, peak=1e9, labels={task.key: "the product"}, stream=stream) as watch:
        run(task, watch)

    text = stream.getvalue()
    assert "tuning 1 kernels, " in text
    assert "GFLOP/s" in text
    assert "the product" in text
    assert watch.rows()[0][2] == "16"


def test_failed_trials_are_counted_and_have_no_times(task: Task) -> None:
    watch = Watch(trials=8, stream=io.StringIO())

    with pytest.raises(Exception, match="nothing could be measured"):
        autotune.tune(task, trials=8, runner=MadeUpMachine(error="crash"), callbacks=[watch])

    assert watch.rows() == [("tests.matmul(16, 16, 16)", "", "8", "8", "", "", "", "", "")]


def test_the_share_of_the_peak_is_at_most_100_percent(task: Task) -> None:
    watch = Watch(trials=16, peak=1.0, stream=io.StringIO())

    run(task, watch)

    assert watch.rows()[0][5] == "100%"


def test_remaining_time_is_shown_in_minutes() -> None:
    assert Watch(budget=600, stream=io.StringIO()).left() == "10:00 left"


def test_a_task_is_named_by_its_label_or_its_name_and_arguments(task: Task) -> None:
    assert label_of(task) == "tests.matmul(16, 16, 16)"
    assert label_of(replace(task, label="conv2d+relu stem 1x64x14")) == "conv2d+relu stem 1x64x14"
    assert label_of(task, {task.key: "x" * 100}) == "x" * 100


def test_a_program_without_a_label_is_named_by_its_first_line() -> None:
    task = Task(
        "fused", ("fn (%p0: Tensor[(1,), float32]) {\n  %p0\n}",), Target.parse("native"), ConfigSpace(), 1.0
    )

    assert label_of(task) == "fused(fn (%p0: Tensor[(1,), float32]) {)"


def test_gains_of_kernels_are_shown_with_the_gain_of_the_model(
    task: Task, other_task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "PRINT_INTERVAL", 0.0)
    stream = io.StringIO()
    record = Record((task.name, task.args), "", task.default, (1e-3,), verified=True)
    large = Progress(task, 9, share=0.5, trials=2, leaders=[record], curve=[2e-3, 1e-3])
    small = Progress(other_task, 9, share=0.01, trials=2, leaders=[record], curve=[6e-3, 1e-3])

    with Watch(trials=18, stream=stream) as watch:
        watch(large, [])
        watch(small, [])

    assert [(row[1], *row[-2:]) for row in watch.rows()] == [
        ("50.0%", "2.00x", "1.333x"),
        ("1.0%", "6.00x", "1.008x"),
    ]
    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("2.00x alone; the model 1.333x if each gains as much in it")
    assert lines[-1] == "the model 1.348x if each gains as much in it"
