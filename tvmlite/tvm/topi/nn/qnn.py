"""``tvm.topi.nn.qnn``: simulated quantization in floats; the quantized dtype is a code known at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing

SQNN_DISABLE, SQNN_INT8, SQNN_UINT8, SQNN_INT32 = range(4)
SQNN_DTYPE_TO_CODE = {
    "disable": SQNN_DISABLE,
    "int8": SQNN_INT8,
    "uint8": SQNN_UINT8,
    "int32": SQNN_INT32,
}
SQNN_CODE_TO_DTYPE = {code: dtype for dtype, code in SQNN_DTYPE_TO_CODE.items()}


def _of_channels(name: str, values: Tensor | None, axis: int) -> Any:
    """A function from indices of the data to the element of ``values``, which has one element for all or one
    for each channel along ``axis``."""
    tensor = arguments.instance(name, values, Tensor, "a tensor")
    return lambda i: tensor(te.indexmod(i[axis], tensor.shape[0]))


def simulated_quantize(
    data: Tensor,
    out_dtype: Tensor,
    output_scale: Tensor | None = None,
    output_zero_point: Tensor | None = None,
    axis: int = -1,
) -> Tensor:
    """Return ``round(data / output_scale) + output_zero_point``, clipped to the range of the quantized dtype,
    in the float dtype of ``data``. ``out_dtype`` is a 0-dimensional tensor with the code of the quantized
    dtype in ``SQNN_DTYPE_TO_CODE``; for the code of ``"disable"``, ``data`` is returned."""
    scale = _of_channels("topi.nn.simulated_quantize: output_scale", output_scale, axis)
    zero = _of_channels("topi.nn.simulated_quantize: output_zero_point", output_zero_point, axis)

    def element(*i: Any) -> Any:
        made: Any = data(*i)
        whole = te.round(data(*i) / scale(i)) + e.cast(data.dtype, zero(i))
        for dtype, code in SQNN_DTYPE_TO_CODE.items():
            if code != SQNN_DISABLE:
                limits = np.iinfo(dtype)
                low, high = (e.const(float(one), data.dtype) for one in (limits.min, limits.max))
                made = te.if_then_else(out_dtype().equal(code), te.max(te.min(whole, high), low), made)
        return made

    return te.compute(data.shape, element, name="simulated_quantize", tag="elemwise")


def simulated_dequantize(
    data: Tensor,
    in_dtype: Tensor,
    input_scale: Tensor | None = None,
    input_zero_point: Tensor | None = None,
    axis: int = -1,
) -> Tensor:
    """Return ``(data - input_zero_point) * input_scale``, or ``data`` if the code ``in_dtype`` is that of
    ``"disable"``."""
    scale = _of_channels("topi.nn.simulated_dequantize: input_scale", input_scale, axis)
    zero = _of_channels("topi.nn.simulated_dequantize: input_zero_point", input_zero_point, axis)

    def element(*i: Any) -> Any:
        made = (data(*i) - e.cast(data.dtype, zero(i))) * scale(i)
        quantized = te.all(in_dtype() >= SQNN_INT8, in_dtype() <= SQNN_INT32)
        return te.if_then_else(quantized, made, data(*i))

    return te.compute(data.shape, element, name="simulated_dequantize", tag="elemwise")


__getattr__ = refusing(__name__)
