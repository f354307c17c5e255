"""Inputs and outputs that are lists of arrays (sequences), whose lengths are fixed at compilation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite.core.errors import InputError, LibraryError


class Sequences:
    """The grouping of an entry's parameters, in order, into lists and single arrays.

    ``rows`` are ``(name, count)``: the next ``count`` parameters form the list ``name``, or, if ``count`` is
    None, the next one is an array of that name.
    """

    def __init__(self, rows: Any, parameters: Sequence[str]) -> None:
        try:
            self.rows = tuple((str(name), None if count is None else int(count)) for name, count in rows)
            total = sum(1 if count is None else count for _, count in self.rows)
        except (TypeError, ValueError) as error:
            raise LibraryError(f"the metadata's sequences are damaged: {error}") from error
        if total != len(parameters):
            raise LibraryError(f"the metadata's sequences are of {total} parameters, not {len(parameters)}")
        self.parameters = tuple(parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of arrays and lists, in order."""
        return tuple(name for name, _ in self.rows)

    def spread(self, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Inputs by position and by name, with each list replaced by its elements."""
        positions: list[Any] = []
        elements: dict[str, Any] = {}
        start = 0
        known = dict(self.rows)
        for place, (name, count) in enumerate(self.rows):
            width = 1 if count is None else count
            if place < len(given):
                value = given[place]
                positions += [value] if count is None else _elements(name, count, value)
            elif name in named and count is not None:
                own = self.parameters[start : start + width]
                elements.update(zip(own, _elements(name, count, named[name]), strict=True))
            start += width
        positions += given[len(self.rows) :]
        elements.update({name: value for name, value in named.items() if known.get(name) is None})
        return positions, elements

    def gather(self, results: Any) -> list[Any]:
        """A function's results, one array or a tuple, as arrays and lists."""
        flat = list(results) if isinstance(results, tuple) else [results]
        made: list[Any] = []
        for _, count in self.rows:
            made.append(flat.pop(0) if count is None else [flat.pop(0) for _ in range(count)])
        return made


def _elements(name: str, count: int, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"input {name!r} is a {type(value).__name__}, expected a list of {count} arrays")
    if len(value) != count:
        raise InputError(f"input {name!r} is a list of {len(value)} arrays, expected {count}")
    return list(value)
