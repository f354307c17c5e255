"""Workloads to test the auto-scheduler with."""

from __future__ import annotations

from tvmlite import te
from tvmlite.tvm.auto_scheduler.workload_registry import register_workload


def _product(left: te.Tensor, right: te.Tensor, name: str) -> te.Tensor:
    """The product of two matrices."""
    k = te.reduce_axis((0, left.shape[1]), name="k")
    shape = left.shape[0], right.shape[1]
    return te.compute(shape, lambda i, j: te.sum(left[i, k] * right[k, j], axis=k), name=name)


@register_workload
def matmul_auto_scheduler_test(N: int, M: int, K: int) -> list[te.Tensor]:
    """One product."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    return [a, b, _product(a, b, "C")]


register_workload("matmul_auto_scheduler_test_rename_1", matmul_auto_scheduler_test)


@register_workload
def double_matmul_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """The product of a product."""
    a, b, c = (te.placeholder((N, N), name=name) for name in "ABC")
    return [a, b, c, _product(_product(a, b, "D"), c, "E")]


@register_workload
def parallel_matmul_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """Two products of one matrix."""
    a, b, c = (te.placeholder((N, N), name=name) for name in "ABC")
    return [a, b, c, _product(a, b, "D"), _product(a, c, "E")]


@register_workload
def zero_rank_reduce_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """A sum without an axis."""
    a = te.placeholder((N,), name="A")
    k = te.reduce_axis((0, N), name="k")
    return [a, te.compute((), lambda: te.sum(a[k], k), name="B")]


@register_workload
def zero_rank_compute_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """An element, without an axis."""
    a = te.placeholder((N,), name="A")
    return [a, te.compute((), lambda: a[0], name="B")]
