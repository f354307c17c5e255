"""Tasks: named schedule functions with their spaces and defaults, with one rule or several."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.machine.target import Target
from tvmlite.te.space import (
    RULE,
    Config,
    ConfigEntity,
    OptionChoice,
    RuleSpace,
    SplitChoice,
    create,
    rule_of,
    template,
)
from tvmlite.te.templates import anchors
from tvmlite.te.templates import templates as schedules

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")


def doubled(n: int, *, config: Config) -> tuple[te.Schedule, list[te.Tensor]]:
    """By the first rule in vectors of 4 or 8 lanes, by the second unrolled or not."""
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    cfg = config
    _, inner = s[y].split(y.op.axis[0], factor=8)
    if rule_of(cfg) in (None, "first"):
        cfg.define_knob("lanes", [4, 8])
        cfg.suggest("lanes", OptionChoice(8))
        s[y].vectorize(s[y].split(inner, factor=cfg["lanes"].val)[1])
    else:
        cfg.define_knob("unrolled", [False, True])
        if cfg["unrolled"].val:
            s[y].unroll(inner)
    return s, [x, y]


def test_a_task_of_several_rules_has_the_candidates_of_all() -> None:
    template("tests.doubled", doubled, rules=lambda n: ("first", "second"))

    task = create("tests.doubled", (64,), TARGET)
    space = task.config_space

    assert isinstance(space, RuleSpace)
    assert len(space) == 4
    assert [rule_of(space.get(i)) for i in range(4)] == ["first", "first", "second", "second"]
    assert task.default.settings == {RULE: OptionChoice("first"), "lanes": OptionChoice(8)}
    assert space.index_of(task.default.settings) == 1
    assert task.flop == 64
    schedule, _ = task.instantiate(space.get(3))
    assert any("unroll" in str(step) for step in schedule.trace)


def test_a_task_of_one_rule_does_not_name_it() -> None:
    template("tests.doubled", doubled)

    task = create("tests.doubled", (64,), TARGET)

    assert len(task.config_space) == 2
    assert task.default.settings == {"lanes": OptionChoice(8)}


def test_a_template_may_take_its_configuration_and_target_as_arguments() -> None:
    seen: list[object] = []

    def explicit(n: int, *, config: Config, target: Target) -> tuple[te.Schedule, list[te.Tensor]]:
        config.define_knob("lanes", [4, 8])
        seen.append((config["lanes"].val, target))
        return doubled(n, config=config)

    assert template("tests.explicit", explicit) is explicit
    task = create("tests.explicit", (64,), TARGET)
    task.instantiate(task.config_space.get(1))

    assert len(task.config_space) == 2
    assert seen == [(4, TARGET), (8, TARGET)]
    with pytest.raises(ScheduleError, match=r"template 'tests.explicit': 0 arguments given, expected \(n"):
        create("tests.explicit", (), TARGET)


def test_a_configuration_of_a_missing_rule_is_an_error() -> None:
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] * 2.0, name="y")

    with pytest.raises(ScheduleError, match="there is no rule 'magic' for schedules; there are hand"):
        schedules.apply(anchors.ELEMENTWISE, [y], TARGET, ConfigEntity({RULE: OptionChoice("magic")}))


@pytest.mark.parametrize("args", [(), (64, 8)])
def test_too_many_or_too_few_arguments_are_an_error(args: tuple[int, ...]) -> None:
    template("tests.doubled", doubled, rules=lambda n: ("first", "second"))

    with pytest.raises(ScheduleError, match=rf"'tests.doubled': {len(args)} arguments given, expected \(n: "):
        create("tests.doubled", args, TARGET)


def tiled(n: int, loops: int, *, config: Config) -> tuple[te.Schedule, list[te.Tensor]]:
    """With ``loops`` knobs, of which only the first is used."""
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    cfg = config
    for loop in range(loops):
        cfg.define_split(f"tile{loop}", n, num_outputs=4)
        cfg.suggest(f"tile{loop}", SplitChoice((-1, 2, 4, 8)))
    cfg["tile0"].apply(s, y, y.op.axis[0])
    return s, [x, y]


@pytest.mark.parametrize("rules", [(), ("one", "other")])
def test_a_space_with_too_many_combinations_keeps_its_default(rules: tuple[str, ...]) -> None:
    template("tests.tiled", tiled, rules=lambda n, loops: rules)

    task = create("tests.tiled", (4096, 8), TARGET)

    space = task.config_space
    assert 1 << 60 < len(space) < 1 << 63
    number = space.index_of(task.default.settings)
    assert number is not None
    assert space.get(number).settings == task.default.settings
    numbers = space.sample(100, np.random.default_rng(1))
    assert space.numbers(space.positions(numbers)).tolist() == numbers.tolist()
    task.instantiate(space.get(len(space) - 1))
