"""AutoTVM's features of loop variables, compared with numbers counted by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import te
from tvmlite.tvm.autotvm import feature


def product() -> Any:
    """A product of 16 x 8 by 8 x 32."""
    a, b = te.placeholder((16, 8), name="A"), te.placeholder((8, 32), name="B")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((16, 32), lambda y, x: te.sum(a[y, k] * b[k, x], axis=k), name="C")
    return te.create_schedule(c.op), a, b, c


def rows_of(schedule: Any, args: Any, **named: Any) -> list[dict[str, list[Any]]]:
    found = feature.get_itervar_feature(schedule, args, **named)
    return [{row[0]: row[1:] for row in rows[1:]} for rows in found]


def test_features_of_a_product_count_touched_elements() -> None:
    s, a, b, c = product()
    y, x, k = rows_of(s, [a, b, c])
    serial = [0] * 9 + [1, 0]

    assert [row["_attr_"] for row in (y, x, k)] == [
        [16, 1, 16, 4096, *serial],
        [32, 2, 512, 256, *serial],
        [8, 3, 4096, 8, *serial],
    ]
    assert [row["_arith_"] for row in (y, x, k)] == [[0, 0, 0], [0, 0, 0], [1, 1, 0]]
    assert (y["A_0"], y["B_0"]) == ([8, -1, 128, 32, 0, 0], [0, -1, 256, 16, 0, 0])
    assert (x["A_0"], x["B_0"]) == ([0, -1, 8, 32, 0, 0], [1, -1, 256, 1, 0, 0])
    assert (k["A_0"], k["B_0"]) == ([1, -1, 8, 1, 0, 0], [32, -1, 8, 1, 0, 0])
    assert k["C_0"] == k["C_1"] == [0, -1, 1, 8, 0, 0]


def test_features_of_thread_loops_match_counts_by_hand() -> None:
    s, a, b, c = product()
    y, x = c.op.axis
    s[c].bind(y, te.thread_axis("blockIdx.x"))
    s[c].bind(x, te.thread_axis("threadIdx.x"))
    blocks, threads, _ = rows_of(s, [a, b, c])

    assert (blocks["_attr_"][4:].index(1), threads["_attr_"][4:].index(1)) == (0, 3)
    assert (blocks["A_0"][4:], threads["A_0"][4:]) == ([16, 1], [1, 32])
    assert (blocks["B_0"][4:], threads["B_0"][4:]) == ([1, 16], [32, 1])


def test_flattened_features_have_names() -> None:
    s, a, b, c = product()
    outer, inner = s[c].split(c.op.axis[1], 4)
    s[c].reorder(outer, c.op.reduce_axis[0], inner)
    s[c].vectorize(inner)
    found = feature.get_itervar_feature(s, [a, b, c], take_log=True)
    numbers = feature.flatten_itervar_feature(found)
    names = feature.get_flatten_name(found)

    assert len(names) == len(numbers) == 4 * (15 + 3 + 4 * 6)
    assert names[:2] == ["f0.y._attr_.length", "f1.y._attr_.nest_level"]
    assert names[-1].endswith(".x.inner.C_1.T_reuse")
    assert dict(zip(names, numbers, strict=True))["f0.y._attr_.length"] == math.log2(17)
    np.testing.assert_array_equal(feature.get_itervar_feature_flatten(s, [a, b, c]), numbers)


def test_features_of_open_extents_are_an_error() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")
    with pytest.raises(UnsupportedError, match="loop i has n iterations, expected a number"):
        feature.get_itervar_feature(te.create_schedule(b.op), [a, b])
    with pytest.raises(UnsupportedError, match="get_buffer_curve_sample_flatten is not in tvmlite"):
        feature.get_buffer_curve_sample_flatten(None, [])
