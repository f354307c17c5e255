"""Spaces under AutoTVM's names: counts, indices and settings as its templates and tuners expect them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError, UnsupportedError
from tvmlite.tvm.autotvm.task.space import (
    ConfigEntity,
    ConfigSpace,
    FallbackConfigEntity,
    OtherOptionEntity,
    SplitEntity,
)


def tiles(y: int = 128, x: int = 128) -> ConfigSpace:
    space = ConfigSpace()
    space.define_split("tile_y", space.axis(y), num_outputs=2)
    space.define_split("tile_x", space.axis(x), num_outputs=2)
    return space


def divisor_pairs(length: int) -> list[tuple[int, int]]:
    return [
        pair for pair in itertools.product(range(1, length + 1), repeat=2) if length % math.prod(pair) == 0
    ]


@pytest.mark.parametrize("length", [12, 49, 224, 256])
def test_a_split_by_factors_has_no_tail(length: int) -> None:
    space = ConfigSpace()
    space.define_split("x", space.axis(length), policy="factors", num_outputs=3)

    inner = {tuple(one.size[1:]) for one in space.space_map["x"]}
    assert inner == set(divisor_pairs(length))
    assert len(space) == len(inner)


def test_a_redefined_knob_has_its_new_settings() -> None:
    space = tiles()

    space.define_split("tile_y", 128, num_outputs=2, filter=lambda one: one.size[-1] < 64)

    assert len(space) == 6 * 8


def test_joint_filters_keep_the_indices_of_other_configurations() -> None:
    space = tiles()
    space.multi_filter(lambda one: 32 <= one["tile_x"].size[1] * one["tile_y"].size[1] < 1024)
    kept = [x * 8 + y for x in range(8) for y in range(8) if 32 <= 2 ** (x + y) < 1024]

    assert (len(space), space.range_length, space.dims) == (len(kept), 64, [8, 8])
    assert space.subrange_length(16, 32) == sum(16 <= n < 32 for n in kept)
    assert space.get_next_index(0) == kept[0]
    assert space.get_next_index(kept[3], 2) == kept[5]
    assert space.get_next_index(63, -1) == kept[-1]
    assert space.get_next_index(kept[-1]) is None
    assert space.get_next_index(63, -1, start=60) is None
    assert space.get_rand_index(to_exclude=kept[:-1]) == kept[-1]
    assert set(space.sample_ints(5)) <= set(kept)
    assert len(set(space.sample_ints(5))) == 5
    walked = space.random_walk(kept[0])
    assert walked in kept
    assert walked != kept[0]


def test_an_invalid_index_is_an_index_error_as_in_tvm() -> None:
    space = tiles()
    with pytest.raises(IndexError, match="config 64 of a space of 64"):
        space.get(64)
    space.multi_filter(lambda one: one["tile_x"].size[1] > 1)
    with pytest.raises(IndexError, match="config 0 is left out by multi_filter"):
        space.get(0)


def test_an_index_encodes_a_position_of_each_knob() -> None:
    space = tiles()

    assert [space.point2knob(n) for n in (0, 4, 8, 12)] == [[0, 0], [4, 0], [0, 1], [4, 1]]
    assert [space.knob2point(space.point2knob(n)) for n in range(64)] == list(range(64))


@pytest.mark.parametrize("bounds", [(0, 65), (-1, 3), (5, 4)])
def test_a_range_outside_the_space_is_an_error(bounds: tuple[int, int]) -> None:
    with pytest.raises(ScheduleError, match="is not within the 64 of the space"):
        tiles().subrange_length(*bounds)


@pytest.mark.parametrize(
    ("length", "bounds", "expected"), [(128, [-1, 8, 4], [4, 8, 4]), (49, [-1, 8, 4], [7, 7, 1])]
)
def test_a_fallback_split_has_an_explicit_outermost_length(
    length: int, bounds: list[int], expected: list[int]
) -> None:
    config = FallbackConfigEntity()
    config.define_split("tile", config.axis(length), num_outputs=3)
    config.fallback_split("tile", bounds)
    config.define_split("tile", config.axis(length), num_outputs=3)

    assert config["tile"].size == expected


def test_no_split_within_bounds_is_a_runtime_error_as_in_tvm() -> None:
    config = FallbackConfigEntity()
    config.define_split("tile", config.axis(49), num_outputs=3)

    with pytest.raises(RuntimeError, match=r"knob 'tile' has no split within \[-1, 1, 0\]"):
        config.fallback_split("tile", [-1, 1, 0])


def test_a_template_may_set_its_fallback_configuration() -> None:
    config = FallbackConfigEntity()
    config["tile"] = SplitEntity([-1, 16])
    config["unroll"] = OtherOptionEntity(True)
    config.define_split("tile", 64)
    config.define_knob("unroll", [False, True])

    assert config["tile"].size == [-1, 16]
    assert config["unroll"].val is True
    assert config.is_fallback


def test_settings_convert_to_indices_and_json_and_back() -> None:
    space = tiles()

    for number in (0, 5, 63):
        entity = space.get(number)
        assert space.index_of(entity.settings) == number
        back = ConfigEntity.from_json_dict(entity.to_json_dict())
        assert back.settings == entity.settings
        assert str(back) == str(entity)
        assert hash(back["tile_x"]) == hash(entity["tile_x"])


def test_annotations_vectorize_at_most_one_loop() -> None:
    space = ConfigSpace()
    space.define_annotate("ann", [1, 2], policy="try_unroll_vec")

    found = [one.anns for one in space.space_map["ann"]]
    expected = [list(w) for w in itertools.product(["none", "unroll", "vec"], repeat=2) if w.count("vec") < 2]
    assert found == expected


def test_interleave_alternates_axes_of_the_chains() -> None:
    space, axes = ConfigSpace(), [space_axis(n) for n in range(6)]
    y0, y1, x0, x1, k0, k1 = axes
    space.define_reorder("order", axes, "interleave", spatial=[[y0, y1], [x0, x1]], reduce=[[k0, k1]])

    [order] = space.space_map["order"]
    assert [axes[place] for place in order.perm] == [y0, x0, k0, y1, x1, k1]


def space_axis(number: int) -> te.IterVar:
    return te.reduce_axis((0, 4), name=f"axis{number}")


def test_the_end_of_an_interval_is_exclusive() -> None:
    space, axes = ConfigSpace(), [space_axis(n) for n in range(4)]
    space.define_reorder("order", axes, "interval_all", interval=(1, 3))

    assert [one.perm for one in space.space_map["order"]] == [[0, 1, 2, 3], [0, 2, 1, 3]]


def test_candidates_of_orders_are_lists_of_axes() -> None:
    space, axes = ConfigSpace(), [space_axis(n) for n in range(3)]
    space.define_reorder("order", axes, "candidate", candidate=[axes[::-1]])

    assert space.get(0)["order"].perm == [2, 1, 0]


@pytest.mark.parametrize("policy", ["bind_gpu", "bind_gpu_virtual", "locate_cache"])
def test_policies_for_gpus_are_errors(policy: str) -> None:
    with pytest.raises(UnsupportedError, match=f"policy '{policy}' is for GPUs"):
        ConfigSpace().define_annotate("ann", [1], policy)


def test_an_error_of_a_template_makes_its_configuration_invalid() -> None:
    config = tiles().get(3)
    assert config.valid()

    config.raise_error("too many threads")

    assert not config.valid()
    assert config.errors == ["too many threads"]
    assert config.get_flatten_feature().tolist() == [-1, 8, -1, 1]


@pytest.mark.parametrize(
    "fields", [{}, {"entity": [["x", "sp", "1"]]}, {"entity": [["x", "zz", [1]]]}, {"entity": [1]}, []]
)
def test_a_damaged_configuration_is_an_error(fields: object) -> None:
    with pytest.raises(ScheduleError, match="a log's"):
        ConfigEntity.from_json_dict(fields)


def test_a_knob_lists_its_settings() -> None:
    space = tiles(8, 6)
    space.define_reorder("order", [space.axis(2), space.axis(3), space.axis(4)], "all")
    space.define_annotate("words", [space.axis(2), space.axis(3)], "try_unroll")
    space.define_knob("unroll", [0, 16])

    knobs: Any = space.space_map
    assert sorted(one.size[1] for one in knobs["tile_y"].entities) == [1, 2, 4, 8]
    assert [knobs[name].num_output for name in ("tile_x", "order", "words", "unroll")] == [2, 3, 2, 0]
    assert [one.val for one in knobs["unroll"].entities] == [0, 16]
