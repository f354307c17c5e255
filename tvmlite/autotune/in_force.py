"""The configuration of the task being instantiated, for AutoTVM's ``get_config`` and ``apply_history_best``.

AutoTVM's templates read it by a call without arguments, so it is kept in a context variable. This is the only
context variable in tvmlite, and only ``autotune.template`` sets it. A schedule function that takes ``config``
and ``target`` as keywords receives both and does not need this module; all of our own do.
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
"""Find the configuration for a template's name and its arguments, as ``encode_args`` writes them."""


@dataclass(frozen=True)
class InForce:
    """The settings of the enclosing ``with`` blocks."""

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
    """Put ``config`` in force within the block, for ``target`` if one is given."""
    with _set(config=config, target=target or _IN_FORCE.get().target):
        yield config


def looking_up(lookup: Lookup) -> Any:
    """Make templates that are called within the block ask ``lookup`` for their configuration first."""
    return _set(lookup=lookup)


def get_config() -> Config:
    """Return the configuration in force; without one, a new ``FallbackConfig``."""
    return _IN_FORCE.get().config or FallbackConfig()


def get_target() -> Target:
    """Return the target of the task in force; this machine if there is none."""
    return _IN_FORCE.get().target or Target.parse("native")


def get_lookup() -> Lookup | None:
    """Return the function that templates ask for configurations, or None."""
    return _IN_FORCE.get().lookup
