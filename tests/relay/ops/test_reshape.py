"""Reshape: which axes are grouped, and the cost of an element's index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlite.core.node import postorder
from tvmlite.relay.ir.types import dim
from tvmlite.relay.ops.shapes.reshape import regroup, reshaped_indices
from tvmlite.te import expr as e

n, h, w = dim("n"), dim("h"), dim("w")


@pytest.mark.parametrize(
    ("shape", "result", "groups"),
    [
        ((2, 3, 4), (6, 4), [([0, 1], [0]), ([2], [1])]),
        ((n, 3, h, w), (n, 3, h * w), [([0], [0]), ([1], [1]), ([2, 3], [2])]),
        ((n, 12, 64), (n, 3, 4, 64), [([0], [0]), ([1], [1, 2]), ([2], [3])]),
        ((n * h, 5), (n, h, 5), [([0], [0, 1]), ([1], [2])]),
        ((1, n, 1, 7), (n, 7, 1), [([1], [0]), ([3], [1])]),
        ((4, 6), (6, 4), [([0, 1], [0, 1])]),
        ((n, h), (h, n), [([0, 1], [0, 1])]),
        ((), (1, 1), []),
    ],
)
def test_axes_are_grouped_where_partial_products_are_equal(shape: tuple, result: tuple, groups: list) -> None:
    assert regroup(shape, result) == groups


@pytest.mark.parametrize(
    ("shape", "result"),
    [((n, 1, h, 3), (1, n, h, 3, 1)), ((n, 3, h, w), (n, 3, h * w, 1)), ((2, 3, 5), (2, 3, 5))],
)
def test_unit_axes_and_splits_of_other_axes_leave_an_index_unchanged(shape: tuple, result: tuple) -> None:
    axes = [e.Var(f"i{k}", "int64") for k in range(len(result))]

    first, *_ = [
        x for x, extent in zip(reshaped_indices(shape, result, axes), shape, strict=True) if extent != 1
    ]

    assert first is axes[0] or first is axes[1]


def test_merged_axes_need_one_division_and_one_remainder() -> None:
    axes = [e.Var(f"i{k}", "int64") for k in range(3)]

    indices = reshaped_indices((n, 3, h, w), (n, 3, h * w), axes)

    assert indices[:2] == (axes[0], axes[1])
    divisions = [x for i in indices for x in postorder(i) if isinstance(x, (e.FloorDiv, e.FloorMod))]
    assert [type(x) for x in divisions] == [e.FloorDiv, e.FloorMod]


@given(st.permutations([1, 1, 2, 2, 3, 5]), st.lists(st.integers(1, 5), max_size=5))
def test_groups_have_equal_sizes_and_cover_all_non_unit_axes(extents: list[int], cuts: list[int]) -> None:
    shape = tuple(extents)
    parts = np.split(np.array(sorted(extents)), sorted({c for c in cuts if c < 6}))
    result = tuple(int(np.prod(part)) for part in parts)

    groups = regroup(shape, result)

    for ours, theirs in groups:
        assert np.prod([shape[k] for k in ours]) == np.prod([result[k] for k in theirs])
    assert [k for ours, _ in groups for k in ours] == [k for k, x in enumerate(shape) if x != 1]
    assert [k for _, theirs in groups for k in theirs] == [k for k, x in enumerate(result) if x != 1]
