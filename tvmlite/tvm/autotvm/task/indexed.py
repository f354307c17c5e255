"""Config spaces with the methods that AutoTVM's tuners use: configurations are addressed by their numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.space.config import ConfigSpace

_GENERATOR = np.random.default_rng()

_DRAWS = 64
"""The number of random draws before the remaining candidates are listed and one is picked."""


class NoSuchConfig(ScheduleError, IndexError):
    """A space has no configuration with the requested number. It is also an IndexError, as in TVM."""


class Indexed(ConfigSpace):
    """AutoTVM's methods on configuration numbers; those excluded by ``multi_filter`` are skipped."""

    def get(self, index: int) -> Any:
        """Return the configuration with the number ``index``."""
        try:
            return super().get(index)
        except ScheduleError as error:
            raise NoSuchConfig(error.message, error.span) from None

    def subrange_length(self, start: int, end: int) -> int:
        """Return the number of configurations with numbers in ``[start, end)``."""
        self._check_range("subrange_length", start, end)
        valid = self._mask()
        return end - start if valid is None else int(valid[start:end].sum())

    def get_rand_index(
        self, start: int | None = None, end: int | None = None, to_exclude: Collection[int] = ()
    ) -> int:
        """Return a random number in ``[start, end)`` that is not in ``to_exclude``."""
        start, end = start or 0, self.range_length if end is None else end
        self._check_range("get_rand_index", start, end)
        for _ in range(_DRAWS if start < end else 0):
            found = int(_GENERATOR.integers(start, end))
            if found not in to_exclude and self.is_index_valid(found):
                return found
        left = [n for n in range(start, end) if n not in to_exclude and self.is_index_valid(n)]
        if not left:
            raise ScheduleError("get_rand_index: no configuration is left", Span.of_caller())
        return int(_GENERATOR.choice(left))

    def get_next_index(
        self, index: int, n: int = 1, start: int | None = None, end: int | None = None
    ) -> int | None:
        """Return the number of the ``n``-th configuration after ``index``, or before it if ``n`` is negative;
        None if it is outside ``[start, end)``."""
        start, end = start or 0, self.range_length if end is None else end
        self._check_range("get_next_index", start, end)
        step, left = (1 if n > 0 else -1), abs(n)
        while left:
            index += step
            if not start <= index < end:
                return None
            left -= self.is_index_valid(index)
        return index

    def sample_ints(self, m: int) -> list[int]:
        """Return ``m`` different random numbers of configurations; all numbers if there are fewer."""
        indices = self.indices()
        chosen = _GENERATOR.choice(len(indices), min(m, len(indices)), replace=False)
        return [int(indices[place]) for place in chosen]

    def random_walk(self, point: int) -> int:
        """Return the number of a configuration that differs from number ``point`` in one knob, or if none is
        found in 1000 draws, of any other."""
        if len(self) < 2:
            raise ScheduleError("random_walk: the space has one configuration", Span.of_caller())
        dims = self.dims
        for _ in range(1000):
            knobs = self.point2knob(point)
            place = int(_GENERATOR.integers(len(dims)))
            knobs[place] = int(_GENERATOR.integers(dims[place]))
            found = self.knob2point(knobs)
            if found != point and self.is_index_valid(found):
                return found
        return self.get_rand_index(to_exclude=(point,))

    def point2knob(self, point: int) -> list[int]:
        """Return the position of each knob's setting in the configuration number ``point``."""
        return self.positions(np.array([point]))[0].tolist()

    def knob2point(self, knob: Sequence[int]) -> int:
        """Return the number of the configuration whose settings have the positions ``knob``."""
        return int(self.numbers(np.array([knob]))[0])

    def _check_range(self, where: str, start: int, end: int) -> None:
        if not 0 <= start <= end <= self.range_length:
            raise ScheduleError(
                f"{where}: from {start} to {end} is not within the {self.range_length} of the space",
                Span.of_caller(),
            )
