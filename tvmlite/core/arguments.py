"""Arguments of public functions, checked.

Each function gives its argument back, or raises an error that names the function and the parameter
(``where``), says what was given and what was expected, and ends at the user's line.
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
    """``value``, True or False."""
    return instance(where, value, bool, "True or False", error)


def mapping(where: str, value: Any, error: Error = TensorExpressionError) -> dict[Any, Any]:
    """``value`` as a dict; None is an empty one."""
    return {} if value is None else dict(instance(where, value, Mapping, "a dict", error))


def text(where: str, value: Any, error: Error = TensorExpressionError) -> str:
    """``value``, a string."""
    return instance(where, value, str, "a string", error)


def function(where: str, value: Any, error: Error = TensorExpressionError) -> Callable[..., Any]:
    """``value``, which can be called."""
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
    """``value``, of the type ``kind`` or of one of several, which messages call ``what``."""
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
    """``value`` as an int, at least ``least`` and at most ``most``; anything of a whole number's type is one,
    a bool is not."""
    expected = "an int" if least is None else f"an int of at least {least}"
    expected += "" if most is None else f", at most {most}"
    index = getattr(value, "__index__", None)
    if isinstance(value, bool) or index is None:
        raise refused(where, value, expected, error)
    try:
        number = operator.index(value)
    except TypeError:  # an array of several, say
        raise refused(where, value, expected, error) from None
    if (least is not None and number < least) or (most is not None and number > most):
        raise refused(where, value, expected, error)
    return number


def number(where: str, value: Any, error: Error = TensorExpressionError) -> float:
    """``value`` as a float, which is more than 0 and finite; a bool is none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value < float("inf"):
        raise refused(where, value, "a number more than 0", error)
    return float(value)


def path(where: str, value: Any, error: Error = TensorExpressionError) -> Path:
    """``value``, a string or a path, as a path that the system takes; a file need not be there."""
    kinds: tuple[type[Any], ...] = (str, os.PathLike)
    made = Path(instance(where, value, kinds, "a path", error))
    if "\0" in str(made):  # which no system takes
        raise refused(where, value, "a path", error)
    try:
        os.lstat(made)
    except OSError as reason:
        if reason.errno == errno.ENAMETOOLONG:
            raise refused(where, str(made), "a path of names that the system takes", error) from reason
    return made


def extents(where: str, value: Any, error: Error = TensorExpressionError) -> tuple[int, ...]:
    """``value``, the shape of an array, as ints; a lone int is the extent of a vector."""
    given = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(whole(where, extent, error, least=0) for extent in given)


def listed(where: str, value: Any, what: str, error: Error = TensorExpressionError) -> tuple[Any, ...]:
    """The elements of ``value``, a list or a tuple of ``what``."""
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
    """``values`` as a tuple, each of the type ``kind`` or of one of several, which messages call ``what``."""
    return tuple(instance(where, one, kind, what, error) for one in values)


def refused(where: str, value: Any, expected: str, error: Error = TensorExpressionError) -> TvmliteError:
    """The error about ``value``, given where ``expected`` was."""
    return error(f"{where}: {shown(value)} given, expected {expected}", Span.of_caller())


def shown(value: Any) -> str:
    """``value`` for a message: short, and safe for lists that hold themselves."""
    if isinstance(value, (str, bytes, bool, int, float, complex)) or value is None:
        made = repr(value)
        return made if len(made) <= 60 else f"{made[:57]}..."
    return f"a {type(value).__name__}"
