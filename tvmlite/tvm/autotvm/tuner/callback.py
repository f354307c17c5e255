"""Callbacks that run after each batch of measurements."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm.logs import encode
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.tuner.tuner import Callback, flops_of
from tvmlite.tvm.autotvm.utils import format_si_prefix

logger = logging.getLogger("autotvm")


def log_to_file(file_out: Any, protocol: str = "json") -> Callback:
    """Append each record to the file ``file_out``, a path or an open text file."""

    def log(_tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        text = "".join(f"{encode(inp, res, protocol)}\n" for inp, res in zip(inputs, results, strict=True))
        if isinstance(file_out, (str, bytes, os.PathLike)):
            with open(file_out, "a", encoding="utf-8") as file:
                file.write(text)
        else:
            file_out.write(text)

    return log


def log_to_database(db: Any) -> Callback:
    """Save each record in ``db`` (``autotvm.database``)."""

    def log(_tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, res in zip(inputs, results, strict=True):
            db.save(inp, res)

    return log


class Monitor:
    """Keeps the operations per second of each trial (``scores``; 0 if it failed) and the time when it
    ended."""

    def __init__(self) -> None:
        self.reset()

    def __call__(self, tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Add the results of a batch."""
        self.scores += [flops_of(inp, res) for inp, res in zip(inputs, results, strict=True)]
        self.timestamps += [res.timestamp for res in results]

    def reset(self) -> None:
        """Remove all trials."""
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def trial_scores(self) -> np.ndarray:
        """Return the operations per second of all trials."""
        return np.array(self.scores)

    def trial_timestamps(self) -> np.ndarray:
        """Return the end of each trial, in seconds since 1970."""
        return np.array(self.timestamps)


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """Show the last and the best operations per second and how many of ``total`` trials are done, on one line
    of a terminal, in units of ``si_prefix``. Shows nothing if stdout is not a terminal or if each trial is
    logged."""
    format_si_prefix(0, si_prefix)
    start, done = time.monotonic(), 0

    def show(tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        nonlocal done
        done += len(inputs)
        if logger.isEnabledFor(logging.DEBUG) or not sys.stdout.isatty():
            return
        last = format_si_prefix(flops_of(inputs[-1], results[-1]), si_prefix)
        best = format_si_prefix(tuner.best_flops, si_prefix)
        seconds = time.monotonic() - start
        text = f"{prefix} Current/Best: {last:7.2f}/{best:7.2f} {si_prefix}FLOPS | Progress: ({done}/{total})"
        print(f"\r{text} | {seconds:.2f} s", end="\n" if done >= total else "", flush=True)

    return show


__getattr__ = refusing(__name__)
