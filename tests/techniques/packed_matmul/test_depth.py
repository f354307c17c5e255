"""Products whose long reduction is split into parts give the same sums for any depth of the parts."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.te.space import Choice, ConfigEntity, OptionChoice, ReorderChoice, SplitChoice, Task
from tvmlite.te.space.rules import rule_of
from tvmlite.techniques.packed_matmul.depth import DEFAULT_DEPTH

INTEL = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"
AMD = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5"

DENSE = """fn (%x: Tensor[(1, {rows}, {steps}), float32], %w: Tensor[({blocks}, {steps}, 16), float32],
  %b: Tensor[({units},), float32]) {{
  %0 = nn.contrib_dense_pack(%x, %w, units={units});
  %1 = add(%0, %b);
  nn.relu(%1)
}}"""

BATCHED = """fn (%x: Tensor[(4, 20, 256), float32], %y: Tensor[(4, 256, 40), float32]) {
  nn.batch_matmul(%x, %y, transpose_b=False)
}"""


def dense(rows: int, steps: int, units: int, target: str = "native") -> Task:
    text = DENSE.format(rows=rows, steps=steps, units=units, blocks=-(-units // 16))
    return tasks.task_of(tasks.group_of(text), Target.parse(target))


def with_knobs(task: Task, **knobs: Choice) -> ConfigEntity:
    return ConfigEntity({**task.default.settings, **knobs})


def run(task: Task, config: ConfigEntity, *arrays: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    schedule, args = task.instantiate(config)
    result = np.full(shape, np.nan, "float32")
    tvmlite.build(schedule, args, target=task.target, name="product")(*arrays, result)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("depth", [0, 128, 256])
@pytest.mark.parametrize("rows", [24, 37])
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"tile": SplitChoice((-1, 3, 8)), "steps": OptionChoice(4), "ahead": OptionChoice("panel")},
        {"tile": SplitChoice((-1, 2, 5)), "ahead": OptionChoice(4)},
        {"panel_columns": OptionChoice(2), "order": ReorderChoice((0, 2, 1, 3)), "grain": OptionChoice(2)},
    ],
)
def test_every_depth_gives_the_same_sums(depth: int, rows: int, knobs: dict[str, Choice]) -> None:
    task, random = dense(rows, 512, 90), np.random.default_rng(0)
    x = random.uniform(-1, 1, (1, rows, 512)).astype("float32")
    w = random.uniform(-1, 1, (6, 512, 16)).astype("float32")
    b = random.uniform(-1, 1, 90).astype("float32")
    config = with_knobs(task, depth=OptionChoice(depth), **knobs)

    got = run(task, config, x, w, b, shape=(1, rows, 90))

    columns = w.astype("float64").transpose(1, 0, 2).reshape(512, 96)[:, :90]
    np.testing.assert_allclose(got, np.maximum(x.astype("float64") @ columns + b, 0), rtol=1e-5, atol=1e-4)


def test_a_batched_product_can_be_split_in_depth() -> None:
    task, random = tasks.task_of(tasks.group_of(BATCHED), Target.parse("native")), np.random.default_rng(0)
    x, y = (random.uniform(-1, 1, shape).astype("float32") for shape in ((4, 20, 256), (4, 256, 40)))

    got = run(task, with_knobs(task, depth=OptionChoice(128)), x, y, shape=(4, 20, 40))

    assert rule_of(task.default) == "hand"
    np.testing.assert_allclose(got, x.astype("float64") @ y.astype("float64"), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("steps", "target", "depth"),
    [(3072, INTEL, DEFAULT_DEPTH), (768, INTEL, 0), (3072, AMD, 0), (1100, INTEL, 0)],
)
def test_by_default_long_reductions_are_split_where_the_last_cache_is_far(
    steps: int, target: str, depth: int
) -> None:
    assert dense(128, steps, 768, target).default["depth"].val == depth


def test_only_equal_parts_can_be_chosen() -> None:
    space = dense(128, 1152, 768).config_space.space_map["hand.depth"]

    assert [choice.val for choice in space if isinstance(choice, OptionChoice)] == [0, 128, 192, 384]
