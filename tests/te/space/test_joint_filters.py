"""Filters of whole configurations do not change the numbers of the remaining ones."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.core.errors import ScheduleError
from tvmlite.te.space import ConfigEntity, ConfigSpace
from tvmlite.te.space.rules import RuleSpace


def product(entity: ConfigEntity) -> int:
    return entity["y"].size[1] * entity["x"].size[1]


def filtered(least: int = 32, most: int = 256) -> ConfigSpace:
    space = ConfigSpace()
    space.define_split("y", 16)
    space.define_split("x", 64)
    space.multi_filter(lambda entity: least <= product(entity) <= most)
    return space


def expected(least: int = 32, most: int = 256) -> list[int]:
    """The numbers left, for powers of two y up to 16 (which change fastest) and x up to 64."""
    return [y + 5 * x for x in range(7) for y in range(5) if least <= 2 ** (x + y) <= most]


def test_configurations_left_by_a_joint_filter_keep_their_numbers() -> None:
    space = filtered()

    assert space.indices() == sorted(expected())
    assert len(space) == len(expected())
    assert space.range_length == 35
    assert [n for n in range(-1, 40) if space.is_index_valid(n)] == sorted(expected())
    for number in space.indices():
        assert space.index_of(space.get(number).settings) == number


def test_a_filtered_configuration_cannot_be_used() -> None:
    space = filtered()

    with pytest.raises(ScheduleError, match="config 0 is left out by multi_filter"):
        space.get(0)
    assert space.index_of({name: choices[0] for name, choices in space.space_map.items()}) is None


def test_filters_apply_to_knobs_defined_later() -> None:
    space = ConfigSpace()
    space.define_split("y", 16)
    space.multi_filter(lambda entity: "x" not in entity or product(entity) >= 512)
    assert len(space) == 5

    space.define_split("x", 64)

    assert len(space) == 3


def test_samples_are_drawn_from_the_remaining_configurations() -> None:
    drawn = filtered().sample(200, np.random.default_rng(0))

    assert set(drawn.tolist()) <= set(expected())
    assert len(set(drawn.tolist())) > len(expected()) // 2


def test_rules_keep_the_filters_of_their_spaces() -> None:
    plain = ConfigSpace()
    plain.define_knob("unroll", [0, 1])
    space = RuleSpace({"plain": plain, "tiled": filtered()})

    assert space.indices() == [0, 1, *(2 + n for n in sorted(expected()))]
    space.multi_filter(lambda entity: entity["rule"].val == "tiled")
    assert len(space) == len(expected())
    assert set(space.sample(50, np.random.default_rng(0)).tolist()) <= set(space.indices())


def test_a_space_too_large_to_filter_is_an_error() -> None:
    space = ConfigSpace()
    for name in "abcdef":
        space.define_knob(name, list(range(20)))
    space.multi_filter(lambda entity: True)

    with pytest.raises(ScheduleError, match="the space has 64000000 combinations, expected at most 1048576"):
        len(space)
