"""The configuration in force: what ``get_config`` gives, in templates and outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tvmlite import autotune, te
from tvmlite.autotune.in_force import get_config, get_target, looking_up, using
from tvmlite.machine.target import Target
from tvmlite.te.space import Config, ConfigEntity, OptionChoice
from tvmlite.te.space import task as registry

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")


@pytest.fixture(autouse=True)
def names() -> Iterator[None]:
    """Templates that a test registers are gone after it."""
    before = dict(registry._TEMPLATES)
    yield
    registry._TEMPLATES.clear()
    registry._TEMPLATES.update(before)


def doubled(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Twice ``x``, in vectors whose length is a knob."""
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")
    s, cfg = te.create_schedule(y.op), get_config()
    cfg.define_knob("lanes", [4, 8])
    s[y].vectorize(s[y].split(y.op.axis[0], factor=cfg["lanes"].val)[1])
    return s, [x, y]


def test_get_config_gives_a_fallback_without_a_configuration() -> None:
    assert get_config().is_fallback
    with using(ConfigEntity({})) as config:
        assert get_config() is config


def test_a_template_sees_the_target_of_its_task() -> None:
    seen: list[Target] = []

    def watching(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
        seen.append(get_target())
        return doubled(n)

    autotune.template("tests.watching", watching)
    autotune.create("tests.watching", (8,), TARGET)

    assert seen == [TARGET]
    assert get_target() == Target.parse("native")


def test_calling_a_template_looks_up_its_configuration() -> None:
    asked: list[tuple[str, list[object]]] = []

    def lookup(name: str, args: list[object]) -> ConfigEntity:
        asked.append((name, args))
        return ConfigEntity({"lanes": OptionChoice(4)})

    function = autotune.template("tests.doubled", doubled)
    with looking_up(lookup):
        schedule, _ = function(64)

    assert asked == [("tests.doubled", [64])]
    assert any("factor=4" in str(step) for step in schedule.trace)


def test_a_template_may_take_its_configuration_and_its_target_as_arguments() -> None:
    seen: list[object] = []

    def explicit(n: int, *, config: Config, target: Target) -> tuple[te.Schedule, list[te.Tensor]]:
        config.define_knob("lanes", [4, 8])
        seen.append((config["lanes"].val, target))
        return doubled(n)

    function = autotune.template("tests.explicit", explicit)
    task = autotune.create("tests.explicit", (64,), TARGET)
    with using(ConfigEntity({"lanes": OptionChoice(8)}), TARGET):
        function(64)

    assert len(task.config_space) == 2
    assert seen == [(4, TARGET), (8, TARGET)]
