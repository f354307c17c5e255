"""Tags of targets, ``Target("raspberry-pi/4b-aarch64")``: built-in and user-defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span
from tvmlite.machine.tags import TAGS

_tags: dict[str, Mapping[str, Any]] = dict(TAGS)


def config_of(text: str) -> Mapping[str, Any] | None:
    """Return the configuration of the tag ``text``; None if there is no such tag."""
    return _tags.get(text)


def names() -> list[str]:
    """Return all tags, sorted."""
    return sorted(_tags)


def add(name: str, config: Mapping[str, Any], override: bool) -> None:
    """Define the tag ``name`` as ``config``; a TargetError if it is in use, unless ``override``."""
    arguments.text("register_tag: name", name, TargetError)
    if name in _tags and not override:
        raise TargetError(f"register_tag: there is a tag {name!r} already", Span.of_caller())
    _tags[name] = dict(config)
