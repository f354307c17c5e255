"""``round(x) + c`` as a narrow integer: one conversion on x86, and numpy's results from all generators."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite import te
from tvmlite.driver import build
from tvmlite.te.tensor.intrinsics import round as rint

SPECIAL = [
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    3e9,
    -3e9,
    np.inf,
    -np.inf,
    np.nan,
    1e38,
    126.5,
    127.5,
    -128.5,
    254.5,
    255.5,
]


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64", "c"])
@pytest.mark.parametrize(
    ("dtype", "moved"), [("uint8", 0), ("uint8", 130), ("int8", 0), ("int8", -7), ("int16", 300)]
)
@pytest.mark.parametrize("lanes", [1, 7, 16])
def test_numbers_are_rounded_to_even_and_saturate(target: str, dtype: str, moved: int, lanes: int) -> None:
    rng = np.random.default_rng(0)
    given = np.concatenate([SPECIAL, rng.uniform(-400, 400, 96)]).astype("float32")
    x = te.placeholder(given.shape, "float32", "x")
    y = te.compute(x.shape, lambda i: (rint(x[i]) + float(moved)).astype(dtype), name="y")
    schedule = te.create_schedule(y.op)
    if lanes > 1:
        _, inner = schedule[y].split(y.op.axis[0], factor=lanes)
        schedule[y].vectorize(inner)

    made = build(schedule, [x, y], target=target)(given)

    limits = np.iinfo(dtype)
    whole = np.rint(given.astype("float64")) + moved
    wanted = np.where(np.isnan(whole), 0, np.clip(np.nan_to_num(whole), limits.min, limits.max)).astype(dtype)
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64", "c"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
@pytest.mark.parametrize("lanes", [1, 16])
def test_codes_widened_immediately_are_still_saturated(target: str, dtype: str, lanes: int) -> None:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(0).uniform(2.0 * limits.min - 300, 2.0 * limits.max, 96)
    given = np.concatenate([SPECIAL, random]).astype("float32")
    x = te.placeholder(given.shape, "float32", "x")
    y = te.compute(x.shape, lambda i: (rint(x[i]) + 100.0).astype(dtype).astype("int32") - 100, name="y")
    schedule = te.create_schedule(y.op)
    if lanes > 1:
        schedule[y].vectorize(schedule[y].split(y.op.axis[0], factor=lanes)[1])

    made = build(schedule, [x, y], target=target)(given)

    whole = np.rint(given.astype("float64")) + 100
    wanted = np.where(np.isnan(whole), 0, np.clip(np.nan_to_num(whole), limits.min, limits.max)) - 100
    np.testing.assert_array_equal(made, wanted.astype("int32"))
