"""TVM's way to time a compiled function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.runtime import timing
from tvmlite.runtime.call.compiled import CompiledFunction


@dataclass(frozen=True)
class Evaluation:
    """What ``time_evaluator`` found: seconds of one call, ``results`` a run each."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of all runs, in seconds of a call."""
        return sum(self.results) / len(self.results)

    @property
    def median(self) -> float:
        """The median of all runs, in seconds of a call."""
        return timing.median(sorted(self.results))

    @property
    def min(self) -> float:
        """The fastest run, in seconds of a call."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The slowest run, in seconds of a call."""
        return max(self.results)

    @property
    def std(self) -> float:
        """The standard deviation of the runs, in seconds of a call; divided by their number, not one less."""
        return (sum((x - self.mean) ** 2 for x in self.results) / len(self.results)) ** 0.5


def evaluator(
    function: CompiledFunction, number: int, repeat: int, min_repeat_ms: float
) -> Callable[..., Evaluation]:
    """A function of the arguments, which runs ``number`` calls ``repeat`` times. With ``min_repeat_ms`` there
    are so many calls that a run lasts as long."""
    number = arguments.whole("time_evaluator: number", number, InputError, least=1)
    repeat = arguments.whole("time_evaluator: repeat", repeat, InputError, least=1)
    if min_repeat_ms != 0:
        arguments.number("time_evaluator: min_repeat_ms", min_repeat_ms, InputError)

    def evaluate(*args: Any) -> Evaluation:
        calls = number
        if min_repeat_ms > 0:
            once = function.time(*args, number=number, repeat=1).runs[0]
            calls = max(number, math.ceil(min_repeat_ms * 1e-3 / once))
        return Evaluation(function.time(*args, number=calls, repeat=repeat).runs)

    return evaluate
