"""Functions of TVM whose arguments differ from the attributes of the operator that they call."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.te import expr as e
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.op import assumed, run_time_axes
from tvmlite.tvm.relay.op.arguments import argument_type, known_type
from tvmlite.tvm.relay.op.builders import function
from tvmlite.tvm.relay.op.composed import depthwise
from tvmlite.tvm.relay.op.composed.boxes import all_class_non_max_suppression, non_max_suppression
from tvmlite.tvm.relay.op.composed.fourier import dft, stft
from tvmlite.tvm.relay.op.composed.requantize import requantize
from tvmlite.tvm.relay.op.composed.simulated import simulated_dequantize, simulated_quantize
from tvmlite.tvm.relay.op.composed.sparse import SPARSE
from tvmlite.tvm.relay.op.run_time_sizes import known_numbers, with_sizes

_FAR = 2**31 - 1
"""A bound of a slice that means the end of the axis."""

_ALIGNMENTS = {
    f"{above}_{below}": (above == "RIGHT", below == "RIGHT")
    for above in ("LEFT", "RIGHT")
    for below in ("LEFT", "RIGHT")
}
"""For each ``align``: whether superdiagonals, and whether subdiagonals, are aligned to the right."""


def matrix_set_diag(data: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """``data`` with ``diagonal`` as its diagonal ``k``, or as its diagonals ``k[0]`` to ``k[1]``. ``align``
    gives the alignment of superdiagonals, then subdiagonals, that are shorter than a row of ``diagonal``."""
    if align not in _ALIGNMENTS:
        expected = ", ".join(map(repr, _ALIGNMENTS))
        raise TvmliteError(f"matrix_set_diag: align is {show(align)}, expected {expected}", Span.of_caller())
    low, high = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    above, below = _ALIGNMENTS[align]
    return function("matrix_set_diag")(
        data, diagonal, k1=low, k2=high, super_diag_right_align=above, sub_diag_right_align=below
    )


def topk(
    data: Any,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Any:
    """The ``k`` largest elements along ``axis``, or the smallest with ``is_ascend``; all if ``k`` < 1."""
    if isinstance(k, nodes.Constant):
        k = int(k.data)
    if isinstance(k, (int, np.integer)):
        shape = getattr(known_type(data), "shape", ())
        if k < 1:
            k = argument_type(data).shape[axis]
        elif -len(shape) <= axis < len(shape) and not isinstance(shape[axis], int):
            k = e.Min(*e.match(int(k), shape[axis]))
    return function("topk")(data, k, axis, ret_type, is_ascend, dtype)


def strided_slice(
    data: Any, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Any:
    """``data[begin:end:strides]`` on the first axes, or on ``axes``. A bound that is None or missing is the
    start or end of the axis."""
    strides = known_numbers(strides)
    if isinstance(strides, nodes.Expr) and axes is None:
        return run_time_axes.strided_slice(data, begin, end, strides, slice_mode)
    begin, end, strides = _bounds(begin, end, strides, slice_mode)
    return function("strided_slice")(data, begin, end, strides, axes, slice_mode)


def strided_set(data: Any, v: Any, begin: Any, end: Any, strides: Any = None) -> Any:
    """``data`` with the elements ``data[begin:end:strides]`` replaced by ``v``."""
    begin, end, strides = _bounds(begin, end, strides, "end")
    return function("strided_set")(data, v, begin, end, strides)


def _bounds(begin: Any, end: Any, strides: Any, slice_mode: str) -> tuple[Any, Any, Any]:
    """The bounds extended to the length of the longest, with numbers for missing ones."""
    found = [_listed(one) for one in (begin, end, strides)]
    if not all(isinstance(one, list) for one in found):
        return begin, end, strides
    first, last, step = found
    count = max(len(first), len(last), len(step) if len(step) > 1 else 1)
    step = step * count if len(step) == 1 else [*step, *[1] * (count - len(step))]
    first += [None] * (count - len(first))
    last += [None] * (count - len(last))
    for at, stride in enumerate(step[:count]):
        forward = not isinstance(stride, (int, np.integer)) or stride > 0
        if first[at] is None:
            first[at] = 0 if forward else _FAR
        if last[at] is None:
            last[at] = -1 if slice_mode == "size" else _FAR if forward else -_FAR
    return tuple(first), tuple(last), None if strides is None else tuple(step)


def _listed(given: Any) -> Any:
    """A list, array, constant or number as a list, None as ``[1]``; other values are returned unchanged."""
    if given is None:
        return [1]
    if isinstance(given, nodes.Constant):
        given = given.data
    if isinstance(given, np.ndarray):
        return [int(one) for one in given.reshape(-1)]
    if isinstance(given, (int, np.integer)):
        return [int(given)]
    return list(given) if isinstance(given, (tuple, list)) else given


def sum_(data: Any, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Any:
    """The sum over ``axis``; for bools, whether any is true."""
    build = function("sum")
    if getattr(known_type(data), "dtype", "") != "bool":
        return build(data, axis, keepdims, exclude)
    found = build(function("cast")(data, "int32"), axis, keepdims, exclude)
    return function("cast")(found, "bool")


def pad(data: Any, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Any:
    """``data`` padded before and after each axis by ``pad_width`` elements. ``pad_value`` may be a computed
    scalar or a tensor of one element."""
    if isinstance(pad_value, nodes.Expr) and depthwise.known_shape(pad_value):
        pad_value = function("reshape")(pad_value, ())
    if (
        not isinstance(pad_value, nodes.Expr)
        or isinstance(pad_value, nodes.Constant)
        or pad_mode != "constant"
    ):
        return function("nn.pad")(data, pad_width, pad_value, pad_mode)
    if isinstance(pad_width, nodes.Expr):
        return adopt(with_sizes("nn.pad: pad_width", pad_width, lambda sizes: pad(data, sizes, pad_value)))
    inside = function("nn.pad")(function("ones_like")(function("cast")(data, "bool")), pad_width)
    return function("where")(inside, function("nn.pad")(data, pad_width), pad_value)


def reverse_reshape(data: Any, newshape: Any) -> Any:
    """``reshape`` with the special values of ``newshape`` interpreted from the last axis to the first."""
    if not isinstance(newshape, (tuple, list)) or -3 not in newshape:
        return function("contrib_reverse_reshape")(data, newshape=newshape)
    rest, shape = list(argument_type(data).concrete_shape), []
    for code in reversed(newshape):
        taken = [rest.pop() for _ in range({0: 1, -3: 2}.get(code, 0))]
        shape.append(int(np.prod(taken)) if taken else code)
    return function("reshape")(data, tuple(reversed(shape)))


def matmul(
    tensor_a: Any,
    tensor_b: Any,
    units: Any = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Any:
    """The matrix product of ``tensor_a``, which may have leading batch axes, and the matrix ``tensor_b``."""
    known, product = known_type(tensor_a), assumed.FROM_OPEN_SHAPES["nn.matmul"]
    if getattr(known, "ndim", 2) <= 2:
        return product(tensor_a, tensor_b, units, out_dtype, transpose_a, transpose_b)
    if transpose_a:
        *lead, rows, columns = range(known.ndim)
        tensor_a = function("transpose")(tensor_a, (*lead, columns, rows))
    shape = argument_type(tensor_a).shape
    flat = function("reshape")(tensor_a, (math.prod(shape[:-1]), shape[-1]))
    made = product(flat, tensor_b, units, out_dtype, False, transpose_b)
    if units is None:
        units = argument_type(tensor_b).shape[0 if transpose_b else 1]
    return function("reshape")(made, (*shape[:-1], units))


def contrib_conv2d_nchwc(data: Any, kernel: Any, *args: Any, **attrs: Any) -> Any:
    """A convolution in a blocked layout. For a kernel whose input channels are blocked too (``"OIHW8i8o"``),
    this calls ``nn.conv2d``, which supports all layouts."""
    inputs_too = blocks_inputs(str(attrs.get("kernel_layout", "")))
    name = "nn.conv2d" if inputs_too else "nn.contrib_conv2d_NCHWc"
    return function(name)(data, kernel, *args, **attrs)


def blocks_inputs(kernel_layout: str) -> bool:
    """Whether a kernel layout ends with a block of input channels and one of output channels (``8i8o``)."""
    return re.search(r"\d+i\d+o$", kernel_layout) is not None


def depth_to_space(data: Any, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Any:
    """Move channels into blocks of height and width. ``"CDR"`` is TVM's other spelling of mode ``"CRD"``."""
    return function("nn.depth_to_space")(data, block_size, layout, "CRD" if mode == "CDR" else mode)


