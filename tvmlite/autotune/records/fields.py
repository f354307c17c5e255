"""The fields of a record's line and their checks: finite numbers, and bounded nesting.

A line may come from anybody, or from a disk that was full. Whatever it holds, it is either read or rejected
with a short message.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from tvmlite.core.errors import ParseError

MOST_LEVELS = 32
"""The most levels of nested lists and dictionaries; a task's arguments have two or three."""

LONGEST_REASON = 200
"""The most characters of a message that quotes a line."""


VERSION = 1
"""The version of the lines written here, of kernels and of decisions."""


def line(fields: Mapping[str, Any]) -> str:
    """Return a line of JSON with ``fields``, without its end."""
    return json.dumps({"v": VERSION, **fields}, allow_nan=False, default=lambda one: one.to_json_dict())


def checked(found: Any, what: str, kinds: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a line ``found``, each of its type in ``kinds``; those in ``later`` may be missing
    and have the values there. A ParseError if it is not a ``what``, such as ``"record"``."""
    if not isinstance(found, dict) or found.get("v") != VERSION:
        raise ParseError(f"not a {what} of version {VERSION}")
    unknown = sorted(found.keys() - kinds.keys() - {"v"})
    missing = sorted(kinds.keys() - found.keys() - later.keys())
    if unknown or missing:
        raise ParseError(f"unknown fields {unknown}" if unknown else f"fields {missing} are missing")
    values = {name: found.get(name, later.get(name)) for name in kinds}
    for name, kind in kinds.items():
        if not isinstance(values[name], kind) or (isinstance(values[name], bool) and kind is not bool):
            raise ParseError(f"field {name!r} is {values[name]!r}")
    return values


def parsed(text: str) -> Any:
    """Parse the line ``text``; a ParseError if it is not JSON, nested too deeply, or has infinite numbers."""
    try:
        fields = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not JSON: {error}") from None
    if _is_deeper(fields, MOST_LEVELS):
        raise ParseError(f"more than {MOST_LEVELS} nested lists")
    return fields


def number(value: object) -> float | None:
    """Return ``value`` as a float; None if it is not a number, or not finite as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        made = float(value)
    except OverflowError:
        return None
    return made if math.isfinite(made) else None


def seconds(value: object) -> float:
    """Return the time of a run in seconds; a ParseError if ``value`` is not a positive number."""
    made = number(value)
    if made is None or made <= 0:
        raise ParseError(f"cost {value!r} is not a positive number of seconds")
    return made


def time(value: object) -> float:
    """Return a time in seconds since 1970; a ParseError if ``value`` is not a number."""
    made = number(value)
    if made is None:
        raise ParseError(f"time is {value!r}, expected a number of seconds")
    return made


def shortened(text: str) -> str:
    """Return ``text``, cut to ``LONGEST_REASON`` characters."""
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def _finite(text: str) -> float:
    made = float(text)
    if math.isinf(made):
        raise ValueError(f"{text} is too large")
    return made


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _is_deeper(value: object, levels: int) -> bool:
    """Whether lists and dictionaries are nested more than ``levels`` deep."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(inside) and (levels == 0 or any(_is_deeper(one, levels - 1) for one in inside))
