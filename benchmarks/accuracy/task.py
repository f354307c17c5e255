"""What a task is: a float module, calibration data, and a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite import relay


@dataclass(frozen=True)
class Task:
    """``score(lib)`` is ``what``, of a compiled model; int8 may lose ``may_lose`` of it. ``data`` is for
    calibration and has nothing in common with what is scored; ``metric`` is a score on ``data``."""

    what: str
    module: relay.Module
    data: list[dict[str, Any]]
    score: Callable[[Any], float]
    may_lose: float
    metric: Callable[[Any], float] | str
