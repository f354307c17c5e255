"""Filters of whole configurations: what the filter of a single knob cannot express."""

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
"""Combinations of a space that can be filtered together: each is tried, some 100000 a second."""


class JointFilters:
    """The filters of a space, and which of its numbers they leave: computed when that is first asked."""

    def __init__(self) -> None:
        self._filters: list[Callable[[ConfigEntity], bool]] = []
        self._valid: np.ndarray | None = None

    def __bool__(self) -> bool:
        return bool(self._filters)

    def add(self, filter: Callable[[ConfigEntity], bool]) -> None:
        """One more; a ScheduleError if it is no function."""
        self._filters.append(arguments.function("multi_filter: filter", filter, ScheduleError))
        self.forget()

    def forget(self) -> None:
        """The space has changed."""
        self._valid = None

    def valid(self, count: int, combination: Callable[[int], ConfigEntity]) -> np.ndarray:
        """Of each number below ``count`` whether all filters leave its ``combination``."""
        if self._valid is None:
            if count > MOST_FILTERED:
                raise ScheduleError(
                    f"multi_filter: the space has {count} combinations, expected at most {MOST_FILTERED}",
                    Span.of_caller(),
                )
            found = [all(keep(one) for keep in self._filters) for one in map(combination, range(count))]
            self._valid = np.array(found, bool)
        return self._valid
