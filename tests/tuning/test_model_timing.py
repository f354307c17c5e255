"""Timing libraries in turns: the order of runs does not count as a difference between them."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import pytest

import tvmlite
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.runtime.library.profile import Profile
from tvmlite.tuning.model_timing import (
    FEWEST_RATIOS,
    InterleavedRuns,
    fewest_runs,
    interleaved,
    output_gap,
    ratios,
    rounds,
    seconds_of_call,
)

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def lib() -> CompiledModule:
    x = var("x", (4, 8))
    return tvmlite.compile(Module({"main": Function((x,), make("nn.relu", x))}))


class WhoBeginsIsSlow:
    """Runs of 1000 ns, or of ``speeds`` by library, with some noise; the library that begins a turn takes a
    tenth more in both of its runs."""

    def __init__(self, *libs: CompiledModule, speeds: dict[int, int] | None = None) -> None:
        self.libs, self.speeds, self.calls = libs, speeds or {}, 0

    def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        number = self.calls - len(self.libs)  # each library runs once first
        self.calls += 1
        begins = number >= 0 and number % (2 * len(self.libs)) < 2
        speed = self.speeds.get(next(k for k, one in enumerate(self.libs) if one is lib), 1000)
        nanoseconds = int(speed * (1.1 if begins else 1.0) + rng.uniform(0, 10))
        return Profile(((lib.signature.kernels[0], nanoseconds),), nanoseconds)


@pytest.fixture(scope="module")
def libs(lib: CompiledModule) -> list[CompiledModule]:
    """Four distinguishable libraries."""
    return [lib, *(copy.copy(lib) for _ in range(3))]


def test_the_order_of_two_libraries_does_not_affect_their_ratio(libs: list[CompiledModule]) -> None:
    one, two = libs[:2]
    same = interleaved(one, two, [], 0.2, WhoBeginsIsSlow(one, two))
    quicker = interleaved(one, two, [], 0.2, WhoBeginsIsSlow(one, two, speeds={1: 980}))

    assert same.ratio == pytest.approx(1, abs=0.003)
    assert same.interval[1] - same.interval[0] < 0.01
    assert quicker.ratio == pytest.approx(0.98, abs=0.003)
    assert quicker.is_better


def test_a_library_is_better_only_if_its_copies_are(libs: list[CompiledModule]) -> None:
    """Where copies of one library differ as much as two libraries do, neither is better."""

    def runs(*speeds: int) -> InterleavedRuns:
        run = WhoBeginsIsSlow(*libs, speeds=dict(enumerate(speeds)))
        before, after, before_too, after_too = rounds(libs, [], 0.2, run)
        return InterleavedRuns(before, after, ((before_too, after_too),))

    by_luck, beyond_luck = runs(1000, 975, 970, 945), runs(1000, 945, 990, 955)

    assert InterleavedRuns(by_luck.before, by_luck.after).is_better
    assert not by_luck.is_better
    assert by_luck.why_not == (
        "each was loaded 2 times, with its weights at other addresses, and 1 of the 4 pairs do not show "
        "a gain: it may be due to the addresses of the weights"
    )
    assert runs(1000, 1010, 1000, 1010).why_not == "it is slower there"
    same = runs(1000, 1000, 1000, 1000)
    same = InterleavedRuns(same.before, same.before[1:] + same.before[:1])
    assert same.why_not == "may be chance: the interval reaches 1 or below"
    assert by_luck.ratio == pytest.approx((0.975 * 0.945 / 0.97) ** 0.5, abs=0.003)
    assert beyond_luck.is_better


def test_copies_are_timed_when_asked_for(lib: CompiledModule) -> None:
    given = [rng.standard_normal((4, 8), np.float32)]
    both = interleaved(lib, lib, given, 0.5, copies=True)

    assert len(both.copies) == 4
    assert str(both).endswith("rounds of 5 copies")
    assert interleaved(lib, lib, given, 0.5).copies == ()


def test_among_many_copies_a_few_pairs_may_show_no_gain(lib: CompiledModule) -> None:
    libs = [copy.copy(lib) for _ in range(8)]

    def runs_of(befores: Sequence[int], afters: Sequence[int]) -> InterleavedRuns:
        speeds = dict(enumerate(one for pair in zip(befores, afters, strict=True) for one in pair))
        runs = rounds(libs, [], 0.2, WhoBeginsIsSlow(*libs, speeds=speeds))
        first, *others = zip(runs[::2], runs[1::2], strict=True)
        return InterleavedRuns(*first, tuple(others))

    lucky = runs_of((1000, 1000, 1000, 900), (950, 950, 950, 850))  # three pairs lost
    assert not lucky.is_better
    assert "3 of the 16 pairs do not show a gain" in lucky.why_not
    assert runs_of((1000, 1000, 1000, 930), (900, 900, 880, 950)).is_better  # one


def test_the_number_of_copies_follows_from_twice_the_time(lib: CompiledModule) -> None:
    def takes_10_ms(lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        return Profile(((lib.signature.kernels[0], 10**7),), 10**7)

    alone = interleaved(lib, lib, [], 0.0, takes_10_ms, copies=True)
    assert alone.copies == ()
    assert str(alone).endswith(" rounds")
    for count in (2, 3):
        needed = fewest_runs(2 * count) * 0.01
        found = interleaved(lib, lib, [], 0.5 * needed + 1e-6, takes_10_ms, copies=True)
        assert len(found.copies) == count - 1


def test_a_copy_has_its_own_weights() -> None:
    x, weight = var("x", (4, 8)), rng.standard_normal((8, 8), np.float32)
    lib = tvmlite.compile(Module({"main": Function((x,), make("nn.dense", x, constant(weight)))}))
    again, given = lib.copy(), rng.standard_normal((4, 8), np.float32)

    assert again.constants.blob().ctypes.data != lib.constants.blob().ctypes.data
    assert np.array_equal(again.constants.blob(), lib.constants.blob())
    assert np.array_equal(again(given), lib(given))


def test_the_order_of_four_libraries_does_not_affect_their_ratios(libs: list[CompiledModule]) -> None:
    runs = rounds(libs, [], 0.2, WhoBeginsIsSlow(*libs, speeds={2: 980}))

    default, *others = (seconds_of_call(one, [0]) for one in runs)
    for costs, wanted in zip(others, (1, 0.98, 1), strict=True):
        assert ratios(default, costs, 4) == pytest.approx([wanted] * (len(default) // 4), abs=0.01)


def test_a_ratio_averages_as_many_turns_as_there_are_libraries() -> None:
    assert ratios([1.0, 1.0, 2.0, 1.0], [4.0, 1.0, 2.0, 1.0], 2) == [1.0, 2.0]
    assert ratios([1.0, 1.0, 2.0], [4.0, 2.0, 2.0], 3) == pytest.approx([2.0])


@pytest.mark.parametrize("count", [2, 4])
def test_the_fewest_rounds_are_run_even_without_time(libs: list[CompiledModule], count: int) -> None:
    some = libs[:count]
    run = WhoBeginsIsSlow(*some)
    runs = rounds(some, [], 0.0, run)

    assert [len(one) for one in runs] == [FEWEST_RATIOS * count] * count
    assert run.calls == fewest_runs(count) + count


def test_the_distance_of_outputs_is_the_largest_relative_difference(lib: CompiledModule) -> None:
    x = var("x", (4, 8))
    leaky = tvmlite.compile(Module({"main": Function((x,), make("nn.leaky_relu", x, alpha=0.5))}))
    given = np.full((4, 8), 2, np.float32)
    given[1, 3] = -1

    assert output_gap(lib, lib, [given]) == 0
    assert output_gap(leaky, lib, [given]) == 0.25
