"""Variable elimination: the minimum of a sum of small tables over several variables.

Variables are eliminated one by one, the one with the smallest new table first: the least sum of the tables
that contain it becomes a table of its neighbours. On chains this is the dynamic program of NeoCPU (Liu et
al., "Optimizing CNN Model Inference on CPUs", USENIX ATC 2019, section 3.3.2); it is exact on any graph. Its
cost grows with the number of neighbours, which is small for networks whose branches join again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)

LARGEST_TABLE = 1 << 18
"""The most entries of a table; if one would be larger, a variable is fixed first, which is not exact."""


@dataclass(frozen=True)
class Table(Generic[V]):
    """The cost of each combination of values of ``variables``, by the indices of the values."""

    variables: tuple[V, ...]
    costs: Mapping[tuple[int, ...], float]


def minimum_cost(
    sizes: Mapping[V, int], tables: Sequence[Table[V]], otherwise: Mapping[V, int]
) -> dict[V, int]:
    """The index of the value of each variable with the least sum of ``tables``, the first of equal ones;
    ``sizes`` are the numbers of values.

    A variable with too many neighbours gets its value in ``otherwise``.
    """
    fixed: dict[V, int] = {}
    left = list(tables)
    eliminated: list[tuple[V, tuple[V, ...], dict[tuple[int, ...], int]]] = []
    waiting = list(sizes)
    while waiting:
        neighbours = {one: _neighbours(one, left) for one in waiting}
        chosen = min(waiting, key=lambda one: math.prod(sizes[v] for v in neighbours[one]))
        if math.prod(sizes[v] for v in neighbours[chosen]) * sizes[chosen] > LARGEST_TABLE:
            chosen = max(waiting, key=lambda one: len(neighbours[one]))
            fixed[chosen] = otherwise[chosen]
            left = [_restricted(table, chosen, otherwise[chosen]) for table in left]
        else:
            adjacent = neighbours[chosen]
            own = [table for table in left if chosen in table.variables]
            best, costs = _best(chosen, adjacent, sizes, own)
            left = [table for table in left if chosen not in table.variables] + [Table(adjacent, costs)]
            eliminated.append((chosen, adjacent, best))
        waiting.remove(chosen)
    for variable, adjacent, best in reversed(eliminated):
        fixed[variable] = best[tuple(fixed[v] for v in adjacent)]
    return fixed


def _neighbours(variable: V, tables: Sequence[Table[V]]) -> tuple[V, ...]:
    """The other variables of the tables that contain ``variable``."""
    found = {v: None for table in tables if variable in table.variables for v in table.variables}
    found.pop(variable, None)
    return tuple(found)


def _best(
    variable: V, adjacent: tuple[V, ...], sizes: Mapping[V, int], tables: Sequence[Table[V]]
) -> tuple[dict[tuple[int, ...], int], dict[tuple[int, ...], float]]:
    """For each combination of values of ``adjacent``: the best value of ``variable``, and its cost."""
    best: dict[tuple[int, ...], int] = {}
    costs: dict[tuple[int, ...], float] = {}
    for values in itertools.product(*(range(sizes[v]) for v in adjacent)):
        given = dict(zip(adjacent, values, strict=True))
        sums = [
            sum(table.costs[tuple({**given, variable: own}[v] for v in table.variables)] for table in tables)
            for own in range(sizes[variable])
        ]
        best[values] = min(range(len(sums)), key=sums.__getitem__)
        costs[values] = sums[best[values]]
    return best, costs


def _restricted(table: Table[V], variable: V, value: int) -> Table[V]:
    """``table`` restricted to entries in which ``variable`` has ``value``."""
    if variable not in table.variables:
        return table
    place = table.variables.index(variable)
    costs = {key[:place] + key[place + 1 :]: cost for key, cost in table.costs.items() if key[place] == value}
    return Table(table.variables[:place] + table.variables[place + 1 :], costs)
