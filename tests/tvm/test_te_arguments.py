"""Which tensors ``tvm.lower`` accepts as arguments, and in which loops it computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.tvm import te

ROWS, COLUMNS = 10, 12


def _chain() -> tuple[te.Schedule, list[te.Tensor], list[te.IterVar]]:
    """A chain of three computes, the last one tiled: the schedule, the tensors, and the tiled loops."""
    x = te.placeholder((ROWS, COLUMNS), name="x")
    a = te.compute((ROWS, COLUMNS), lambda i, j: x[i, j] * 2, name="a")
    b = te.compute((ROWS, COLUMNS), lambda i, j: a[i, j] + 1, name="b")
    c = te.compute((ROWS, COLUMNS), lambda i, j: b[i, j] * b[i, j], name="c")
    s = te.create_schedule(c.op)
    (io, ii), (jo, ji) = s[c].split(c.op.axis[0], 4), s[c].split(c.op.axis[1], 5)
    s[c].reorder(io, jo, ii, ji)
    return s, [x, a, b, c], [io, jo, ii, ji]


def _values(s: Any, given: list[Any]) -> tuple[str, np.ndarray, list[np.ndarray]]:
    """The lowered loops of ``s``, a random input, and the outputs for it."""
    module = tvm.lower(s, given)
    source = np.random.default_rng(0).random((ROWS, COLUMNS), "f4")
    made = [np.full((ROWS, COLUMNS), -1, "f4") for _ in given[1:]]
    tvm.build(module)(source, *made)
    return str(module), source, made


def test_an_argument_is_written_in_the_loops_it_is_computed_in() -> None:
    s, (x, a, b, c), (_, jo, *_) = _chain()
    s[a].compute_at(s[b], b.op.axis[1])
    s[b].compute_at(s[c], jo)

    text, source, made = _values(s, [x, a, b, c])

    assert "allocate" not in text
    assert (text.count("a[i"), text.count("b[i"), text.count("c[i")) == (2, 3, 1)  # each is written once
    for found, expected in zip(made, (source * 2, source * 2 + 1, (source * 2 + 1) ** 2), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert s[b].attach_type == "at"


def test_loops_of_attached_arguments_keep_their_schedule() -> None:
    s, (x, a, b, c), (_, jo, *_) = _chain()
    s[b].compute_at(s[c], jo)
    outer, inner = s[b].split(b.op.axis[1], 3)
    s[b].vectorize(inner)
    s[a].compute_at(s[b], outer)

    text, source, made = _values(s, [x, b, c])

    assert "in vectorize(0, 3)" in text
    np.testing.assert_allclose(made[0], source * 2 + 1, rtol=1e-6)


def test_overlapping_windows_stay_within_the_argument() -> None:
    x = te.placeholder((ROWS, COLUMNS), name="x")
    a = te.compute((ROWS, COLUMNS), lambda i, j: x[i, j] * 2, name="a")
    c = te.compute((ROWS, COLUMNS), lambda i, j: a[i, j] + 1, name="c")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[1], 7)
    s[c].reorder(inner, outer)
    s[a].compute_at(s[c], inner)

    _, source, made = _values(s, [x, a, c])

    np.testing.assert_allclose(made[0], source * 2, rtol=1e-6)
    np.testing.assert_allclose(made[1], source * 2 + 1, rtol=1e-6)


def test_the_attach_loop_may_be_split_or_fused_later() -> None:
    for arrange in (lambda s, c: s[c].split(c.op.axis[1], 5), lambda s, c: s[c].fuse(*c.op.axis)):
        x = te.placeholder((ROWS, COLUMNS), name="x")
        a = te.compute((ROWS, COLUMNS), lambda i, j, x=x: x[i, j] * 2, name="a")
        c = te.compute((ROWS, COLUMNS), lambda i, j, a=a: a[i, j] + 1, name="c")
        s = te.create_schedule(c.op)
        s[a].compute_at(s[c], c.op.axis[1])
        arrange(s, c)

        text, source, made = _values(s, [x, a, c])

        assert text.count("a[") == 2  # where it is written, and where it is read
        np.testing.assert_allclose(made[0], source * 2, rtol=1e-6)


def _shifted(a: Any, i: Any, j: Any) -> Any:
    return te.if_then_else(j > 0, a[i, te.max(j - 1, 0)], 0.0)


def _reduced_over(a: Any, i: Any, j: Any) -> Any:
    k = te.reduce_axis((0, COLUMNS), "k")
    return te.sum(a[i, k] * (j + 1), axis=k)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (_shifted, lambda a: np.pad(a[:, :-1], ((0, 0), (1, 0)))),
        (_reduced_over, lambda a: a.sum(1, keepdims=True) * np.arange(1, COLUMNS + 1, dtype="f4")),
    ],
)
def test_an_argument_with_irregular_reads_is_computed_as_a_whole(
    read: Callable[..., Any], expected: Callable[[np.ndarray], np.ndarray]
) -> None:
    x = te.placeholder((ROWS, COLUMNS), name="x")
    a = te.compute((ROWS, COLUMNS), lambda i, j: x[i, j] * 2, name="a")
    c = te.compute((ROWS, COLUMNS), lambda i, j: read(a, i, j), name="c")
    s = te.create_schedule(c.op)
    s[a].compute_at(s[c], c.op.axis[1])

    text, source, made = _values(s, [x, a, c])

    assert "allocate" in text
    np.testing.assert_allclose(made[0], source * 2, rtol=1e-6)
    np.testing.assert_allclose(made[1], expected(source * 2), rtol=1e-5)


def test_an_empty_schedule_can_be_made() -> None:
    s = te.create_schedule([])

    assert (list(s.stages), list(s.outputs)) == ([], [])
