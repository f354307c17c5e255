"""What AutoTVM's ``get_config`` and ``apply_history_best`` speak of: the configuration of the task being run.

AutoTVM's templates ask for it by a call without arguments, so it is kept in a context variable: the only one
in tvmlite, and only ``autotune.template`` sets it. A schedule function that takes ``config`` and ``target``
as keywords is given both, and needs none of this; so are all of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tvmlite.machine.target import Target
from tvmlite.te.space.config import Config, ConfigEntity, FallbackConfig

Lookup: TypeAlias = Callable[[str, list[Any]], ConfigEntity | None]
"""Finds the configuration to use for a template's name and its arguments as ``encode_args`` writes them."""


@dataclass(frozen=True)
class InForce:
    """What was set by the blocks around."""

    config: Config | None = None
    target: Target | None = None
    lookup: Lookup | None = None


_NOTHING = InForce()
_IN_FORCE: ContextVar[InForce] = ContextVar("in force", default=_NOTHING)


@contextmanager
def _set(**fields: Any) -> Iterator[None]:
    token = _IN_FORCE.set(replace(_IN_FORCE.get(), **fields))
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


@contextmanager
def using(config: Config, target: Target | None = None) -> Iterator[Config]:
    """``config`` is in force within the block, for ``target`` if one is given."""
    with _set(config=config, target=target or _IN_FORCE.get().target):
        yield config


def looking_up(lookup: Lookup) -> Any:
    """Within the block, templates that are called ask ``lookup`` for their configuration first."""
    return _set(lookup=lookup)


def get_config() -> Config:
    """The configuration in force; without one, a fresh ``FallbackConfig``."""
    return _IN_FORCE.get().config or FallbackConfig()


def get_target() -> Target:
    """What the task in force is scheduled for; this machine where none is."""
    return _IN_FORCE.get().target or Target.parse("native")


def get_lookup() -> Lookup | None:
    """Who is asked for configurations, if anyone."""
    return _IN_FORCE.get().lookup
