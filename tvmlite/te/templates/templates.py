"""Schedules of fused groups: by a technique's template, by a generator, or plain."""

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
"""The rule that uses the templates of the group's anchor."""


PLAIN = "plain loops"
"""The name reported for a group that no template and no generator can schedule."""


def apply(
    anchor: Anchor, outputs: Sequence[Tensor], target: Target, config: Config | None = None
) -> Schedule:
    """The schedule of the group that computes ``outputs``, as ``schedule_and_template`` returns it."""
    return schedule_and_template(anchor, outputs, target, config)[0]


def schedule_and_template(
    anchor: Anchor, outputs: Sequence[Tensor], target: Target, config: Config | None = None
) -> tuple[Schedule, str]:
    """The schedule for ``target`` of the group that computes ``outputs`` with an anchor of this kind, and the
    name of what made it: the anchor's for one of its templates, a generator's, or ``PLAIN``.

    The first template that applies schedules the group, including operators fused before and after the
    anchor; if there is none, a generator does; otherwise loops are plain. ``config`` sets the knobs; by
    default they follow the template's own model of the machine. A configuration that names a rule (``rules``)
    uses that rule. The result is valid for every shape, including symbolic ones.
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
    """A schedule that is legal for any extents, but slow: element-wise stages are inlined, others have their
    default loops at the root, without unrolled, vectorized or parallel loops."""
    schedule = create_schedule([tensor.op for tensor in outputs])
    Group(schedule, tuple(outputs), Target.parse("c"), FallbackConfig()).inline_all_but(())
    return schedule


def complete(schedule: Schedule, target: Target, config: Config | None = None) -> Schedule:
    """Schedule what is not yet scheduled in ``schedule`` by the first generator, with knobs set by
    ``config``; return ``schedule``."""
    techniques.load()
    outputs = tuple(tensor for op in schedule.outputs for tensor in op.outputs)
    group = Group(schedule, outputs, target, config or FallbackConfig())
    next(iter(GENERATORS.values())).arrange(group)
    return schedule


def rules() -> tuple[str, ...]:
    """The rules that can schedule any group: the templates of its anchor, and the generators."""
    techniques.load()
    return (HAND, *GENERATORS)
