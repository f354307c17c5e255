"""Checks of arguments of public functions.

Each function returns its argument, or raises an error that names the function and the parameter
(``where``), what was given and what was expected, and ends with the user's line.
"""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tvmlite.core.errors import TensorExpressionError, TvmliteError
from tvmlite.core.span import Span

Value = TypeVar("Value")
Error = type[TvmliteError]


def boolean(where: str, value: Any, error: Error = TensorExpressionError) -> bool:
    """``value``, which must be True or False."""
    return instance(where, value, bool, "True or False", error)


def mapping(where: str, value: Any, error: Error = TensorExpressionError) -> dict[Any, Any]:
    """``value`` as a dict; None gives an empty one."""
    return {} if value is None else dict(instance(where, value, Mapping, "a dict", error))


def text(where: str, value: Any, error: Error = TensorExpressionError) -> str:
    """``value``, which must be a string."""
    return instance(where, value, str, "a string", error)


def function(where: str, value: Any, error: Error = TensorExpressionError) -> Callable[..., Any]:
    """``value``, which must be callable."""
    if not callable(value):
        raise refused(where, value, "a function", error)
    return value


def instance(
    where: str,
    value: Any,
    kind: type[Value] | tuple[type[Value], ...],
    what: str,
    error: Error = TensorExpressionError,
) -> Value:
    """``value``, which must be of the type (or one of the types) ``kind``; messages call it ``what``."""
    if not isinstance(value, kind):
        raise refused(where, value, what, error)
    return value


def whole(
    where: str,
    value: Any,
    error: Error = TensorExpressionError,
    least: int | None = None,
    most: int | None = None,
) -> int:
    """``value`` as an int, at least ``least`` and at most ``most``. Any type with ``__index__`` is accepted,
    except bool."""
    expected = "an int" if least is None else f"an int of at least {least}"
    expected += "" if most is None else f", at most {most}"
    index = getattr(value, "__index__", None)
    if isinstance(value, bool) or index is None:
        raise refused(where, value, expected, error)
    try:
        number = operator.index(value)
    except TypeError:  # an array of several elements, say
        raise refused(where, value, expected, error) from None
    if (least is not None and number < least) or (most is not None and number > most):
        raise refused(where, value, expected, error)
    return number


def number(where: str, value: Any, error: Error = TensorExpressionError) -> float:
    """``value`` as a float; it must be positive and finite, and not a bool."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value < float("inf"):
        raise refused(where, value, "a number more than 0", error)
    return float(value)


def path(where: str, value: Any, error: Error = TensorExpressionError) -> Path:
    """``value``, a string or a path, as a path that the system accepts; the file need not exist."""
    kinds: tuple[type[Any], ...] = (str, os.PathLike)
    made = Path(instance(where, value, kinds, "a path", error))
    if "\0" in str(made):  # not accepted by any system
        raise refused(where, value, "a path", error)
    try:
        os.lstat(made)
    except OSError as reason:
        if reason.errno == errno.ENAMETOOLONG:
            raise refused(where, str(made), "a path of names that the system takes", error) from reason
    return made


def extents(where: str, value: Any, error: Error = TensorExpressionError) -> tuple[int, ...]:
    """``value``, the shape of an array, as a tuple of ints; a single int is the extent of a vector."""
    given = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(whole(where, extent, error, least=0) for extent in given)


def listed(where: str, value: Any, what: str, error: Error = TensorExpressionError) -> tuple[Any, ...]:
    """``value``, which must be a list or tuple, as a tuple; messages call its elements ``what``."""
    if not isinstance(value, (list, tuple)):
        raise refused(where, value, f"a list of {what}", error)
    return tuple(value)


def all_instances(
    where: str,
    values: Iterable[Any],
    kind: type[Value] | tuple[type[Value], ...],
    what: str,
    error: Error = TensorExpressionError,
) -> tuple[Value, ...]:
    """``values`` as a tuple, each checked by ``instance``."""
    return tuple(instance(where, one, kind, what, error) for one in values)


def refused(where: str, value: Any, expected: str, error: Error = TensorExpressionError) -> TvmliteError:
    """The error for ``value``, given instead of ``expected``."""
    return error(f"{where}: {shown(value)} given, expected {expected}", Span.of_caller())


def shown(value: Any) -> str:
    """``value`` for a message: short, and safe for lists that contain themselves."""
    if isinstance(value, (str, bytes, bool, int, float, complex)) or value is None:
        made = repr(value)
        return made if len(made) <= 60 else f"{made[:57]}..."
    return f"a {type(value).__name__}"
