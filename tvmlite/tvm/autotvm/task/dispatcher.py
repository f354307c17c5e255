"""Contexts that return the best measured configuration of each task, read from logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import TextIOBase
from os import PathLike
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.te.space import Config
from tvmlite.tvm import tuned
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.logs import load_from_buffer, load_from_file
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.task.context import ApplyConfig as ApplyConfig
from tvmlite.tvm.autotvm.task.context import ApplyFixedConfig as ApplyFixedConfig
from tvmlite.tvm.autotvm.task.context import DispatchContext as DispatchContext
from tvmlite.tvm.autotvm.task.context import FallbackContext as FallbackContext
from tvmlite.tvm.autotvm.task.context import clear_fallback_cache as clear_fallback_cache


class ApplyHistoryBest(DispatchContext):
    """Returns the fastest configuration of each task in ``records``: a path, an open file, pairs of inputs
    and results, or several of these.

    Within its ``with`` block ``relay.build`` uses these configurations for the model's kernels, as templates
    do for theirs. A task is identified by its template and arguments, whatever CPU it was measured on, as in
    TVM.
    """

    def __init__(self, records: Any) -> None:
        super().__init__()
        self.best_by_targetkey: dict[Any, tuple[MeasureInput, MeasureResult]] = {}
        self.best_by_model: dict[Any, tuple[MeasureInput, MeasureResult]] = {}
        self._best_user_defined: dict[Any, Config] = {}
        if records is not None:
            self.load(records)

    def load(self, records: Any) -> None:
        """Add ``records``; failed measurements are ignored."""
        for inp, res in _pairs(records):
            if res.error_no != 0:
                continue
            key = targets.kind(inp.target), inp.task.workload
            known = self.best_by_targetkey.get(key)
            if known is None or np.mean(known[1].costs) > np.mean(res.costs):
                self.best_by_targetkey[key] = inp, res

    def _query_inside(self, target: Any, workload: Any) -> Config | None:
        key = targets.kind("cpu" if target is None else target), workload
        if key in self._best_user_defined:
            return self._best_user_defined[key]
        return self.best_by_targetkey[key][0].config if key in self.best_by_targetkey else None

    def update(self, target: Any, workload: Any, cfg: Config) -> None:
        """See ``DispatchContext``: ``cfg`` is preferred to all records."""
        cfg.cost = 0  # type: ignore[attr-defined]
        self._best_user_defined[targets.kind(target), workload] = cfg

    def __enter__(self) -> Any:
        tuned.enter(
            {
                (inp.task.name, inp.task.args): (inp.config, float(np.mean(res.costs)))
                for (kind, _), (inp, res) in self.best_by_targetkey.items()
                if kind == "cpu"
            }
        )
        return super().__enter__()

    def __exit__(self, *given: object) -> None:
        super().__exit__(*given)
        tuned.leave()


class ApplyGraphBest(DispatchContext):
    """TVM's context for records of its graph tuner, one for each node; it is not supported."""

    def __init__(self, records: Any) -> None:
        raise InputError(
            "ApplyGraphBest: layouts of a graph are chosen by relay.build, and by tvmlite.tune",
            hint="autotvm.apply_history_best takes the records of kernels",
        )


def _pairs(records: Any) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    if isinstance(records, (str, bytes, PathLike)):
        yield from load_from_file(records)
    elif isinstance(records, TextIOBase):
        yield from load_from_buffer(records)
    elif isinstance(records, tuple) and len(records) == 2 and isinstance(records[0], MeasureInput):
        yield records
    elif isinstance(records, Iterable):
        for one in records:
            yield from _pairs(one)
    else:
        raise InputError(f"records are a {type(records).__name__}, expected a path, a file, or pairs")
