"""Helpers for programs that use the auto-scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler.workload_registry import decode_workload_key as decode_workload_key
from tvmlite.tvm.autotvm.utils import get_const_int as get_const_int
from tvmlite.tvm.autotvm.utils import get_const_tuple as get_const_tuple
from tvmlite.tvm.autotvm.utils import get_func_name as get_func_name


def calc_workload_dis_factor(target_workload: Sequence[Any], workload: Sequence[Any]) -> float:
    """Return how many times the work of ``workload`` fits into that of ``target_workload``: the product of
    the ratios of the numbers in these decoded keys. Infinity for different functions, or if a ratio is not an
    integer."""
    if isinstance(target_workload, (list, tuple)) and isinstance(workload, (list, tuple)):
        if len(target_workload) != len(workload):
            return float("inf")
        factor = 1.0
        for wanted, given in zip(target_workload, workload, strict=True):
            factor *= calc_workload_dis_factor(wanted, given)
        return factor
    if target_workload == workload:
        return 1.0
    is_number = all(isinstance(one, int) and not isinstance(one, bool) for one in (target_workload, workload))
    if not is_number or workload == 0 or target_workload == 0 or target_workload % workload:  # type: ignore[operator]
        return float("inf")
    return target_workload // workload  # type: ignore[operator,return-value]


__getattr__ = refusing(__name__)
