"""The summary of a tuning run lists each faster kernel, and groups all others."""

from __future__ import annotations

from made_up_tuning import small_matmul

from tvmlite import autotune
from tvmlite.autotune import Record
from tvmlite.autotune.search.progress import Progress
from tvmlite.autotune.tune import Tuned
from tvmlite.tuning import summary as tuning_summary


def searched(
    size: int, default: float = 0.0, best: float = 0.0, failures: dict[str, int] | None = None
) -> Tuned:
    """A search of 8 trials, or one not begun if neither times nor failures are given."""
    autotune.template("tests.matmul", small_matmul)
    task = autotune.create("tests.matmul", (size, 16, 16))
    records = [
        Record((task.name, task.args), str(task.target), task.default, (seconds,), verified=True)
        for seconds in (best, default)
        if seconds
    ]
    progress = Progress(task, 64, trials=8 if records or failures else 0, failures=failures or {})
    progress.first_failure = "crash: as told" if failures else ""
    return Tuned(task, *(records or (None, None)), progress, "random")


def test_faster_kernels_come_first_ordered_by_saved_time() -> None:
    some = [searched(16, 2e-3, 1e-3), searched(64, 9e-3, 2e-3), searched(32, 1e-3, 1e-3)]

    lines = tuning_summary.lines(some, {}, {}, {})

    assert [line.split(":")[0] for line in lines] == [
        "tests.matmul(64, 16, 16)",
        "tests.matmul(16, 16, 16)",
        "1 kernel",
    ]
    assert lines[2] == "1 kernel: nothing faster than the default was found"


def test_untried_kernels_share_a_line_with_their_share_of_the_time() -> None:
    some = [searched(16), searched(32), searched(64, 1e-3, 1e-3)]

    lines = tuning_summary.lines(some, {}, {16: 0.125, 32: 0.25, 64: 0.5}, {})  # type: ignore[dict-item]

    assert lines == [
        "1 kernel (50.0% of the time): nothing faster than the default was found",
        "2 kernels (37.5% of the time): not tried: all trials or all the time went to other kernels",
    ]


def test_kernels_not_timed_in_the_model_are_reported() -> None:
    some = [searched(16, 2e-3, 1e-3), searched(64, 1e-3, 1e-3)]

    lines = tuning_summary.lines(some, {}, {}, {}, late=[some[0].task.args[0]])  # type: ignore[list-item]

    assert lines == [
        "1 kernel: nothing faster than the default was found",
        "1 kernel: no time was left to time the best in the model; --resume does",
    ]


def test_kernels_that_are_not_tasks_are_grouped_by_reason() -> None:
    skipped = {
        "a": "open dimensions n",
        "b": "open dimensions n",
        "c": "its loops are written by hand (te.extern)",
    }

    lines = tuning_summary.lines([], skipped, {"a": 0.5, "b": 0.25, "c": 0.25}, {})

    assert lines == [
        "2 kernels (75.0% of the time): not tuned: open dimensions n",
        "1 kernel (25.0% of the time): not tuned: its loops are written by hand (te.extern)",
    ]


def test_failures_of_all_kernels_are_counted_by_cause() -> None:
    some = [
        searched(16, 1e-3, 1e-3, {"refused": 2, "timeout": 1}),
        searched(32, 1e-3, 1e-3, {"refused": 1}),
        searched(64, failures={"crash": 8}),
    ]

    lines = tuning_summary.lines(some, {}, {}, {})

    assert (
        lines[0] == "tests.matmul(64, 16, 16): nothing could be measured: 8 crash; the first: crash: as told"
    )
    assert lines[-1] == "12 of 24 trials failed: 8 crash, 3 refused, 1 timeout"


def test_reasons_for_unused_results_are_listed_for_the_costliest_kernels() -> None:
    some = [searched(16 * n, 1e-3, 1e-3) for n in range(1, 8)]
    for one in some:
        one.progress.curve = [2e-3, 1e-3]
        one.progress.leaders = [one.best] if one.best else []
    shares = {16 * n: 0.01 * n for n in range(1, 8)}
    dropped = {16 * n: f"reason {n}" for n in range(1, 8)}

    lines = tuning_summary.lines(some, {}, shares, dropped)  # type: ignore[arg-type]

    assert lines[:2] == [
        "7 kernels (28.0% of the time): timed in the model, not significantly faster there: not used",
        "    tests.matmul(112, 16, 16) (7.0% of the time): 2.00x alone; reason 7",
    ]
    assert lines[5:] == [
        "    tests.matmul(48, 16, 16) (3.0% of the time): 2.00x alone; reason 3",
        "    ... 2 more",
    ]
