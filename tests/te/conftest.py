"""Fixtures of the tests of tensor expressions: loops as text, and a run against numpy."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.verify import verify


@pytest.fixture(scope="session")
def loops() -> Callable[..., str]:
    """The lowered body of a schedule as text, without the line that declares the function."""

    def show(schedule: te.Schedule, args: Sequence[Any]) -> str:
        text = str(te.lower(schedule, args))
        return textwrap.dedent(text.split("\n", 1)[1])

    return show


@pytest.fixture(scope="session")
def run() -> Callable[..., list[np.ndarray]]:
    """Lower, verify and interpret a schedule on ``inputs``; return the outputs, which have ``shapes``."""

    def execute(
        schedule: te.Schedule, args: Sequence[Any], inputs: Sequence[Any], shapes: Sequence[tuple[int, ...]]
    ) -> list[np.ndarray]:
        function = te.lower(schedule, args)
        verify(function)
        given, wanted = iter(inputs), iter(shapes)
        values: list[Any] = []
        outputs: list[np.ndarray] = []
        for param in function.params:
            if param in function.outputs:
                outputs.append(np.full(next(wanted), 77, param.dtype))
                values.append(outputs[-1])
            else:
                values.append(next(given))
        interpret(function, values)
        return outputs

    return execute
