"""Rows that do not fill whole vectors, and reductions of pairs, are vectorized as well."""

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
def test_weighted_sums_of_attention_use_whole_vectors(features: int, target: str) -> None:
    """An accumulator with a masked store would stay in memory from step to step."""
    sums = [one for one in stores(ATTENTION.format(features), target) if one.buffer.name == "context"]

    assert sums
    assert all(one.predicate is None and one.value.lanes > 1 for one in sums)


@pytest.mark.parametrize("target", TARGETS)
def test_values_that_fill_whole_vectors_are_not_copied(target: str) -> None:
    lanes = Target.parse(target).lanes("float32")
    names = [
        {one.buffer.name for one in stores(ATTENTION.format(features), target)}
        for features in (3 * lanes, 3 * lanes + 2)
    ]

    assert ["values" in one for one in names] == [False, True]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shape", "axis"), [((16, 900), 1), ((2, 21, 900), 1)])
def test_argmax_is_vectorized(shape: tuple, axis: int, target: str) -> None:
    text = f"fn (%x: Tensor[{shape}, float32]) {{ argmax(%x, axis=[{axis}]) }}"
    widest = max(one.value.lanes for one in stores(text, target) if one.buffer.name.startswith("argmax_pair"))

    assert widest == Target.parse(target).lanes("float32")