_RESIZED = (
    *("size", "roi", "layout", "method", "coordinate_transformation_mode", "rounding_method"),
    *("cubic_alpha", "cubic_exclude", "extrapolation_value", "out_dtype"),
)
"""The parameters of resizes after the data, in TVM's order."""


def _resize(name: str) -> Callable[..., Any]:
    build = function(name)

    def resize(data: Any, *args: Any, **options: Any) -> Any:
        dtype = getattr(known_type(data), "dtype", "float32")
        given = dict(zip(_RESIZED, args, strict=False)) | options
        if not dtype.startswith(("int", "uint")) or given.get("method") == "nearest_neighbor":
            return build(data, *args, **options)
        found = build(function("cast")(data, "float32"), *args, **options)
        return function("cast")(found, given.get("out_dtype") or dtype)

    return functools.update_wrapper(resize, build)


def dilation2d(
    data: Any,
    weight: Any,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    dilations: Any = (1, 1),
    data_layout: str = "NCHW",
    kernel_layout: str = "IHW",
    out_dtype: str = "",
) -> Any:
    """Morphological dilation: the maximum over each window of element plus weight. ``strides`` and
    ``dilations`` are for the image's two axes; four equal numbers, for all axes, are accepted too."""
    strides, dilations = (
        tuple(one)[:2] if isinstance(one, (tuple, list)) and len(one) == 4 and len(set(one)) == 1 else one
        for one in (strides, dilations)
    )
    return function("image.dilation2d")(
        data, weight, strides, padding, dilations, data_layout, kernel_layout, out_dtype
    )


ADAPTED: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (dft, matrix_set_diag, reverse_reshape, stft, strided_set, strided_slice, topk)
}
ADAPTED["nn.contrib_conv2d_NCHWc"] = contrib_conv2d_nchwc
ADAPTED |= run_time_axes.FROM_TENSORS | assumed.FROM_OPEN_SHAPES | depthwise.FROM_MULTIPLIERS | SPARSE
ADAPTED["image.dilation2d"] = dilation2d
ADAPTED["nn.depth_to_space"] = depth_to_space
ADAPTED["nn.matmul"] = matmul
ADAPTED["nn.pad"] = pad
ADAPTED["qnn.requantize"] = requantize
ADAPTED["qnn.simulated_dequantize"] = simulated_dequantize
ADAPTED["qnn.simulated_quantize"] = simulated_quantize
ADAPTED["sum"] = functools.update_wrapper(sum_, function("sum"))
ADAPTED["vision.all_class_non_max_suppression"] = all_class_non_max_suppression
ADAPTED["vision.non_max_suppression"] = non_max_suppression
ADAPTED |= {name: _resize(name) for name in ("image.resize1d", "image.resize2d", "image.resize3d")}
"""The adapted functions by TVM's names."""
