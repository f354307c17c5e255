"""The cost model of a loop nest: the slowest resource determines the time, and caches reuse what fits."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tvmlite.machine.machine import Cache
from tvmlite.machine.table import estimate
from tvmlite.te import cost
from tvmlite.te.cost import Loop, Nest, Step, cycles

MACHINE = estimate(512, 32)
COSTS = MACHINE.tile_costs


def test_a_step_takes_the_time_of_its_most_used_resource() -> None:
    arithmetic = cycles(Nest(Step(24, scalars=6, vectors=4)), MACHINE)
    loads = cycles(Nest(Step(4, scalars=30)), MACHINE)
    waits = cycles(Nest(Step(2, latency=9.0)), MACHINE)

    assert arithmetic.arithmetic == 24 / COSTS.multiply_adds == arithmetic.total - arithmetic.overhead
    assert loads.loads == 30 / COSTS.loads == loads.total - loads.overhead
    assert waits.total == 9.0


def test_few_accumulators_cost_latency() -> None:
    assert cycles(Nest(Step(1)), MACHINE).total == cycles(Nest(Step(4)), MACHINE).total == COSTS.step


def test_calls_spills_streams_and_idle_lanes_cost_time() -> None:
    plain = Step(24, scalars=6, vectors=4)
    costly = [
        replace(plain, calls=2),
        replace(plain, spills=24),
        replace(plain, streams=(cost.MOST_STREAMS + 1,)),
        replace(plain, filled=0.5),
    ]

    assert all(cycles(Nest(one), MACHINE).total > cycles(Nest(plain), MACHINE).total for one in costly)
    assert cycles(Nest(replace(plain, streams=(4, 4))), MACHINE) == cycles(Nest(plain), MACHINE)


def test_a_partial_tile_counts_as_a_tail() -> None:
    assert cost.iterations(Loop(12, 4), MACHINE) == cost.iterations(Loop(12, 4, padded=True), MACHINE) == 3
    assert cost.iterations(Loop(13, 4), MACHINE) == 3 + COSTS.tail
    assert cost.iterations(Loop(13, 4, padded=True), MACHINE) == 4


def test_the_busiest_thread_determines_the_time() -> None:
    nest = Nest(Step(8), (Loop(9, parallel=True), Loop(10)))

    assert cycles(nest, MACHINE).total == 90 * COSTS.step
    assert cycles(nest, MACHINE, threads=4).total == 30 * COSTS.step


def test_data_are_reused_from_a_cache_only_where_they_fit() -> None:
    """A matrix of 1024 x 1024 bytes is read 8 times row by row: a row fits, the matrix does not."""
    touched = [1.0, 1024.0, 1024.0**2, 1024.0**2]

    assert cost.cache_traffic(touched, [8, 1024, 1024], [1024, 1 << 21]) == [8 * 1024**2, 1024**2]
    assert cost.cache_traffic(touched, [8, 1024, 1024], [16]) == [8 * 1024**2]


def test_memory_costs_time_where_a_nest_exceeds_a_cache() -> None:
    near = Nest(Step(8), (Loop(1024),), (64.0, 1024.0))
    far = Nest(Step(8), (Loop(1024),), (float(1 << 16), float(1 << 26)))

    assert cycles(near, MACHINE).total == pytest.approx(1024 * COSTS.step, rel=0.01)
    assert cycles(far, MACHINE).total > max(cycles(far, MACHINE).memory) > 1024 * COSTS.step


def test_cache_bandwidth_is_scaled_from_the_measured_first_level() -> None:
    caches = Cache(32 << 10, bandwidth=200e9), Cache(1 << 20, bandwidth=100e9), Cache(32 << 20)
    machine = replace(MACHINE, caches=caches, memory_bandwidth=20e9)
    nearest = COSTS.loads * 64

    beyond = cost.bytes_per_cycle(machine)

    assert beyond == (nearest / 2, nearest * cost.BANDWIDTHS[2], nearest / 10)
    assert cost.cache_sizes(machine) == (32 << 10, 1 << 20, 32 << 20)


def test_a_cache_of_unknown_size_is_ignored() -> None:
    machine = replace(MACHINE, caches=(Cache(32 << 10), Cache(0, shared_by=0)))

    assert len(cost.cache_sizes(machine)) == len(cost.bytes_per_cycle(machine)) == 1


def test_overlapped_costs_are_little_more_than_the_slowest() -> None:
    assert cost.overlapped([3.0]) == 3.0
    assert 5.0 < cost.overlapped([5.0, 2.0]) < 5.1
    assert cost.overlapped([1.0, 1.0]) == pytest.approx(math.pow(2, 1 / cost.OVERLAP))


def test_copies_are_added_to_the_cost() -> None:
    assert cycles(Nest(Step(8), copied=100.0), MACHINE).total == COSTS.step + 100 * cost.COPIED
