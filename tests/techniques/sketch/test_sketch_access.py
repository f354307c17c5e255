"""How a read walks along an axis, and how the loops of a result correspond to those of its producer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvmlite import te
from tvmlite.machine.target import Target
from tvmlite.te.space import FallbackConfig
from tvmlite.te.templates.group import Group
from tvmlite.techniques.sketch.access import (
    ABSENT,
    NEAR,
    STRIDED,
    UNIT,
    Digit,
    Fused,
    access_pattern,
    correspondence,
    have_one_stride,
    reads_of,
)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (lambda i, j: (i, j), (STRIDED, UNIT)),
        (lambda i, j: (j, i), (UNIT, STRIDED)),
        (lambda i, j: (0, j * 2), (ABSENT, NEAR)),
        (lambda i, j: (i, j * 5), (STRIDED, STRIDED)),
        (lambda i, j: (i // 16, i % 16), (UNIT, ABSENT)),
        (lambda i, j: (i // 64, i % 64), (UNIT, ABSENT)),
        (lambda i, j: (i, 63 - j), (STRIDED, STRIDED)),
        (lambda i, j: (i // 3, j), (STRIDED, UNIT)),
    ],
)
def test_the_step_of_a_read_along_each_axis_is_classified(
    place: Callable[..., Any], expected: tuple[str, str]
) -> None:
    x = te.placeholder((64, 64), name="x")
    y: Any = te.compute((32, 12), lambda i, j: x[place(i, j)], name="y")
    (read,) = reads_of(y.op)

    assert tuple(access_pattern(read, axis, 16) for axis in y.op.axis) == expected


def test_axes_that_all_reads_walk_contiguously_can_be_fused() -> None:
    x, scale = te.placeholder((3, 8, 8), name="x"), te.placeholder((3,), name="scale")
    y: Any = te.compute((3, 8, 8), lambda c, i, j: x[c, i, j] * scale[c], name="y")
    z: Any = te.compute((3, 6, 6), lambda c, i, j: x[c, i + 1, j], name="z")

    channel, row, column = y.op.axis
    assert have_one_stride(y.op, row, column)
    assert not have_one_stride(y.op, channel, row)
    assert not have_one_stride(z.op, *z.op.axis[1:])


@pytest.mark.parametrize(
    ("shape", "place", "expected"),
    [
        ((8, 32), lambda i, j: (i, j // 16, j % 16), ["i", "j // 16", "j % 16"]),
        ((32, 8), lambda i, j: (j, i // 16, i % 16), ["j", "i // 16", "i % 16"]),
        ((2, 4, 32), lambda i, j, k: (i * 4 + j, k // 16, k % 16), ["i.j", "k // 16", "k % 16"]),
        ((8, 16), lambda i, j: (i, j // 16, j % 16), None),
        ((8, 8), lambda i, j: (i, 0, j), None),
    ],
)
def test_axes_of_a_consumer_are_matched_with_those_of_its_producer(
    shape: tuple[int, ...], place: Callable[..., Any], expected: list[str] | None
) -> None:
    x, k = te.placeholder((8, 2, 16, 5), name="x"), te.reduce_axis(5, "k")
    y: Any = te.compute((8, 2, 16), lambda a, b, c: te.sum(x[a, b, c, k], k), name="y")
    names = ["i", "j", "k"][: len(shape)]
    z: Any = te.compute(shape, lambda *at: y[place(*at)] + 1.0, name="z")
    group = Group(te.create_schedule(z.op), (z,), Target.parse("c"), FallbackConfig())

    found = correspondence(group, y.op, z)

    by_var = dict(zip((axis.var for axis in z.op.axis), names, strict=True))
    assert (found and [_shown(part, by_var) for part in found]) == expected


def _shown(part: Digit | Fused, names: dict[Any, str]) -> str:
    if isinstance(part, Fused):
        return ".".join(names[axis.var] for axis in part.axes)
    step = f" // {part.step}" if part.step > 1 else ""
    base = f" % {part.base}" if part.base is not None else ""
    return f"{names[part.axis.var]}{step}{base}"
