"""Register tiles fit into the registers, waste little, and keep both multiply-add units busy."""

from __future__ import annotations

import pytest

from tvmlite.machine.machine import Machine
from tvmlite.machine.table import estimate
from tvmlite.machine.target import Target
from tvmlite.te.templates.tile import RegisterTile, near_even_tile, register_tile, vectors_first

MANY, FEW = estimate(512, 32), estimate(256, 16)


@pytest.mark.parametrize("machine", [FEW, MANY], ids=["16 registers", "32 registers"])
@pytest.mark.parametrize("vectors", [1, 2])
@pytest.mark.parametrize(
    ("rows", "blocks"), [(56, 4), (7, 32), (1, 48), (None, 3), (128, None), (13, 1), (None, None)]
)
def test_a_tile_fits_into_the_registers(
    rows: int | None, blocks: int | None, vectors: int, machine: Machine
) -> None:
    tile = register_tile(rows, blocks, vectors, machine)

    accumulators = tile.rows * tile.blocks * vectors
    kept = tile.blocks * vectors if machine is MANY else min(tile.rows, tile.blocks * vectors)
    assert accumulators + kept + 1 <= machine.vector_registers
    assert rows is None or tile.rows <= rows
    assert blocks is None or tile.blocks <= blocks


@pytest.mark.parametrize("rows", [56, 28, 14, 7, 13])
def test_a_tile_divides_its_row_where_possible(rows: int) -> None:
    assert rows % register_tile(rows, 16, 1, MANY).rows == 0


@pytest.mark.parametrize("rows", [61, 397, 3001])
def test_rows_without_suitable_divisors_get_a_tile_that_does_not_divide_them(rows: int) -> None:
    tile = near_even_tile(rows, 32, 1, MANY)

    assert tile.rows >= 3
    assert tile.rows * tile.blocks >= 12


@pytest.mark.parametrize("rows", [3136, 784, 196, 49, 100, None])
def test_rows_with_suitable_divisors_get_a_tile_that_divides_them(rows: int | None) -> None:
    assert near_even_tile(rows, 32, 1, MANY) == register_tile(rows, 32, 1, MANY, even=True)


def test_without_limits_nearly_all_registers_hold_accumulators() -> None:
    tile = register_tile(None, None, 1, MANY)

    assert tile.rows * tile.blocks >= 24


def test_one_row_has_enough_accumulators_to_hide_the_latency() -> None:
    assert register_tile(1, 48, 1, MANY).blocks >= 8


@pytest.mark.parametrize(("rows", "blocks"), [(56, 16), (196, 32), (14, 64), (128, 96)])
def test_with_few_registers_a_tile_is_nearly_square(rows: int, blocks: int) -> None:
    tile = register_tile(rows, blocks, 1, FEW)

    assert tile.rows * tile.blocks >= 10
    assert tile.rows + tile.blocks <= 8


def test_the_loop_over_blocks_is_outside_if_vectors_do_not_fit_registers() -> None:
    few, many = (Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") for cpu in ("znver3", "znver5"))

    assert vectors_first(RegisterTile(3, 4), 8, few, "float32")
    assert not vectors_first(RegisterTile(4, 3), 8, few, "float32")
    assert not vectors_first(RegisterTile(3, 4), 16, many, "float32")
