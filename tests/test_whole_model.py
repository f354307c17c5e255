"""Libraries in turns: what comes of the order is no difference between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tvmlite
from tvmlite.artifact import CompiledModule
from tvmlite.relay.ir import Function, Module, var
from tvmlite.relay.op import make
from tvmlite.runtime.profile import Profile
from tvmlite.whole_model import FEWEST_OF_TWO, in_turns, outputs_apart, ratios

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def lib() -> CompiledModule:
    x = var("x", (4, 8))
    return tvmlite.compile(Module({"main": Function((x,), make("nn.relu", x))}))


class WhoBeginsIsSlow:
    """Runs of 1000 ns and some noise; the first of each turn, a library's two runs, takes a tenth more."""

    def __init__(self, after: int = 1000) -> None:
        self.calls, self.after = 0, after

    def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        self.calls += 1
        number = self.calls - 3  # two to begin with; then four a turn
        begins = number >= 0 and number % 4 < 2
        turn_is_odd = number // 4 % 2
        is_after = begins == bool(turn_is_odd)
        nanoseconds = (self.after if is_after else 1000) * (1.1 if begins else 1.0) + rng.uniform(0, 10)
        return Profile(((lib.signature.kernels[0], int(nanoseconds)),), int(nanoseconds))


def test_who_begins_does_not_matter(lib: CompiledModule) -> None:
    same = in_turns(lib, lib, [], 0.2, WhoBeginsIsSlow())
    quicker = in_turns(lib, lib, [], 0.2, WhoBeginsIsSlow(after=980))

    assert same.ratio == pytest.approx(1, abs=0.003)
    assert same.interval[1] - same.interval[0] < 0.01
    assert quicker.ratio == pytest.approx(0.98, abs=0.003)
    assert quicker.is_better


def test_two_turns_are_one_ratio() -> None:
    assert ratios([1.0, 1.0, 2.0, 1.0, 5.0], [4.0, 1.0, 2.0, 1.0, 1.0]) == [1.0, 2.0]


def test_there_are_turns_enough_to_be_sure(lib: CompiledModule) -> None:
    turns = in_turns(lib, lib, [], 0.0, WhoBeginsIsSlow())

    assert len(turns.before) == len(turns.after) == FEWEST_OF_TWO


def test_outputs_are_as_far_apart_as_they_differ_most(lib: CompiledModule) -> None:
    x = var("x", (4, 8))
    leaky = tvmlite.compile(Module({"main": Function((x,), make("nn.leaky_relu", x, alpha=0.5))}))
    given = np.full((4, 8), 2, np.float32)
    given[1, 3] = -1

    assert outputs_apart(lib, lib, [given]) == 0
    assert outputs_apart(leaky, lib, [given]) == 0.25
