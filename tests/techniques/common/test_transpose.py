"""Blocks transposed in registers agree with numpy's transpose."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.machine.target import Target
from tvmlite.techniques.common.transpose import block_of, transposed_block

AARCH64 = "llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a72"


def schedule(count: int, rows: int, columns: int) -> tuple[te.Schedule, list[te.Tensor]]:
    x = te.placeholder((rows, columns), "float32", name="x")
    y = te.compute((columns, rows), lambda j, i: x[i, j], name="y")
    s = te.create_schedule(y.op)
    j, i = y.op.axis
    blocks, j = s[y].split(j, factor=count)
    parts, i = s[y].split(i, factor=count)
    s[y].reorder(blocks, parts, j, i)
    s[y].tensorize(j, transposed_block(count, columns, rows))
    return s, [x, y]


@pytest.mark.parametrize(
    ("target", "count"), [("native", 16), ("llvm -mcpu=haswell", 8), ("c", 16), ("c", 8), ("c", 4)]
)
def test_blocks_are_transposed_correctly(target: str, count: int) -> None:
    s, arguments = schedule(count, 3 * count, 5 * count)
    x = np.random.default_rng(0).standard_normal((3 * count, 5 * count)).astype("float32")
    y = np.zeros((5 * count, 3 * count), "float32")

    tvmlite.build(s, arguments, target=target)(x, y)

    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize(
    ("target", "count", "shuffle"),
    [
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4", 16, "vpermt2ps"),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", 8, "vunpcklps"),
        (AARCH64, 4, "zip1"),
    ],
)
def test_columns_are_built_by_shuffles(target: str, count: int, shuffle: str) -> None:
    assert block_of(Target.parse(target)) == count

    code = tvmlite.build(*schedule(count, count, count), target=target).source("asm")

    assert code.count(shuffle) >= count


def test_other_targets_have_no_transposed_blocks() -> None:
    for target in ("c", "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=nehalem"):
        assert block_of(Target.parse(target)) is None
