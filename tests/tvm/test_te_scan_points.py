"""``ScanFixPointAnalysis``: the axes along which a scan can be split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tvmlite.tvm as tvm
from tvmlite.tvm import te

M, N = te.var("m"), te.var("n")


def points(scan: Any) -> list[int]:
    found = te.schedule.ScanFixPointAnalysis(scan.op)
    return [found[axis].value for axis in scan.op.spatial_axis_]


def scanned(read: Callable[..., Any]) -> Any:
    """A scan over two spatial axes whose update calls ``read`` with the state and the indices."""
    state = te.placeholder((9, M, M), name="state")
    first = te.compute((1, M, M), lambda *_: 0.0, name="first")
    step = te.compute((9, M, M), lambda t, i, j: read(state, t, i, j), name="step")
    return te.scan(first, step, state)


@pytest.mark.parametrize(
    ("read", "wanted"),
    [
        (lambda s, t, i, j: s[t - 1, i, j], [1, 1]),
        (lambda s, t, i, j: s[t - 1, j, i], [0, 0]),
        (lambda s, t, i, j: s[t - 1, i, j] + s[t - 1, i, 3], [1, 0]),
        (lambda s, t, i, j: s[t - 1, te.max(i - 1, 0), j], [0, 1]),
        (lambda s, t, i, j: s[t - 1, j, j], [0, 0]),
        (lambda s, t, i, j: s[t - 1, i, te.indexmod(j + i, M)], [0, 0]),
    ],
)
def test_an_axis_is_a_fixed_point_if_reads_keep_its_index(read: Any, wanted: list[int]) -> None:
    assert points(scanned(read)) == wanted


def test_fixed_points_are_traced_through_stages_and_reductions() -> None:
    state = te.placeholder((9, M, N), name="state")
    first = te.compute((1, M, N), lambda *_: 0.0, name="first")
    turned = te.compute((9, N, M), lambda t, j, i: state[t - 1, i, j] * 2, name="turned")
    k = te.reduce_axis((0, N), name="k")
    sums = te.compute((9, M), lambda t, i: te.sum(turned[t, k, i], axis=k), name="sums")
    plain = te.compute((9, M, N), lambda t, i, j: turned[t, j, i], name="plain")
    mixed = te.compute((9, M, N), lambda t, i, j: turned[t, j, i] + sums[t, i], name="mixed")

    assert points(te.scan(first, plain, state)) == [1, 1]
    assert points(te.scan(first, mixed, state)) == [1, 0]


def test_states_that_read_each_other_share_their_fixed_points() -> None:
    one, other, third = (te.placeholder((9, N), name=name) for name in ("one", "other", "third"))
    inits = [te.compute((1, N), lambda *_: 0.0, name="init") for _ in range(3)]
    of_one = te.compute((9, N), lambda t, i: other[t - 1, i] + 1, name="of_one")
    of_other = te.compute((9, N), lambda t, i: other[t - 1, N - 1 - i], name="of_other")
    of_third = te.compute((9, N), lambda t, i: third[t - 1, i] * 2, name="of_third")
    made = te.scan(inits, [of_one, of_other, of_third], [one, other, third])

    assert points(made[0]) == [0, 0, 1]
    with pytest.raises(tvm.TVMError, match="ScanFixPointAnalysis: scan"):
        te.schedule.ScanFixPointAnalysis(of_one.op)
