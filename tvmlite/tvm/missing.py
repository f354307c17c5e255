"""Names of TVM that nothing here stands behind: using one is an error that says what to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span


def missing(name: str, instead: str | None = None) -> Callable[..., Any]:
    """What stands for ``name`` of TVM: calling it is an UnsupportedError with ``instead`` as its hint."""

    def absent(*args: Any, **options: Any) -> Any:
        raise UnsupportedError(f"{name} is not in tvmlite", Span.of_caller(), instead)

    absent.__name__ = absent.__qualname__ = name.rpartition(".")[2]
    absent.__doc__ = f"Not in tvmlite{': ' + instead if instead else ''}."
    return absent
