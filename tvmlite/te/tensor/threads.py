"""What TVM has for graphics processors only, said so."""

from __future__ import annotations

from typing import Any, NoReturn

from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: Any = None) -> NoReturn:
    """An error: CPUs have no grid of threads."""
    given = arguments.shown(tag if isinstance(tag, str) and tag else dom)
    raise TensorExpressionError(
        f"thread_axis: CPUs have no thread axes, such as {given}",
        Span.of_caller(),
        hint="s[tensor].parallel(axis) shares a loop among threads, s[tensor].vectorize(axis) among lanes",
    )
