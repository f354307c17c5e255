"""Names of TVM that nothing here stands behind: using one is an error that says what to use.

``tvmlite.tvm.absent`` has the table of modules and names that are left out as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import instead_of


class MissingName(UnsupportedError, AttributeError):
    """A name that a module of TVM has and ours has not. It is an AttributeError for ``hasattr``."""


def no_name(package: str, name: str) -> MissingName:
    """The error for ``name``, which ``package`` below ``tvmlite.tvm`` has not."""
    full = f"{package.removeprefix('tvmlite.')}.{name}"
    if name.startswith("__"):  # Python asks for these
        return MissingName(f"module {package!r} has no attribute {name!r}")
    return MissingName(f"{full} is not in tvmlite", Span.of_caller(), instead_of(full) or None)


def missing(name: str, instead: str | None = None) -> Callable[..., Any]:
    """What stands for ``name`` of TVM: calling it is an UnsupportedError with ``instead`` as its hint."""

    def absent(*args: Any, **options: Any) -> Any:
        raise UnsupportedError(f"{name} is not in tvmlite", Span.of_caller(), instead)

    absent.__name__ = absent.__qualname__ = name.rpartition(".")[2]
    absent.absent_because = instead or f"{name} is not in tvmlite"  # type: ignore[attr-defined]
    absent.__doc__ = f"Not in tvmlite{': ' + instead if instead else ''}."
    return absent
