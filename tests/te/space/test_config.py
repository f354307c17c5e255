"""Tuning spaces: numbered combinations, settings as JSON, and their effect on a schedule."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.te.space import (
    Config,
    ConfigEntity,
    ConfigSpace,
    FallbackConfig,
    OptionChoice,
    SplitChoice,
)
from tvmlite.te.space.config import MOST


def space_of_three() -> ConfigSpace:
    space = ConfigSpace()
    space.define_split("tile", 12, num_outputs=2)
    space.define_reorder("order", ["a", "b"], "all")
    space.define_knob("unroll", [0, 16, "auto"])
    return space


def test_numbers_and_combinations_correspond_one_to_one() -> None:
    space = space_of_three()

    found = {str(ConfigEntity(space.get(i).settings)) for i in range(len(space))}

    assert len(space) == 6 * 2 * 3 == len(found)
    assert all(space.index_of(space.get(i).settings) == i for i in range(len(space)))


def test_positions_of_many_numbers_agree_with_each_combination() -> None:
    space = space_of_three()
    numbers = np.arange(len(space))

    places = space.positions(numbers)

    for number, row in zip(numbers, places, strict=True):
        chosen = [choices[k] for choices, k in zip(space.space_map.values(), row, strict=True)]
        assert chosen == list(space.get(int(number)).settings.values())
    assert space.numbers(places).tolist() == numbers.tolist()


def test_settings_survive_json() -> None:
    space = space_of_three()
    space.define_annotate("ann", ["x", "y"], "try_unroll_vec")
    config = space.get(len(space) - 1)

    back = ConfigEntity.from_json_dict(json.loads(json.dumps(config.to_json_dict())))

    assert back.settings == config.settings


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        ["sp", "8"],
        ["sp", [1.5]],
        ["sp", [-1, 0]],
        ["sp", []],
        ["re", [0, 0]],
        ["an", ["__import__"]],
        ["ot", [1]],
        ["xx", 1],
    ],
)
def test_invalid_settings_are_refused(value: object) -> None:
    with pytest.raises(ScheduleError, match="knob 'tile'"):
        ConfigEntity.from_json_dict({"tile": value})


def test_a_missing_knob_is_named() -> None:
    with pytest.raises(ScheduleError, match="no knob 'tiles'; there are tile, order, unroll"):
        space_of_three()["tiles"]


def test_an_old_configuration_without_a_new_knob_is_refused() -> None:
    with pytest.raises(ScheduleError, match="asks for a knob 'new' that its configuration does not set"):
        ConfigEntity({}).define_knob("new", [1])


def test_an_axis_of_unknown_extent_cannot_be_split() -> None:
    n = te.var("n")
    axis = te.compute((n,), lambda i: i).op.axis[0]

    with pytest.raises(ScheduleError, match="knob 'tile': the axis has no length"):
        ConfigSpace().define_split("tile", axis)


def matmul(cfg: Config) -> tuple[te.Schedule, list[te.Tensor]]:
    a, b = te.placeholder((12, 8), name="A"), te.placeholder((8, 10), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((12, 10), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    y, x = s[c].op.axis
    cfg.define_split("y", y, num_outputs=3, policy="verbose")
    cfg.define_split("x", x, num_outputs=2)
    cfg.define_reorder("order", ["xo", "yi", "k"], "all")
    cfg.define_annotate("ann", ["xi"], "try_unroll_vec")
    yo, ym, yi = cfg["y"].apply(s, c, y)
    xo, xi = cfg["x"].apply(s, c, x)
    s[c].reorder(yo, ym, *[xo, yi, k], xi)
    cfg["order"].apply(s, c, [xo, yi, s[c].op.reduce_axis[0]])
    cfg["ann"].apply(s, c, [xi])
    return s, [a, b, c]


def test_every_configuration_computes_the_same() -> None:
    space = ConfigSpace()
    matmul(space)
    generator = np.random.default_rng(0)
    a, b = generator.random((12, 8), np.float32), generator.random((8, 10), np.float32)

    for number in generator.integers(0, len(space), 8):
        s, args = matmul(space.get(int(number)))
        np.testing.assert_allclose(tvmlite.build(s, args)(a, b), a @ b, rtol=1e-5)


def test_a_split_makes_loops_of_the_chosen_extents() -> None:
    space = ConfigSpace()
    matmul(space)
    settings = dict(space.get(0).settings) | {"y": SplitChoice((-1, 2, 3)), "x": SplitChoice((-1, 5))}
    s, args = matmul(ConfigEntity(settings))

    extents = [
        line.split("range(")[1].split(")")[0]
        for line in str(tvmlite.lower(s, args)).splitlines()
        if "range(" in line
    ]

    assert extents[:3] == ["0, 2", "0, 2", "0, 2"]  # 12 in (2, 2, 3), and 10 in (2, 5)


def test_a_fallback_takes_the_largest_split_within_bounds() -> None:
    config = FallbackConfig()
    config.define_split("tile", 64, num_outputs=3)

    config.fallback_split("tile", [-1, 4, 16])

    assert config.is_fallback
    assert config["tile"].size == (-1, 4, 16)
    with pytest.raises(ScheduleError, match="no split within"):
        config.fallback_split("tile", [-1, 0, 16])


def test_an_equal_setting_is_replaced_by_the_one_of_the_space() -> None:
    space = space_of_three()
    found = space.own(ConfigEntity(space.get(7).settings | {"unroll": OptionChoice(16.0)}))

    assert found is not None
    assert found["unroll"] == OptionChoice(16)
    assert isinstance(found["unroll"].val, int)
    assert space.own(ConfigEntity({"unroll": OptionChoice(16)})) is None


def test_a_too_large_space_is_thinned_at_its_largest_knobs() -> None:
    space = ConfigSpace()
    space.define_knob("flag", [False, True])
    for name in "abcdefgh":
        space.define_split(name, 4096, num_outputs=4)
    full = {name: list(choices) for name, choices in space.space_map.items()}
    kept = {name: choices[len(choices) // 2 + 1] for name, choices in full.items() if name != "flag"}
    space.space_map["few"] = full["few"] = [OptionChoice(n) for n in range(3)]
    small = space_of_three()
    small_before = small.dims

    assert math.prod(space.dims) > MOST
    space.thin(MOST, kept)
    small.thin(36, {})

    assert MOST // 2 < len(space) <= MOST
    assert space.space_map["flag"] == full["flag"]
    assert space.space_map["few"] == full["few"]
    assert max(space.dims) < 1.2 * min(size for size in space.dims if size > 3)
    for name, choices in space.space_map.items():
        assert choices[0] == full[name][0]
        assert choices == [one for one in full[name] if one in choices] or choices[-1] == kept[name]
        assert len(set(choices)) == len(choices)
        assert name not in kept or kept[name] in choices
    last = space.get(len(space) - 1)
    assert space.index_of(last.settings) == len(space) - 1
    assert space.numbers(space.positions(np.array([len(space) - 1]))).tolist() == [len(space) - 1]
    assert small.dims == small_before
