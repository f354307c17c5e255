"""Every primitive documents its rewrite of loops as before --> after."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.te.schedule.stage import Stage

PRIMITIVES = [
    *(f for _, f in inspect.getmembers(Stage, inspect.isfunction) if hasattr(f, "__wrapped__")),
    *(f for _, f in inspect.getmembers(te.Schedule, inspect.isfunction) if hasattr(f, "__wrapped__")),
    te.Schedule.create_group,
    te.Schedule.normalize,
    te.scan,
]


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda f: f.__name__)
def test_the_docstring_of_a_primitive_shows_its_rewrite(primitive: Any) -> None:
    assert "-->" in (primitive.__doc__ or "")


def test_a_storage_scope_does_not_change_the_loops(loops: Any, run: Any) -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((4,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    before = loops(s, [A, C])
    s[B].set_scope("local")
    assert (s[B].scope, loops(s, [A, C])) == ("local", before)
    a = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(run(s, [A, C], [a], [(4,)])[0], a * 2 + 1)


@pytest.mark.parametrize("primitive", ["vectorize", "unroll"])
def test_loops_of_unknown_extent_cannot_be_vectorized_or_unrolled(primitive: str) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    getattr(s[B], primitive)(B.op.axis[0])
    with pytest.raises(
        ScheduleError,
        match=rf"(?s){primitive}: axis i of stage B has n iterations, expected a constant.*getattr\(s\[B\]",
    ):
        te.lower(s, [A, B])
