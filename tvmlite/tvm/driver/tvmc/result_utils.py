"""The largest values of what a model gave."""

from __future__ import annotations

import numpy as np

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.driver.tvmc.model import TVMCResult


def get_top_results(result: TVMCResult, max_results: int) -> np.ndarray:
    """The places and the values of the largest elements of the first output: two rows."""
    return result.get_top_results(max_results)


__getattr__ = refusing(__name__)
