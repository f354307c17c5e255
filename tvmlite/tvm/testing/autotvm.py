"""A template and a runner without measurements, for tests of tuners."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.tvm import target as tvm_target
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult, Runner
from tvmlite.tvm.autotvm.task.task import Task, create, get_config, template


class DummyRunner(Runner):
    """Returns a random time for each input."""

    def __init__(self) -> None:
        super().__init__(1, 1)

    def run(
        self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]
    ) -> list[MeasureResult]:
        """See ``Runner``."""
        times = np.random.random(len(measure_inputs)).tolist()
        return [MeasureResult((one,), 0, 0.2, time.time()) for one in times]


@template("testing/matmul")
def matmul(N: int, L: int, M: int, dtype: str) -> Any:
    """A template of a tiled matrix product."""
    a = te.placeholder((N, L), name="A", dtype=dtype)
    b = te.placeholder((L, M), name="B", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    y, x = s[c].op.axis  # pyright: ignore[reportAttributeAccessIssue]
    cfg = get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    outer, inner = cfg["tile_y"].apply(s, c, y)
    if cfg["tile_x"].size[-1] > 1:  # so that configurations differ in the number of their loops
        xo, xi = cfg["tile_x"].apply(s, c, x)
        s[c].reorder(outer, xo, k, inner, xi)
    else:
        s[c].reorder(outer, k, inner, x)
    return s, [a, b, c]


@template("testing/bad_matmul")
def bad_matmul(N: int, L: int, M: int, dtype: str) -> Any:
    """Like ``matmul``; for a target with the key ``bad_device`` it omits the last product of each sum."""
    current = getattr(tvm_target.Target, "current", lambda allow_none: None)(allow_none=True)
    if "bad_device" not in getattr(current, "keys", ()):
        return matmul(N, L, M, dtype)
    a = te.placeholder((N, L), name="A", dtype=dtype)
    b = te.placeholder((L, M), name="B", dtype=dtype)
    k = te.reduce_axis((0, L - 1), name="k")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    cfg = get_config()
    cfg.define_split("tile_y", s[c].op.axis[0], num_outputs=2)  # pyright: ignore[reportAttributeAccessIssue]
    cfg.define_split("tile_x", s[c].op.axis[1], num_outputs=2)  # pyright: ignore[reportAttributeAccessIssue]
    return s, [a, b, c]


def get_sample_task(n: int = 128) -> tuple[Task, Any]:
    """Return the task of a product of ``n`` by ``n`` matrices, and its target."""
    target = tvm_target.Target("llvm")
    return create("testing/matmul", (n, n, n, "float32"), target), target


def get_sample_records(n: int) -> list[tuple[MeasureInput, MeasureResult]]:
    """Return ``n`` records of the sample task, with times of 1, 2, ... seconds."""
    task, target = get_sample_task()
    size = len(task.config_space)
    return [
        (
            MeasureInput(target, task, task.config_space.get(i % size)),
            MeasureResult((i + 1,), 0, i, time.time()),
        )
        for i in range(n)
    ]
