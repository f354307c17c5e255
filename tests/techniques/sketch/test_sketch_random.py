"""Generated schedules of random computes and of half-written random schedules, against the definition."""

from __future__ import annotations

import random

import pytest

from tvmlite import te
from tvmlite.fuzz.compute.generate import generate
from tvmlite.fuzz.expected.check import Refused, prepare
from tvmlite.fuzz.program import Program, namespace, run
from tvmlite.fuzz.run.case import make
from tvmlite.machine.target import Target
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.space import ConfigSpace, FallbackConfig
from tvmlite.te.templates import templates as schedules

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")


def scheduled(lines: list[str]) -> te.Schedule:
    return run(lines, namespace())["s"]


def completed(lines: list[str], rnd: random.Random) -> te.Schedule:
    """The schedule of a program, completed with random settings or with the defaults."""
    space = ConfigSpace()
    schedules.complete(scheduled(lines), TARGET, space)
    chosen = FallbackConfig() if rnd.random() < 0.3 else space.get(rnd.randrange(len(space)))
    return schedules.complete(scheduled(lines), TARGET, chosen)


@pytest.mark.parametrize("number", range(20))
def test_random_computes_are_scheduled_correctly(number: int) -> None:
    rnd = random.Random(f"sketch {number}")
    builder = generate(rnd)
    results = ", ".join(f"{one.name}.op" for one in builder.computed)
    lines = [*builder.lines, f"s = te.create_schedule([{results}])"]

    job = prepare(Program((), tuple(builder.sizes.items()), "small", number), completed(lines, rnd))

    assert job.elements > 0


@pytest.mark.parametrize("number", range(12))
def test_random_schedules_are_completed_without_changing_arranged_stages(number: int) -> None:
    case = make(7, number)
    rnd, lines = random.Random(number), list(case.program.body)
    by_hand = _arranged(scheduled(lines))
    s = completed(lines, rnd)

    try:
        prepare(case.program, s)
    except Refused:
        assert by_hand  # a hand-written schedule may be impossible

    assert by_hand.items() <= _arranged(s).items()


def _arranged(s: te.Schedule) -> dict[str, str]:
    """The loops of the arranged stages, by name."""
    return {stage.name: _loops(stage) for stage in s.stages if stage.relations or stage.loop_kinds}


def _loops(stage: Stage) -> str:
    return ", ".join(f"{leaf.var.name} {stage.loop_kinds.get(leaf, '')}" for leaf in stage.leaf_iter_vars)
