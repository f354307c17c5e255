"""Schedules of fused groups: by a technique's template, generated, or plain."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import techniques
from tvmlite.core.errors import ScheduleError
from tvmlite.machine.target import Target
from tvmlite.te.schedule.schedule import Schedule, create_schedule
from tvmlite.te.space import Config, FallbackConfig, rule_of
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.templates.group import Group
from tvmlite.te.templates.table import GENERATORS, TEMPLATES
from tvmlite.te.tensor.tensor import Tensor

HAND = "hand"
"""The rule that takes the templates of the group's anchor."""


PLAIN = "plain loops"
"""What arranged a group that no template and no generator has a schedule for."""


def apply(
    anchor: Anchor, outputs: Sequence[Tensor], target: Target, config: Config | None = None
) -> Schedule:
    """The schedule of the group that computes ``outputs``: the first that ``arranged`` gives."""
    return arranged(anchor, outputs, target, config)[0]


def arranged(
    anchor: Anchor, outputs: Sequence[Tensor], target: Target, config: Config | None = None
) -> tuple[Schedule, str]:
    """The schedule of the group that computes ``outputs``, whose anchor is of that kind, for ``target``, and
    what arranged it: the name of the anchor for one of its templates, that of a generator, or ``PLAIN``.

    The first template that has a schedule arranges the group, with whatever is fused before and behind the
    anchor; without any a generator does, and without those its loops are plain. ``config`` sets the knobs;
    without one they are as the template's own model of the machine says. A configuration that names a rule
    (``rules``) is carried out by that one. The result is valid for every shape, symbolic ones too.
    """
    techniques.load()
    config = config or FallbackConfig()
    rule = rule_of(config)
    if rule not in (None, *rules()):
        raise ScheduleError(f"there is no rule {rule!r} for schedules; there are {', '.join(rules())}")
    if rule in (None, HAND):
        rows = [*((anchor.name, row) for row in TEMPLATES.get(anchor, ())), *GENERATORS.items()]
    else:
        rows = [(rule, GENERATORS[rule])]
    group = Group(create_schedule([tensor.op for tensor in outputs]), tuple(outputs), target, config)
    for name, row in rows:
        if row.arrange(group) is not False:
            return group.schedule, name
    return plain(outputs), PLAIN


def plain(outputs: Sequence[Tensor]) -> Schedule:
    """A schedule that is legal at any extents, and slow: element-wise stages inlined, others in loops of
    their own as their axes stand, nothing unrolled, in vectors or shared among threads."""
    schedule = create_schedule([tensor.op for tensor in outputs])
    Group(schedule, tuple(outputs), Target.parse("c"), FallbackConfig()).inline_all_but(())
    return schedule


def complete(schedule: Schedule, target: Target, config: Config | None = None) -> Schedule:
    """Arrange what nobody has arranged in ``schedule`` yet by the first generator, its knobs set by
    ``config``; gives ``schedule``."""
    techniques.load()
    outputs = tuple(tensor for op in schedule.outputs for tensor in op.outputs)
    group = Group(schedule, outputs, target, config or FallbackConfig())
    next(iter(GENERATORS.values())).arrange(group)
    return schedule


def rules() -> tuple[str, ...]:
    """The rules by which any group can be scheduled: the templates of its anchor, and what generates one."""
    techniques.load()
    return (HAND, *GENERATORS)
