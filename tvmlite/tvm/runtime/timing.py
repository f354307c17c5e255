"""TVM's way to time a compiled function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.tvm.executors.benchmark import BenchmarkResult


def evaluator(
    function: CompiledFunction, number: int, repeat: int, min_repeat_ms: float
) -> Callable[..., BenchmarkResult]:
    """A function of the arguments, which runs ``number`` calls ``repeat`` times. With ``min_repeat_ms`` there
    are so many calls that a run lasts as long."""
    number = arguments.whole("time_evaluator: number", number, InputError, least=1)
    repeat = arguments.whole("time_evaluator: repeat", repeat, InputError, least=1)
    if min_repeat_ms != 0:
        arguments.number("time_evaluator: min_repeat_ms", min_repeat_ms, InputError)

    def evaluate(*args: Any) -> BenchmarkResult:
        calls = number
        if min_repeat_ms > 0:
            once = function.time(*args, number=number, repeat=1).runs[0]
            calls = max(number, math.ceil(min_repeat_ms * 1e-3 / once))
        return BenchmarkResult(function.time(*args, number=calls, repeat=repeat).runs)

    return evaluate
