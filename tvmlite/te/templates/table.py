"""The table of schedule templates: what a technique registers for an anchor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tvmlite.core.techniques import code_table
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.templates.group import Group

Arrange: TypeAlias = Callable[[Group], bool | None]
"""Arranges the loops of a group; False: it has no schedule for it and has left it as it was."""


@dataclass(frozen=True)
class Template:
    """A row: by which ``technique`` groups of some anchor are arranged."""

    technique: str
    arrange: Arrange


TEMPLATES: dict[Anchor, list[Template]] = code_table({})
"""The templates of each anchor. The first that has a schedule for a group is used."""

GENERATORS: dict[str, Template] = code_table({})
"""Templates that arrange any group from its computes alone, by their names in tuning records."""


def template(technique: str, *anchors: Anchor) -> Callable[[Arrange], Arrange]:
    """Register the decorated function for ``anchors``, behind what is registered for them already."""

    def register(function: Arrange) -> Arrange:
        for anchor in anchors:
            TEMPLATES.setdefault(anchor, []).append(Template(technique, function))
        return function

    return register


def generator(technique: str) -> Callable[[Arrange], Arrange]:
    """Register the decorated function as the generator of schedules called ``technique``."""

    def register(function: Arrange) -> Arrange:
        assert technique not in GENERATORS, f"generator {technique!r} is registered twice"
        GENERATORS[technique] = Template(technique, function)
        return function

    return register
