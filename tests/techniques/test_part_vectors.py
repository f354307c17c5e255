"""Rows that fill no whole vector, and reductions of pairs: they are computed in vectors all the same."""

from __future__ import annotations

import pytest

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.passes import legalize
from tvmlite.te.lowering.lower import lower

TARGETS = [f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}" for cpu in ("znver4", "znver3")]

ATTENTION = """fn (%q: Tensor[(1, 6, 64, {0}), float32], %k: Tensor[(1, 6, 64, {0}), float32],
    %v: Tensor[(1, 6, 64, {0}), float32], %m: Tensor[(), float32]) {{
  nn.attention(%q, %k, %v, %m)
}}"""


def stores(text: str, target: str) -> list[loop.Store]:
    one = tasks.task_of(tasks.group_of(text), Target.parse(target))
    function = legalize(lower(*one.instantiate(one.default)), Target.parse(target))
    return [node for node in postorder(function.body) if isinstance(node, loop.Store)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("features", [8, 20, 26, 40])
def test_sums_of_weighed_values_are_of_whole_vectors(features: int, target: str) -> None:
    """A sum whose store is masked stays in memory from step to step."""
    sums = [one for one in stores(ATTENTION.format(features), target) if one.buffer.name == "context"]

    assert sums
    assert all(one.predicate is None and one.value.lanes > 1 for one in sums)


@pytest.mark.parametrize("target", TARGETS)
def test_values_of_whole_vectors_are_read_where_they_lie(target: str) -> None:
    lanes = Target.parse(target).lanes("float32")
    names = [
        {one.buffer.name for one in stores(ATTENTION.format(features), target)}
        for features in (3 * lanes, 3 * lanes + 2)
    ]

    assert ["values" in one for one in names] == [False, True]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shape", "axis"), [((16, 900), 1), ((2, 21, 900), 1)])
def test_the_place_of_the_greatest_is_looked_for_in_vectors(shape: tuple, axis: int, target: str) -> None:
    text = f"fn (%x: Tensor[{shape}, float32]) {{ argmax(%x, axis=[{axis}]) }}"
    widest = max(one.value.lanes for one in stores(text, target) if one.buffer.name.startswith("argmax_pair"))

    assert widest == Target.parse(target).lanes("float32")
