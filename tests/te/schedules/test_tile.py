"""Register tiles fit into the registers, waste little, and feed both multiply-add units."""

from __future__ import annotations

import pytest

from tvmlite.te.schedules.tile import register_tile


@pytest.mark.parametrize("registers", [16, 32])
@pytest.mark.parametrize("vectors", [1, 2])
@pytest.mark.parametrize(
    ("rows", "blocks"), [(56, 4), (7, 32), (1, 48), (None, 3), (128, None), (13, 1), (None, None)]
)
def test_a_tile_fits_into_the_registers(
    rows: int | None, blocks: int | None, vectors: int, registers: int
) -> None:
    tile = register_tile(rows, blocks, vectors, registers)

    accumulators = tile.rows * tile.blocks * vectors
    assert accumulators + tile.blocks * vectors + 1 <= registers
    assert rows is None or tile.rows <= rows
    assert blocks is None or tile.blocks <= blocks


@pytest.mark.parametrize("rows", [56, 28, 14, 7, 13])
def test_a_tile_divides_its_row_where_that_can_be(rows: int) -> None:
    assert rows % register_tile(rows, 16, 1, 32).rows == 0


def test_without_limits_nearly_all_registers_hold_sums() -> None:
    tile = register_tile(None, None, 1, 32)

    assert tile.rows * tile.blocks >= 24


def test_one_row_still_has_enough_sums_that_none_waits_for_another() -> None:
    assert register_tile(1, 48, 1, 32).blocks >= 8
