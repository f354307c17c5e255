"""Live view of a tuning run: a table that is updated in place, or printed lines without a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TextIO

from tvmlite.autotune.records.records import Record
from tvmlite.autotune.report.live import Display, display_for
from tvmlite.autotune.search.progress import Progress
from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.te.space import Task
from tvmlite.te.visualizer import text

PRINT_INTERVAL = 10.0
"""Seconds between two printed lines, if no table can be shown."""

ROWS = 24
"""The most tasks in the table: those whose kernels take most of the time."""

COLUMNS = ("kernel", "of time", "trials", "failed", "GFLOP/s", "of peak", "best", "alone", "in model")
"""``alone`` is the gain of the best over the default by itself; ``in model`` the resulting gain of the whole
model, if the kernel gains as much in it."""


def label_of(task: Task, labels: Mapping[str, str] | None = None) -> str:
    """The name to show for ``task``: its entry in ``labels``, by key, its label, or name and arguments."""
    given = (labels or {}).get(task.key) or task.label
    return given or f"{task.name}({', '.join(str(arg).partition(chr(10))[0] for arg in task.args)})"


def expected_gain(tasks: Sequence[Progress]) -> float:
    """The gain of the whole model, if each kernel gains as much in it as by itself."""
    return 1 / (1 - sum(one.share * (1 - 1 / one.gain) for one in tasks))


class Watch:
    """A callback of ``tune``, and a context manager: shows the state of each task, and the time left.

    ::

        with Watch(budget=600) as watch:
            autotune.tune(tasks, "tune.jsonl", budget=600, callbacks=[watch])

    In a notebook, and on a terminal with the package rich, it shows a table, otherwise it prints a line every
    ``PRINT_INTERVAL``. ``peak`` is the machine's peak in operations a second; ``trials`` or ``budget``
    (seconds) are those of the run, to show how much is left; ``labels`` are names of tasks by key.
    """

    def __init__(
        self,
        *,
        trials: int | None = None,
        budget: float | None = None,
        peak: float | None = None,
        labels: Mapping[str, str] | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self.trials, self.budget, self.peak, self.labels = trials, budget, peak, labels
        self.stream = sys.stderr if stream is None else stream
        if not (hasattr(self.stream, "write") and hasattr(self.stream, "isatty")):
            raise arguments.refused("Watch: stream", stream, "a stream to write text to", InputError)
        for name, value in (("budget", budget), ("peak", peak)):
            if value is not None:
                arguments.number(f"Watch: {name}", value, InputError)
        if trials is not None:
            arguments.whole("Watch: trials", trials, InputError, least=1)
        arguments.mapping("Watch: labels", labels, InputError)
        self.tasks: dict[str, Progress] = {}
        self._started = self._printed = time.monotonic()
        self._display = display_for(self.stream)

    def __call__(self, progress: Progress, new: Sequence[Record]) -> None:
        """Show the ``progress`` of one task: a table is redrawn at once, a line printed every
        ``PRINT_INTERVAL``."""
        self.tasks[progress.task.key] = progress
        if self.peak is not None:  # the peak was measured too low, while the machine was disturbed
            self.peak = max(self.peak, progress.best_flops)
        if self._display is not None:
            self._show(self._display)
        elif time.monotonic() - self._printed >= PRINT_INTERVAL:
            self._printed = time.monotonic()
            print(self._line(progress), file=self.stream, flush=True)

    def say(self, message: str) -> None:
        """Print ``message``, above the table where there is one."""
        if self._display is not None:
            self._display.say(message)
        else:
            print(message, file=self.stream, flush=True)

    def __enter__(self) -> Watch:
        self._started = self._printed = time.monotonic()
        if self._display is not None:
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.stop()
        elif self.tasks:
            for row in (COLUMNS, *self.rows()):
                print("  ".join(f"{cell:>8}" for cell in (*row[1:], row[0])), file=self.stream, flush=True)
            if model := self._model():
                print(model.removeprefix("; "), file=self.stream, flush=True)

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, as ``COLUMNS``; the tasks that take most time first."""

        def weight(progress: Progress) -> float:
            return progress.weight * progress.best.cost if progress.best else float("inf")

        return [self._row(one) for one in sorted(self.tasks.values(), key=weight, reverse=True)[:ROWS]]

    def left(self) -> str:
        """How much time or how many trials are left."""
        if self.budget is not None:
            seconds = max(0, round(self.budget - (time.monotonic() - self._started)))
            return f"{seconds // 60}:{seconds % 60:02} left"
        done = sum(progress.trials for progress in self.tasks.values())
        return f"{done} trials" if self.trials is None else f"{max(0, self.trials - done)} trials left"

    def _row(self, progress: Progress) -> tuple[str, ...]:
        failed = str(sum(progress.failures.values()) or "")
        share = f"{progress.share:.1%}" if progress.share else ""
        head = (label_of(progress.task, self.labels), share, str(progress.trials), failed)
        if progress.best is None:
            return (*head, "", "", "", "", "")
        peak = f"{progress.best_flops / self.peak:.0%}" if self.peak else ""
        best = text.seconds(progress.best.cost)
        model = f"{expected_gain([progress]):.3f}x" if progress.share else ""
        return (*head, f"{progress.best_flops / 1e9:.1f}", peak, best, f"{progress.gain:.2f}x", model)

    def _line(self, progress: Progress) -> str:
        name, share, trials, failed, flops, peak, best, gain, _ = self._row(progress)
        parts = [
            f"{share} of the time" if share else "",
            f"{trials} trials",
            f"{failed} failed" if failed else "",
        ]
        parts += [f"{flops} GFLOP/s" if flops else "", f"{peak} of peak" if peak else "", best]
        parts += [f"{gain} alone" if gain else ""]
        return f"{self.left()}; {name}: " + ", ".join(part for part in parts if part) + self._model()

    def _model(self) -> str:
        """The expected gain of the whole model; empty if the kernels' shares of the time are unknown."""
        if not any(one.share for one in self.tasks.values()):
            return ""
        return f"; the model {expected_gain(list(self.tasks.values())):.3f}x if each gains as much in it"

    def _show(self, display: Display) -> None:
        title = f"tuning {len(self.tasks)} kernels, {self.left()}{self._model()}"
        rows = self.rows()
        filled = [place for place, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
        display.show(title, [[row[place] for place in filled] for row in (COLUMNS, *rows)])
