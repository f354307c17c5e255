"""The cheapest choice for several variables at once: a dynamic program over sums of small tables.

Variables are eliminated one by one, the one with fewest neighbours first: what the tables it stands in cost
at best becomes a table of its neighbours. That is the dynamic program of NeoCPU (Liu et al., "Optimizing CNN
Model Inference on CPUs", USENIX ATC 2019, section 3.3.2) on chains, and exact on any graph; its cost grows
with the number of neighbours, which is small for networks of branches that meet again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)

LARGEST_TABLE = 1 << 18
"""Entries. Where a table would be larger, a variable is fixed before: the result is not exact then."""


@dataclass(frozen=True)
class Table(Generic[V]):
    """What each combination of values of ``variables`` costs, by the numbers of the values."""

    variables: tuple[V, ...]
    costs: Mapping[tuple[int, ...], float]


def minimum_cost(
    sizes: Mapping[V, int], tables: Sequence[Table[V]], otherwise: Mapping[V, int]
) -> dict[V, int]:
    """The number of the value for each variable, ``sizes`` telling how many each has, with the least sum of
    ``tables``; of equals the first in order.

    A variable that stands beside too many others gets the value that ``otherwise`` has for it.
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
            left = [_fixed(table, chosen, otherwise[chosen]) for table in left]
        else:
            around = neighbours[chosen]
            own = [table for table in left if chosen in table.variables]
            best, costs = _best(chosen, around, sizes, own)
            left = [table for table in left if chosen not in table.variables] + [Table(around, costs)]
            eliminated.append((chosen, around, best))
        waiting.remove(chosen)
    for variable, around, best in reversed(eliminated):
        fixed[variable] = best[tuple(fixed[v] for v in around)]
    return fixed


def _neighbours(variable: V, tables: Sequence[Table[V]]) -> tuple[V, ...]:
    """The other variables that stand in a table with ``variable``."""
    found = {v: None for table in tables if variable in table.variables for v in table.variables}
    found.pop(variable, None)
    return tuple(found)


def _best(
    variable: V, around: tuple[V, ...], sizes: Mapping[V, int], tables: Sequence[Table[V]]
) -> tuple[dict[tuple[int, ...], int], dict[tuple[int, ...], float]]:
    """For each combination of values ``around`` it: the best value of ``variable``, and what that costs."""
    best: dict[tuple[int, ...], int] = {}
    costs: dict[tuple[int, ...], float] = {}
    for values in itertools.product(*(range(sizes[v]) for v in around)):
        given = dict(zip(around, values, strict=True))
        sums = [
            sum(table.costs[tuple({**given, variable: own}[v] for v in table.variables)] for table in tables)
            for own in range(sizes[variable])
        ]
        best[values] = min(range(len(sums)), key=sums.__getitem__)
        costs[values] = sums[best[values]]
    return best, costs


def _fixed(table: Table[V], variable: V, value: int) -> Table[V]:
    """``table`` where ``variable`` has that value."""
    if variable not in table.variables:
        return table
    place = table.variables.index(variable)
    costs = {key[:place] + key[place + 1 :]: cost for key, cost in table.costs.items() if key[place] == value}
    return Table(table.variables[:place] + table.variables[place + 1 :], costs)
