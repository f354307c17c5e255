"""``tvm.topi.testing``: reference implementations of operators in numpy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.tvm import nd, te
from tvmlite.tvm.absent import lookup
from tvmlite.tvm.driver.build_module import build
from tvmlite.tvm.target import Target
from tvmlite.tvm.testing import assert_allclose
from tvmlite.tvm.topi import nn
from tvmlite.tvm.topi.schedules import schedule as _schedule


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def _around(padding: Any, size: tuple[int, int]) -> tuple[int, int, int, int]:
    if padding == "VALID":
        return 0, 0, 0, 0
    if padding == "SAME":
        whole = [n - 1 for n in size]
        return (whole[0] + 1) // 2, (whole[1] + 1) // 2, whole[0] // 2, whole[1] // 2
    if isinstance(padding, (tuple, list)) and len(padding) == 4:
        return tuple(padding)  # type: ignore[return-value]
    return (*_pair(padding), *_pair(padding))


def conv2d_nchw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, groups: int = 1
) -> np.ndarray:
    """The convolution of NCHW images with OIHW kernels."""
    step_h, step_w = _pair(stride)
    images, channels = a_np.shape[:2]
    outputs, inside, rows, columns = w_np.shape
    top, left, bottom, right = _around(padding, (rows, columns))
    data = np.pad(a_np, ((0, 0), (0, 0), (top, bottom), (left, right)))
    height = (data.shape[2] - rows) // step_h + 1
    width = (data.shape[3] - columns) // step_w + 1
    out = np.zeros((images, outputs, height, width), a_np.dtype)
    for group in range(groups):
        part = data[:, group * (channels // groups) : (group + 1) * (channels // groups)]
        kernels = slice(group * (outputs // groups), (group + 1) * (outputs // groups))
        for y in range(rows):
            for x in range(columns):
                window = part[:, :, y : y + height * step_h : step_h, x : x + width * step_w : step_w]
                out[:, kernels] += np.einsum("nihw,oi->nohw", window, w_np[kernels, :, y, x])
    assert inside == channels // groups
    return out


def conv2d_nhwc_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, groups: int = 1
) -> np.ndarray:
    """The convolution of NHWC images with HWIO kernels."""
    made = conv2d_nchw_python(a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding, groups)
    return made.transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any) -> np.ndarray:
    """The convolution of HWCN images with HWIO kernels."""
    made = conv2d_nchw_python(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding)
    return made.transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nchw(
    input_np: np.ndarray, filter_np: np.ndarray, stride: Any, padding: Any
) -> np.ndarray:
    """The depthwise convolution of NCHW images with kernels (channels, multiplier, height, width)."""
    channels, multiplier, rows, columns = filter_np.shape
    kernels = filter_np.reshape(channels * multiplier, 1, rows, columns)
    return conv2d_nchw_python(input_np, kernels, stride, padding, channels)


def depthwise_conv2d_python_nhwc(
    input_np: np.ndarray, filter_np: np.ndarray, stride: Any, padding: Any
) -> np.ndarray:
    """The depthwise convolution of NHWC images with kernels (height, width, channels, multiplier)."""
    made = depthwise_conv2d_python_nchw(
        input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding
    )
    return made.transpose(0, 2, 3, 1)


def dilate_python(
    input_np: np.ndarray, strides: Any, dilation_value: float = 0.0, out_dtype: Any = None
) -> np.ndarray:
    """``input_np`` with ``strides - 1`` elements inserted between the elements of each axis."""
    shape = tuple((n - 1) * s + 1 for n, s in zip(input_np.shape, strides, strict=True))
    out = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = input_np
    return out


def softmax_python(a_np: np.ndarray, axis: int = 1) -> np.ndarray:
    """``exp(a)`` divided by its sum along ``axis``."""
    powers = np.exp(a_np - a_np.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax_python(a_np: np.ndarray, axis: int = 1) -> np.ndarray:
    """The logarithm of ``softmax_python``."""
    return np.log(softmax_python(a_np.astype("float64"), axis)).astype(a_np.dtype)


def batch_matmul(
    x: np.ndarray, y: np.ndarray, out_dtype: Any = None, trans_x: bool = False, trans_y: bool = True
) -> np.ndarray:
    """The matrix product of each pair in the batch; ``y`` is transposed by default."""
    left = x.transpose(0, 2, 1) if trans_x else x
    right = y.transpose(0, 2, 1) if trans_y else y
    kind = out_dtype or x.dtype
    return np.matmul(left.astype(kind), right.astype(kind))


def dense(
    x: np.ndarray,
    y: np.ndarray,
    bias: Any,
    use_bias: bool = False,
    use_relu: bool = False,
    out_dtype: Any = None,
) -> np.ndarray:
    """``x`` times the transpose of ``y``, plus ``bias`` with ``use_bias``, at least 0 with ``use_relu``."""
    made = x.astype(out_dtype or x.dtype) @ y.astype(out_dtype or y.dtype).T
    made = made + bias if use_bias else made
    return np.maximum(made, 0) if use_relu else made


def scale_shift_nchw_python(input_np: np.ndarray, scale_np: np.ndarray, shift_np: np.ndarray) -> np.ndarray:
    """NCHW images multiplied by a scale plus a shift for each channel."""
    return input_np * scale_np[:, None, None] + shift_np[:, None, None]


def get_injective_schedule(target: Any) -> Callable[..., Any]:
    """The schedule function for element-wise operators."""
    return _schedule


get_broadcast_schedule = get_reduce_schedule = get_elemwise_schedule = get_injective_schedule
get_softmax_schedule = get_injective_schedule


def get_conv2d_nchw_implement(target: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The compute and the schedule function for a convolution of NCHW images."""
    return nn.conv2d_nchw, _schedule


def dispatch(target: Any, dispatch_map: Any) -> Any:
    """The entry for CPUs in ``dispatch_map``, a dict by kinds of targets, or else the first entry."""
    for key in ("cpu", "x86", "llvm", "generic"):
        if key in dispatch_map:
            return dispatch_map[key]
    return next(iter(dispatch_map.values()))


def compare_numpy_tvm(
    inputs: Sequence[np.ndarray],
    output: np.ndarray,
    target: Any,
    device: Any,
    compute: Callable[..., Any],
    schedule: Callable[..., Any],
) -> None:
    """Raise an AssertionError unless ``compute``, scheduled and built for ``target``, returns ``output`` for
    ``inputs``."""
    tensors = [te.placeholder(one.shape, str(one.dtype)) for one in inputs]
    with Target(target):
        out = compute(*tensors)
        function = build(schedule([out]), [*tensors, out])
    found = nd.array(np.zeros(output.shape, output.dtype), device)
    function(*(nd.array(one, device) for one in inputs), found)
    assert_allclose(found.numpy(), output, rtol=1e-4, atol=1e-4)


_REFERENCES = ("convolutions", "elements", "images", "recurrent")


def __getattr__(name: str) -> Any:
    for module in _REFERENCES:
        found = getattr(importlib.import_module(f"tvmlite.tvm.topi.testing.{module}"), name, None)
        if found is not None and not name.startswith("_"):
            return found
    return lookup(__name__, name)


def __dir__() -> list[str]:
    parts = (importlib.import_module(f"tvmlite.tvm.topi.testing.{module}") for module in _REFERENCES)
    return sorted({*globals(), *(name for part in parts for name in dir(part))})
