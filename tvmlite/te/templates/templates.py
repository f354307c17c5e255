"""Schedules by templates: reusable loop arrangements for fused groups, found by name."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import techniques
from tvmlite.core.errors import ScheduleError
from tvmlite.machine.target import Target
from tvmlite.te.schedule.schedule import Schedule, create_schedule
from tvmlite.te.space import Config, FallbackConfig, rule_of
from tvmlite.te.templates.group import TEMPLATES, Group
from tvmlite.te.tensor.tensor import Tensor

HAND = "hand"
"""The rule that takes the template named after the group's anchor."""

GENERATED = ("sketch",)
"""Templates that schedule any group, whatever its operations are."""


def apply(name: str, outputs: Sequence[Tensor], target: Target, config: Config | None = None) -> Schedule:
    """The schedule of the group that computes ``outputs``, by the template ``name``, for ``target``.

    ``config`` sets the template's knobs; without one they are as its own model of the machine says. Templates
    find the group's anchor by the tags of its operations and take in whatever is fused before and behind it.
    A configuration that names a rule (``rules``) is carried out by that one.
    The result is valid for every shape, symbolic ones too. An unknown name is a ScheduleError.
    """
    techniques.load()
    if name not in TEMPLATES:
        known = ", ".join(sorted(TEMPLATES))
        raise ScheduleError(f"there is no schedule template {name!r}; there are {known}")
    config = config or FallbackConfig()
    rule = rule_of(config)
    if rule not in (None, *rules()):
        raise ScheduleError(f"there is no rule {rule!r} for schedules; there are {', '.join(rules())}")
    schedule = create_schedule([tensor.op for tensor in outputs])
    chosen = name if rule in (None, HAND) else rule
    TEMPLATES[chosen](Group(schedule, tuple(outputs), target, config))
    return schedule


def plain(outputs: Sequence[Tensor]) -> Schedule:
    """A schedule that is legal at any extents, and slow: element-wise stages inlined, others in loops of
    their own as their axes stand, nothing unrolled, in vectors or shared among threads."""
    schedule = create_schedule([tensor.op for tensor in outputs])
    Group(schedule, tuple(outputs), Target.parse("c"), FallbackConfig()).inline_all_but(())
    return schedule


def complete(schedule: Schedule, target: Target, config: Config | None = None) -> Schedule:
    """Arrange what nobody has arranged in ``schedule`` yet by the template "sketch", its knobs set by
    ``config``; gives ``schedule``."""
    techniques.load()
    outputs = tuple(tensor for op in schedule.outputs for tensor in op.outputs)
    TEMPLATES["sketch"](Group(schedule, outputs, target, config or FallbackConfig()))
    return schedule


def rules() -> tuple[str, ...]:
    """The rules by which any group can be scheduled: its own template, and those that need none."""
    techniques.load()
    return (HAND, *(name for name in GENERATED if name in TEMPLATES))
