"""Names of TVM that nothing here stands behind: using one is an error that says what to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span


class MissingName(UnsupportedError, AttributeError):
    """A name of TVM's, or one that TVM does not have either, that a module here does not have."""


def no_name(module: str, name: str) -> AttributeError:
    """The error for ``module.name``: one that names it, unless Python itself is asking."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__"):
        return AttributeError(text)
    return MissingName(text, Span.of_caller(), "TVM may have it: it is not in tvmlite")


def refusing(module: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module that has no more names."""

    def attribute(name: str) -> NoReturn:
        raise no_name(module, name)

    return attribute


def missing(name: str, instead: str | None = None) -> Callable[..., Any]:
    """What stands for ``name`` of TVM: calling it is an UnsupportedError with ``instead`` as its hint."""

    def absent(*args: Any, **options: Any) -> Any:
        raise UnsupportedError(f"{name} is not in tvmlite", Span.of_caller(), instead)

    absent.__name__ = absent.__qualname__ = name.rpartition(".")[2]
    absent.__doc__ = f"Not in tvmlite{': ' + instead if instead else ''}."
    return absent
