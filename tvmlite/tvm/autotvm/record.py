"""Logs of measurements: encode and decode lines, read files, and pick the best records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tvmlite.tvm.autotvm.logs import AUTOTVM_LOG_VERSION as AUTOTVM_LOG_VERSION
from tvmlite.tvm.autotvm.logs import clean_json_to_python as clean_json_to_python
from tvmlite.tvm.autotvm.logs import decode as decode
from tvmlite.tvm.autotvm.logs import encode as encode
from tvmlite.tvm.autotvm.logs import load_from_buffer as load_from_buffer
from tvmlite.tvm.autotvm.logs import load_from_file as load_from_file
from tvmlite.tvm.autotvm.logs import measure_str_key as measure_str_key
from tvmlite.tvm.autotvm.measure.base import MeasureInput as MeasureInput
from tvmlite.tvm.autotvm.measure.base import MeasureResult as MeasureResult
from tvmlite.tvm.autotvm.task.dispatcher import ApplyHistoryBest as ApplyHistoryBest


def pick_best(in_file: Any, out_file: Any) -> None:
    """Write the fastest record of each task in the log ``in_file`` to ``out_file``, a path or an open
    file."""
    best = ApplyHistoryBest(load_from_file(in_file)).best_by_targetkey.values()
    text = "".join(f"{encode(inp, res)}\n" for inp, res in best)
    if isinstance(out_file, (str, bytes, os.PathLike)):
        Path(os.fsdecode(out_file)).write_text(text, encoding="utf-8")
    else:
        out_file.write(text)


def split_workload(in_file: Any, clean: bool = True) -> None:
    """Write the records of each task in the log ``in_file`` to a separate file, ``<in_file>.000.wkl`` and so
    on. With ``clean`` only the first record of each configuration is written."""
    tasks: dict[str, dict[Any, str]] = {}
    for number, (inp, res) in enumerate(load_from_file(in_file)):
        rows = tasks.setdefault(measure_str_key(inp, False), {})
        rows.setdefault(measure_str_key(inp) if clean else number, encode(inp, res))
    for place, rows in enumerate(tasks.values()):
        path = Path(f"{os.fsdecode(in_file)}.{place:03d}.wkl")
        path.write_text("".join(f"{row}\n" for row in rows.values()), encoding="utf-8")
