"""A space of several rules maps numbers, settings and positions to each other in every rule."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.autotune.model.features import KnobFeatures
from tvmlite.core.errors import ScheduleError
from tvmlite.te.space import ConfigEntity, ConfigSpace, OptionChoice, RuleSpace, SplitChoice, rule_of


def spaces() -> tuple[ConfigSpace, ConfigSpace]:
    hand, sketch = ConfigSpace(), ConfigSpace()
    hand.define_knob("unroll", [0, 16])
    sketch.define_split("tile", 8, num_outputs=2)
    sketch.define_knob("unroll", [0, 4, 8])
    return hand, sketch


def test_the_configurations_of_the_rules_are_concatenated() -> None:
    hand, sketch = spaces()
    space = RuleSpace({"hand": hand, "sketch": sketch})

    first, last = space.get(1), space.get(len(space) - 1)

    assert len(space) == 2 + 4 * 3
    assert first.settings == {"rule": OptionChoice("hand"), "unroll": OptionChoice(16)}
    assert (rule_of(last), last["tile"], last["unroll"].val) == ("sketch", SplitChoice((-1, 8)), 8)


def test_numbers_and_settings_are_inverse_to_each_other() -> None:
    space = RuleSpace(dict(zip(["hand", "sketch"], spaces(), strict=True)))

    assert [space.index_of(space.get(n).settings) for n in range(len(space))] == list(range(len(space)))
    assert space.index_of({"unroll": OptionChoice(16)}) is None
    assert space.index_of({"rule": OptionChoice("hand"), "unroll": OptionChoice(5)}) is None


def test_positions_and_numbers_are_inverse_to_each_other() -> None:
    space = RuleSpace(dict(zip(["hand", "sketch"], spaces(), strict=True)))
    every = np.arange(len(space))

    places = space.positions(every)

    assert places.shape == (14, 4) == (14, len(space.dims))
    assert (space.numbers(places) == every).all()
    assert (places < np.array(space.dims)).all()


def test_positions_of_other_rules_knobs_are_ignored() -> None:
    space = RuleSpace(dict(zip(["hand", "sketch"], spaces(), strict=True)))

    assert space.numbers(np.array([[0, 1, 3, 2], [0, 1, 0, 0]])).tolist() == [1, 1]


def test_every_rule_is_sampled_equally_often() -> None:
    small, large = ConfigSpace(), ConfigSpace()
    small.define_knob("a", [0, 1])
    large.define_split("b", 1 << 20, num_outputs=4)
    space = RuleSpace({"small": small, "large": large})

    drawn = space.sample(1000, np.random.default_rng(0))

    assert 400 < (drawn < 2).sum() < 600


def test_features_distinguish_rules() -> None:
    space = RuleSpace(dict(zip(["hand", "sketch"], spaces(), strict=True)))

    rows = KnobFeatures(space)(np.arange(len(space)))

    assert len({tuple(row) for row in rows.tolist()}) == len(space)


def test_a_configuration_survives_json() -> None:
    space = RuleSpace(dict(zip(["hand", "sketch"], spaces(), strict=True)))

    assert ConfigEntity.from_json_dict(space.get(9).to_json_dict()).settings == space.get(9).settings


def test_mistakes_raise_errors() -> None:
    space = ConfigSpace()
    space.define_knob("rule", [1])
    with pytest.raises(ScheduleError, match="rule 'hand' has a knob 'rule'"):
        RuleSpace({"hand": space})
    with pytest.raises(ScheduleError, match="no rule is given"):
        RuleSpace({})
    with pytest.raises(ScheduleError, match="config 14 of a space of 14"):
        RuleSpace(dict(zip(["hand", "sketch"], spaces(), strict=True))).get(14)
    with pytest.raises(ScheduleError, match="a space of rules has the knobs of its rules"):
        RuleSpace({"hand": ConfigSpace()}).define_knob("x", [1])
