"""Workloads for tests of the auto-scheduler."""

from __future__ import annotations

from threading import Thread
from typing import Any

from tvmlite import te
from tvmlite.tvm import topi
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler.compute_dag import ComputeDAG
from tvmlite.tvm.auto_scheduler.loop_state import State
from tvmlite.tvm.auto_scheduler.workload_registry import register_workload


class PropagatingThread(Thread):
    """A thread whose ``join`` returns the result of its function, or raises its exception."""

    def run(self) -> None:
        """Call the function."""
        self._failed: BaseException | None = None
        self._result: Any = None
        try:
            self._result = self._target(*self._args, **self._kwargs)  # type: ignore[attr-defined]
        except BaseException as error:  # raised where the thread is joined
            self._failed = error

    def join(self, timeout: float | None = None) -> Any:
        """Wait for the function and return its result."""
        super().join(timeout)
        if self._failed is not None:
            raise self._failed
        return self._result


def _product(left: te.Tensor, right: te.Tensor, name: str) -> te.Tensor:
    """Return the product of two matrices."""
    k = te.reduce_axis((0, left.shape[1]), name="k")
    shape = left.shape[0], right.shape[1]
    return te.compute(shape, lambda i, j: te.sum(left[i, k] * right[k, j], axis=k), name=name)


@register_workload
def matmul_auto_scheduler_test(N: int, M: int, K: int) -> list[te.Tensor]:
    """A matrix product."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    return [a, b, _product(a, b, "C")]


register_workload("matmul_auto_scheduler_test_rename_1", matmul_auto_scheduler_test)


@register_workload
def double_matmul_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """The product of a matrix product and a third matrix."""
    a, b, c = (te.placeholder((N, N), name=name) for name in "ABC")
    return [a, b, c, _product(_product(a, b, "D"), c, "E")]


@register_workload
def parallel_matmul_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """Two products with the same left matrix."""
    a, b, c = (te.placeholder((N, N), name=name) for name in "ABC")
    return [a, b, c, _product(a, b, "D"), _product(a, c, "E")]


@register_workload
def zero_rank_reduce_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """A sum whose result has no axes."""
    a = te.placeholder((N,), name="A")
    k = te.reduce_axis((0, N), name="k")
    return [a, te.compute((), lambda: te.sum(a[k], k), name="B")]


@register_workload
def zero_rank_compute_auto_scheduler_test(N: int) -> list[te.Tensor]:
    """A copy of one element whose result has no axes."""
    a = te.placeholder((N,), name="A")
    return [a, te.compute((), lambda: a[0], name="B")]


@register_workload
def conv2d_nchw_bn_relu_auto_scheduler_test(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: int,
    strides: int,
    padding: int,
    dilation: int = 1,
) -> list[te.Tensor]:
    """A convolution with a bias, a scale and an offset per channel, and relu."""
    data = te.placeholder((N, CI, H, W), name="Data")
    kernel = te.placeholder((CO, CI, kernel_size, kernel_size), name="Kernel")
    bias, scale, offset = (
        te.placeholder((CO, 1, 1), name=name) for name in ("Bias", "Bn_scale", "Bn_offset")
    )
    conv = topi.nn.conv2d_nchw(data, kernel, strides, padding, dilation)
    shape = conv.shape
    biased = te.compute(shape, lambda n, c, y, x: conv[n, c, y, x] + bias[c, 0, 0], name="Bias_add")
    scaled = te.compute(shape, lambda n, c, y, x: biased[n, c, y, x] * scale[c, 0, 0], name="Bn_mul")
    moved = te.compute(shape, lambda n, c, y, x: scaled[n, c, y, x] + offset[c, 0, 0], name="Bn_add")
    return [data, kernel, bias, scale, offset, topi.nn.relu(moved)]


@register_workload
def max_pool2d_auto_scheduler_test(N: int, H: int, W: int, CI: int, padding: int) -> list[te.Tensor]:
    """Max pooling with windows of 2 by 2."""
    data = te.placeholder((N, CI, H, W), name="Data")
    return [data, topi.nn.pool2d(data, [2, 2], [1, 1], [1, 1], [padding] * 4, "max")]


@register_workload
def min_nm_auto_scheduler_test(N: int, M: int) -> list[te.Tensor]:
    """The minimum of each row."""
    data = te.placeholder((N, M), name="A")
    return [data, topi.min(data, axis=-1)]


@register_workload
def softmax_nm_auto_scheduler_test(N: int, M: int) -> list[te.Tensor]:
    """Softmax of each row."""
    data = te.placeholder((N, M), name="A")
    return [data, topi.nn.softmax(data, axis=1)]


@register_workload
def softmax_abcd_auto_scheduler_test(a: int, b: int, c: int, d: int) -> list[te.Tensor]:
    """Softmax over the last of four axes."""
    data = te.placeholder((a, b, c, d), name="A")
    return [data, topi.nn.softmax(data, axis=-1)]


def get_tiled_matmul() -> tuple[ComputeDAG, State]:
    """Return a tiled matrix product in which each tile is computed in a separate buffer."""
    a, b, c = matmul_auto_scheduler_test(512, 512, 512)
    dag = ComputeDAG([a, b, c])
    state = dag.get_init_state()
    tile = state.cache_write(c, "global")
    rows, columns, products = state[tile].iters
    i, j = state.split(tile, rows, [4, 8]), state.split(tile, columns, [4, 8])
    k = state.split(tile, products, [8])
    state.reorder(tile, [i[0], j[0], i[1], j[1], k[0], k[1], i[2], j[2]])
    y, x = (state.split(c, one, [32]) for one in state[c].iters)
    state.reorder(c, [y[0], x[0], y[1], x[1]])
    state.compute_at(tile, c, x[0])
    return dag, state


__getattr__ = refusing(__name__)
