"""Fast configurations of other shapes, transferred to a task that was never measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from made_up_tuning import MadeUpMachine, small_matmul

from tvmlite import autotune
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.search import similar_tasks
from tvmlite.autotune.search.tuners import Tuner
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.te.space import (
    ConfigEntity,
    OptionChoice,
    RuleSpace,
    SplitChoice,
    Task,
    encode_args,
    rule_of,
)


def task_of(*shape: int) -> Task:
    autotune.template("tests.matmul", small_matmul)
    return autotune.create("tests.matmul", shape)


def record(task: Task, config: ConfigEntity, cost: float, **fields: object) -> rec.Record:
    told = {"target": str(task.target), "verified": True, "origin": "random"} | fields
    return rec.Record((task.name, tuple(encode_args(task.args))), config=config, costs=(cost,), **told)  # type: ignore[arg-type]


def numbered(task: Task, *numbers: int, first: float = 1e-3) -> list[rec.Record]:
    """Records of configurations, each slower than the one before."""
    return [record(task, task.config_space.get(n), first * (1 + k)) for k, n in enumerate(numbers)]


def splits(config: ConfigEntity) -> list[tuple[int, ...]]:
    return [one.size for one in config.settings.values() if isinstance(one, SplitChoice)]


def test_a_setting_that_exists_in_this_space_is_kept() -> None:
    other, task = task_of(16, 16, 16), task_of(32, 16, 16)
    config = other.config_space.get(len(other.config_space) // 3)

    (number,) = similar_tasks.configurations([record(other, config, 1e-3)], task)

    found = task.config_space.get(number)
    assert found.settings.keys() == config.settings.keys()
    for name, choice in config.settings.items():
        if choice in task.config_space.space_map[name]:
            assert found.settings[name] == choice


def test_a_length_that_does_not_divide_becomes_the_nearest_divisor() -> None:
    other, task = task_of(16, 16, 16), task_of(24, 24, 24)
    space = task.config_space
    for number in range(0, len(other.config_space), 7):
        config = other.config_space.get(number)
        found = similar_tasks.configurations([record(other, config, 1e-3)], task)
        for given, made in zip(splits(config), splits(space.get(found[0])), strict=True):
            lengths = [
                one.size for one in space.space_map[name_of(space, made)] if isinstance(one, SplitChoice)
            ]
            if len(made) == 2:  # of one inner length there is a nearest
                away = [
                    abs(size[1] / given[1] if size[1] > given[1] else given[1] / size[1]) for size in lengths
                ]
                mine = max(made[1] / given[1], given[1] / made[1])
                assert mine == pytest.approx(min(away))


def name_of(space: autotune.ConfigSpace, size: Sequence[int]) -> str:
    return next(
        name
        for name, choices in space.space_map.items()
        if any(isinstance(one, SplitChoice) and one.size == tuple(size) for one in choices)
    )


def test_configurations_stay_with_their_rule() -> None:
    text = """fn (%x: Tensor[(1, {0}, 256), float32], %w: Tensor[(16, 256, 16), float32]) {{
      nn.contrib_dense_pack(%x, %w, units=256)
    }}"""
    other, task = (
        tasks.task_of(tasks.group_of(text.format(rows)), Target.parse("native")) for rows in (64, 48)
    )
    space = other.config_space
    assert isinstance(space, RuleSpace)
    by_rule = [space.get(space.index_of(other.default.settings) or 0), space.get(len(space) - 1)]

    found = similar_tasks.configurations([record(other, one, 1e-3) for one in by_rule], task)

    assert sorted(str(rule_of(task.config_space.get(number))) for number in found) == ["hand", "sketch"]


def test_configurations_are_ordered_by_rank_then_by_nearness_of_shape() -> None:
    task, near, far = task_of(32, 16, 16), task_of(16, 16, 16), task_of(8, 8, 8)
    records = [*numbered(far, 3, 5, first=1e-6), *numbered(near, 20, 41)]

    found = similar_tasks.configurations(records, task)

    each = [
        similar_tasks.configurations([one], task) for one in (records[2], records[0], records[3], records[1])
    ]
    assert found == list(dict.fromkeys(number for (number,) in each))


def test_only_the_fastest_of_the_nearest_shapes_are_transferred() -> None:
    task = task_of(32, 16, 16)
    others = [task_of(n, 16, 16) for n in (16, 24, 8, 4, 64)]
    records = [one for other in others for one in numbered(other, *range(1, 12))]

    found = similar_tasks.configurations(records, task)

    nearby = [one for one in records if one.task[1][0] in (16, 24, 64)]
    assert 0 < len(found) <= similar_tasks.TASKS * similar_tasks.BEST
    assert found == similar_tasks.configurations(nearby, task)


def test_unrelated_failed_and_final_records_are_ignored() -> None:
    task, other = task_of(32, 16, 16), task_of(16, 16, 16)
    config = other.config_space.get(1)
    autotune.template("tests.another", small_matmul)
    records = [
        record(task, task.config_space.get(1), 1e-3),
        record(autotune.create("tests.another", (16, 16, 16)), config, 1e-3),
        record(other, config, 1e-3, target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver1"),
        record(other, config, 1e-3, origin=rec.FINAL),
        record(other, config, 1e-3, error="crash", message="gone"),
        record(other, config, 1e-3, verified=False),
        record(other, ConfigEntity({"tile": OptionChoice(1)}), 1e-3),
    ]

    assert similar_tasks.configurations(records, task) == []


def proposed_first(tuner: Tuner) -> list[int]:
    batch = tuner.propose(8)
    tuner.learn(batch, [1.0] * len(batch))
    return batch


def test_absurd_extents_in_records_are_harmless() -> None:
    task = task_of(16, 16, 16)
    config = task.config_space.get(3)
    args = [(16, 16, 10**400), (16, "7" * 5000, 16), (16, 16, 10**17)]
    odd = [rec.Record((task.name, one), str(task.target), config, (1.0,), verified=True) for one in args]

    assert similar_tasks.configurations(odd, task) == [3]


def test_transferred_configurations_are_proposed_first_with_the_models_own() -> None:
    task = task_of(16, 16, 16)
    plain = autotune.XGBTuner(task, 3)
    likes = proposed_first(plain)
    handed = [n for n in range(0, len(task.config_space), 11) if n not in likes][:9]

    tuner = autotune.XGBTuner(task, 3, handed=handed)
    first, second = proposed_first(tuner), proposed_first(tuner)

    told = [n for n in (*first, *second) if n in handed]
    assert [n for n in handed if n in told] == told
    assert 1 <= len([n for n in first if n in handed]) <= 6
    assert len(first) == 8
    assert set(first) - set(handed)


def test_without_transferred_configurations_a_search_is_unchanged() -> None:
    task = task_of(16, 16, 16)

    assert proposed_first(autotune.XGBTuner(task, 1, handed=[])) == proposed_first(autotune.XGBTuner(task, 1))


def test_a_run_tries_fast_configurations_of_other_shapes(tmp_path: Path) -> None:
    other, task = task_of(16, 16, 16), task_of(32, 16, 16)
    records = numbered(other, *range(0, 26, 2))
    wanted = similar_tasks.configurations(records, task)

    autotune.tune(task, tmp_path / "a.jsonl", trials=9, seed=1, runner=MadeUpMachine(), learn_from=records)

    made = [task.config_space.index_of(r.config.settings) for r in rec.load(tmp_path / "a.jsonl")]
    assert len(set(made) & set(wanted)) >= 3
