"""Fixtures of the tutorials: run their programs compiled by both code generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tvmlite

Check = Callable[..., None]


@pytest.fixture(params=["native", "c"])
def check(request: pytest.FixtureRequest) -> Check:
    """``check(schedule, args, inputs, *wanted)``: compile for a target and compare with ``wanted``."""

    def run(s: Any, args: Sequence[Any], inputs: Sequence[Any], *wanted: Any, rtol: float = 1e-5) -> None:
        made = tvmlite.build(s, args, target=request.param, name="tutorial")
        given = made(*inputs)
        for result, want in zip(given if isinstance(given, tuple) else (given,), wanted, strict=True):
            np.testing.assert_allclose(result, want, rtol=rtol, atol=rtol)

    return run
