"""The definition of a task: a float module, calibration data, and a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite import relay


@dataclass(frozen=True)
class Task:
    """``score(lib)`` is the score of a compiled model, named ``what``; int8 may lose ``may_lose`` of it.
    ``data`` is for calibration and disjoint from the scored data; ``metric`` is a score on ``data``."""

    what: str
    module: relay.Module
    data: list[dict[str, Any]]
    score: Callable[[Any], float]
    may_lose: float
    metric: Callable[[Any], float] | str
