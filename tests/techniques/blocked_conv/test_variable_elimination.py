"""The dynamic program finds the same minimum as trying every combination."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tvmlite.techniques.blocked_conv import variable_elimination as program
from tvmlite.techniques.blocked_conv.variable_elimination import Table, minimum_cost

rng = np.random.default_rng(0)


def total(chosen: Mapping[int, int], tables: Sequence[Table[int]]) -> float:
    return sum(table.costs[tuple(chosen[v] for v in table.variables)] for table in tables)


def random_table(sizes: Mapping[int, int], *variables: int) -> Table[int]:
    keys = itertools.product(*(range(sizes[v]) for v in variables))
    return Table(variables, {key: float(rng.integers(0, 50)) for key in keys})


def least(sizes: Mapping[int, int], tables: Sequence[Table[int]]) -> float:
    combinations = itertools.product(*(range(size) for size in sizes.values()))
    return min(total(dict(zip(sizes, values, strict=True)), tables) for values in combinations)


EDGES = {
    "chain": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "branches that meet": [(0, 1), (1, 2), (0, 3), (3, 2), (2, 4), (4, 5), (2, 5)],
    "all with all": list(itertools.combinations(range(6), 2)),
    "nothing": [],
    "with themselves": [(0, 0), (0, 1), (3, 3)],
}


@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES.keys())
@pytest.mark.parametrize("turn", range(5))
def test_the_minimum_of_all_combinations_is_found(edges: list[tuple[int, int]], turn: int) -> None:
    sizes = {variable: int(rng.integers(1, 4)) for variable in range(6)}
    tables = [random_table(sizes, *dict.fromkeys(edge)) for edge in edges]
    tables += [random_table(sizes, variable) for variable in range(6)]

    chosen = minimum_cost(sizes, tables, dict.fromkeys(sizes, 0))

    assert total(chosen, tables) == least(sizes, tables)


def test_tables_may_have_three_variables() -> None:
    sizes = dict.fromkeys(range(5), 3)
    tables = [random_table(sizes, 0, 1, 2), random_table(sizes, 2, 3, 4), random_table(sizes, 0, 4)]

    assert total(minimum_cost(sizes, tables, dict.fromkeys(sizes, 0)), tables) == least(sizes, tables)


def test_variables_of_too_large_tables_are_fixed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "LARGEST_TABLE", 9)
    sizes = dict.fromkeys(range(6), 3)
    tables = [random_table(sizes, *edge) for edge in EDGES["all with all"]]

    chosen = minimum_cost(sizes, tables, dict.fromkeys(sizes, 1))

    assert set(chosen) == set(sizes)
    assert list(chosen.values()).count(1) >= 3
    assert total(chosen, tables) >= least(sizes, tables)


def test_a_long_chain_is_solved() -> None:
    sizes = dict.fromkeys(range(300), 4)
    tables = [random_table(sizes, i, i + 1) for i in range(299)]

    assert len(minimum_cost(sizes, tables, dict.fromkeys(sizes, 0))) == 300
