"""Facts that follow from formulas alone are derived once for all schedules of a computation."""

from __future__ import annotations

from tvmlite import te
from tvmlite.machine.target import Target
from tvmlite.te.space.config import FallbackConfig
from tvmlite.te.templates.group import FORMULAS, Group
from tvmlite.te.tensor.tensor import Tensor


def _group(*outputs: Tensor) -> Group:
    schedule = te.create_schedule([one.op for one in outputs])
    return Group(schedule, outputs, Target.parse("native"), FallbackConfig())


def _computation() -> tuple[Tensor, Tensor]:
    x = te.placeholder((8, 8), name="x")
    twice = te.compute((8, 8), lambda i, j: x[i, j] * 2.0, name="twice")
    return twice, te.compute((8, 8), lambda i, j: twice[j, i] + 1.0, name="result")


def test_schedules_of_one_computation_share_answers_until_a_stage_is_inlined() -> None:
    twice, result = _computation()
    asked: list[str] = []

    def answer(group: Group) -> tuple[Tensor, ...]:
        def work() -> tuple[Tensor, ...]:
            asked.append("")
            return group.formula(result).inputs

        return group.cached("what is read", work)

    first, second = _group(result), _group(result)
    assert answer(first) == answer(second) == (twice,)
    assert len(asked) == 1

    second.stage(twice).compute_inline()
    assert [one.op.name for one in answer(second)] == ["x"]
    assert answer(first) == (twice,)
    assert len(asked) == 2


def test_other_computations_share_no_answers_and_the_oldest_are_forgotten() -> None:
    made = [_computation() for _ in range(FORMULAS + 1)]
    groups = [_group(result) for _, result in made]
    seen = [group.cached("?", lambda n=n: n) for n, group in enumerate(groups)]
    assert seen == list(range(FORMULAS + 1))

    assert groups[-1].cached("?", lambda: -1) == FORMULAS
    assert groups[0].cached("?", lambda: -1) == -1
