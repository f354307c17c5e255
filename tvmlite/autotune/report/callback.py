"""Callbacks for tuning: keep the records, show the progress."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tvmlite.autotune.records import records as rec
from tvmlite.autotune.report.live import in_notebook
from tvmlite.autotune.search.engine import Callback
from tvmlite.autotune.search.progress import Progress


def log_to_file(path: str | Path) -> Callback:
    """Append every record to the file at ``path``."""

    def log(_progress: Progress, new: Sequence[rec.Record]) -> None:
        rec.append(path, new)

    return log


def progress_bar(total: int | None = None, prefix: str = "") -> Callback:
    """Show trials done, the best so far and failures, on one line of a terminal or a notebook, if any.

    ``total`` is accepted for compatibility with AutoTVM and has no effect: the run knows it.
    """

    def show(progress: Progress, _new: Sequence[rec.Record]) -> None:
        if not (sys.stderr.isatty() or in_notebook()):
            return
        failed = sum(progress.failures.values())
        text = f"{prefix}{progress.task.name}: {progress.trials}/{progress.total}"
        text += f", best {progress.best_flops / 1e9:.1f} GFLOP/s" + (f", {failed} failed" if failed else "")
        end = "\n" if progress.trials >= progress.total else ""
        print(f"\r{text:<78}", end=end, file=sys.stderr, flush=True)

    return show
