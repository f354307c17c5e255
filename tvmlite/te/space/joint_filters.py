"""Filters of whole configurations, for conditions on several knobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span

if TYPE_CHECKING:
    from tvmlite.te.space.config import ConfigEntity

MOST_FILTERED = 1 << 20
"""The most combinations of a space that can be filtered: each is tested, at about 100000 a second."""


class JointFilters:
    """The filters of a space, and the numbers that pass them, computed on first use."""

    def __init__(self) -> None:
        self._filters: list[Callable[[ConfigEntity], bool]] = []
        self._valid: np.ndarray | None = None

    def __bool__(self) -> bool:
        return bool(self._filters)

    def add(self, filter: Callable[[ConfigEntity], bool]) -> None:
        """Add a filter; a ScheduleError if it is not a function."""
        self._filters.append(arguments.function("multi_filter: filter", filter, ScheduleError))
        self.forget()

    def forget(self) -> None:
        """Discard the result, because the space has changed."""
        self._valid = None

    def valid(self, count: int, combination: Callable[[int], ConfigEntity]) -> np.ndarray:
        """For each number below ``count``, whether its ``combination`` passes all filters."""
        if self._valid is None:
            if count > MOST_FILTERED:
                raise ScheduleError(
                    f"multi_filter: the space has {count} combinations, expected at most {MOST_FILTERED}",
                    Span.of_caller(),
                )
            found = [all(keep(one) for keep in self._filters) for one in map(combination, range(count))]
            self._valid = np.array(found, bool)
        return self._valid
