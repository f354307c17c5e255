"""Prefetching of arrays without elements."""

import numpy as np

import tvmlite
from tvmlite import te


def test_an_empty_array_can_be_prefetched() -> None:
    a = te.placeholder((0, 0), name="a")
    b = te.compute((0, 0), lambda i, j: a[i, j], name="b")
    schedule = te.create_schedule(b.op)
    schedule[b].prefetch(a, b.op.axis[0])

    made = tvmlite.build(schedule, [a, b])(np.empty((0, 0), "float32"))

    assert made.shape == (0, 0)
