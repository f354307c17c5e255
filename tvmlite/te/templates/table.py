"""The table of schedule templates: the techniques registered for each anchor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tvmlite.core.techniques import code_table
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.templates.group import Group

Arrange: TypeAlias = Callable[[Group], bool | None]
"""Schedules a group. False: it has no schedule for the group and has not changed it."""


@dataclass(frozen=True)
class Template:
    """A row: the ``technique`` that schedules groups with some anchor."""

    technique: str
    arrange: Arrange


TEMPLATES: dict[Anchor, list[Template]] = code_table({})
"""The templates of each anchor. The first one that applies to a group is used."""

GENERATORS: dict[str, Template] = code_table({})
"""Templates that schedule any group from its computes alone, by their names in tuning records."""


def template(technique: str, *anchors: Anchor) -> Callable[[Arrange], Arrange]:
    """Register the decorated function for ``anchors``, after those already registered."""

    def register(function: Arrange) -> Arrange:
        for anchor in anchors:
            TEMPLATES.setdefault(anchor, []).append(Template(technique, function))
        return function

    return register


def generator(technique: str) -> Callable[[Arrange], Arrange]:
    """Register the decorated function as the schedule generator named ``technique``."""

    def register(function: Arrange) -> Arrange:
        assert technique not in GENERATORS, f"generator {technique!r} is registered twice"
        GENERATORS[technique] = Template(technique, function)
        return function

    return register
