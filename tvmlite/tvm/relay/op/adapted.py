"""Functions of TVM whose arguments are others than the attributes of the operator they build a call of."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError, TypeInferError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.dims import dim
from tvmlite.relay.ir.equal_extents import with_equal_extents
from tvmlite.relay.ir.nodes import LetDims
from tvmlite.te import expr as e
from tvmlite.tvm.relay.expr import Tuple, TupleWrapper, adopt, const
from tvmlite.tvm.relay.op import assumed, run_time_axes
from tvmlite.tvm.relay.op.builders import function
from tvmlite.tvm.relay.op.requantize import requantize
from tvmlite.tvm.relay.op.run_time_sizes import known_numbers, with_sizes
from tvmlite.tvm.relay.op.written_out import depthwise
from tvmlite.tvm.relay.op.written_out.simulated import simulated_dequantize, simulated_quantize

_FAR = 2**31 - 1
"""A bound that means as far as the axis goes."""

_ALIGNMENTS = {
    f"{above}_{below}": (above == "RIGHT", below == "RIGHT")
    for above in ("LEFT", "RIGHT")
    for below in ("LEFT", "RIGHT")
}
"""Whether the diagonals above the main one, and those below it, stand at the right of their rows."""


def matrix_set_diag(data: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """``data`` with ``diagonal`` as its diagonal ``k``, or as the diagonals from the first to the second of
    two; ``align`` says where the short ones of several stand, above the main one and below."""
    if align not in _ALIGNMENTS:
        expected = ", ".join(map(repr, _ALIGNMENTS))
        raise TvmliteError(f"matrix_set_diag: align is {show(align)}, expected {expected}", Span.of_caller())
    low, high = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    above, below = _ALIGNMENTS[align]
    return function("matrix_set_diag")(
        data, diagonal, k1=low, k2=high, super_diag_right_align=above, sub_diag_right_align=below
    )


def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = None
) -> Any:
    """A tensor of ``output_shape`` with ``sparse_values`` at ``sparse_indices``, elsewhere ``default_value``,
    by default 0."""
    if default_value is None:
        default_value = const(0, _argument_type(sparse_values).dtype)
    return function("sparse_to_dense")(sparse_indices, output_shape, sparse_values, default_value)


def topk(
    data: Any,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Any:
    """The ``k`` largest elements along ``axis``, or smallest with ``is_ascend``; all if ``k`` is below 1."""
    if isinstance(k, nodes.Constant):
        k = int(k.data)
    if isinstance(k, (int, np.integer)):
        shape = getattr(_known_type(data), "shape", ())
        if k < 1:
            k = _argument_type(data).shape[axis]
        elif -len(shape) <= axis < len(shape) and not isinstance(shape[axis], int):
            k = e.Min(*e.match(int(k), shape[axis]))
    return function("topk")(data, k, axis, ret_type, is_ascend, dtype)


def strided_slice(
    data: Any, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Any:
    """``data[begin:end:strides]`` of the first axes, or of ``axes``; a bound that is None or left away is
    the far one."""
    strides = known_numbers(strides)
    if isinstance(strides, nodes.Expr) and axes is None:
        return run_time_axes.strided_slice(data, begin, end, strides, slice_mode)
    begin, end, strides = _bounds(begin, end, strides, slice_mode)
    return function("strided_slice")(data, begin, end, strides, axes, slice_mode)


def strided_set(data: Any, v: Any, begin: Any, end: Any, strides: Any = None) -> Any:
    """``data`` with ``v`` in place of ``data[begin:end:strides]``."""
    begin, end, strides = _bounds(begin, end, strides, "end")
    return function("strided_set")(data, v, begin, end, strides)


def _bounds(begin: Any, end: Any, strides: Any, slice_mode: str) -> tuple[Any, Any, Any]:
    """Bounds as many as there are of the longest, with numbers for those that are not given."""
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
    """Bounds as a list of what each is; what is no list, a constant or a number stays as it is."""
    if given is None:
        return [1]
    if isinstance(given, nodes.Constant):
        given = given.data
    if isinstance(given, np.ndarray):
        return [int(one) for one in given.reshape(-1)]
    if isinstance(given, (int, np.integer)):
        return [int(given)]
    return list(given) if isinstance(given, (tuple, list)) else given


def stft(
    data: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Any:
    """The Fourier transforms of windows of ``n_fft`` elements, every ``hop_length`` elements of each row of
    ``data``, by default a quarter of a window: real and imaginary parts on the last axis, after frequencies
    and windows."""
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if window is None:
        window = const(np.ones(n_fft), _argument_type(data).dtype)
    if win_length != n_fft:
        raise TvmliteError(
            f"stft: win_length is {win_length}, n_fft is {n_fft}, expected one number", Span.of_caller()
        )
    type_ = _argument_type(data)
    length, dtype = type_.concrete_shape[-1], type_.dtype
    if length < n_fft or hop_length < 1:
        raise TvmliteError(
            f"stft: rows have {length} elements, n_fft is {n_fft}, hop_length {hop_length}, expected rows of "
            "at least n_fft and hops of at least 1",
            Span.of_caller(),
        )
    starts = np.arange(0, length - n_fft + 1, hop_length)
    places = (starts[:, None] + np.arange(n_fft)).astype("int32")
    frames = function("multiply")(function("take")(data, const(places), axis=1), window)
    angles = _angles(n_fft, n_fft // 2 + 1 if onesided else n_fft)
    scale = 1 / np.sqrt(n_fft) if normalized else 1.0
    parts = [_by(frames, matrix * scale, dtype) for matrix in (np.cos(angles), -np.sin(angles))]
    return function("stack")([function("transpose")(part, (0, 2, 1)) for part in parts], axis=-1)


def dft(re_data: Any, im_data: Any, inverse: bool = False) -> Any:
    """The real and the imaginary part of the Fourier transform along the last axis."""
    type_ = _argument_type(re_data)
    count, dtype = type_.concrete_shape[-1], type_.dtype
    angles = _angles(count, count) * (-1 if inverse else 1)
    scale = 1 / count if inverse else 1.0
    cosine, sine = np.cos(angles) * scale, np.sin(angles) * scale
    real = function("add")(_by(re_data, cosine, dtype), _by(im_data, sine, dtype))
    imaginary = function("subtract")(_by(im_data, cosine, dtype), _by(re_data, sine, dtype))
    return TupleWrapper(Tuple((real, imaginary)), 2)


def _angles(count: int, frequencies: int) -> np.ndarray:
    """The angle of element ``n`` at frequency ``k``, exact for large products, too."""
    products = np.outer(np.arange(frequencies), np.arange(count)) % count
    return 2 * np.pi * products / count


def _by(data: Any, matrix: np.ndarray, dtype: str) -> Any:
    return function("nn.dense")(data, const(matrix, dtype))


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """Sums of the elements of ``data`` that have one number in ``segment_ids``, by that number; there are
    ``num_segments``, by default one more than the highest number."""
    shape, dtype = _argument_type(data).shape, _argument_type(data).dtype
    ids = _argument_type(segment_ids)
    spread = function("reshape")(segment_ids, (*ids.shape, *(1,) * (len(shape) - len(ids.shape))))
    spread = function("broadcast_to")(spread, shape)

    def summed(count: Any) -> Any:
        zeros = function("zeros")((count, *shape[1:]), dtype)
        return function("scatter_elements")(zeros, spread, data, 0, "add")

    if num_segments is not None:
        return summed(num_segments)
    count = dim(f"segments_{next(_counts)}")
    highest = function("cast")(function("max")(segment_ids), "int64")
    return adopt(LetDims((count,), function("add")(highest, const(1, "int64")), summed(count)))


def pad(data: Any, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Any:
    """``data`` with elements before and after each axis; of value ``pad_value``, which may be computed, or be
    the one element of a tensor."""
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
    """``reshape`` with the codes of ``newshape`` read from the last axis to the first."""
    if -3 not in newshape:
        return function("contrib_reverse_reshape")(data, newshape=newshape)
    rest, shape = list(_argument_type(data).concrete_shape), []
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
    """The product of the matrices of ``tensor_a``, which may have axes before, and a matrix."""
    known = _known_type(tensor_a)
    if getattr(known, "ndim", 2) <= 2:
        return _product(tensor_a, tensor_b, units, out_dtype, transpose_a, transpose_b)
    if transpose_a:
        *lead, rows, columns = range(known.ndim)
        tensor_a = function("transpose")(tensor_a, (*lead, columns, rows))
    shape = _argument_type(tensor_a).shape
    flat = function("reshape")(tensor_a, (math.prod(shape[:-1]), shape[-1]))
    made = _product(flat, tensor_b, units, out_dtype, False, transpose_b)
    if units is None:
        units = _argument_type(tensor_b).shape[0 if transpose_b else 1]
    return function("reshape")(made, (*shape[:-1], units))


def _product(*given: Any) -> Any:
    """The product of two matrices; rows and columns that are not known to be as many are taken to be."""
    made = function("nn.matmul")(*given)
    shapes: list[Any] = [getattr(_known_type(one), "shape", None) for one in made.args]
    if None in shapes or all(isinstance(extent, int) for shape in shapes for extent in shape):
        return made
    return adopt(with_equal_extents(made))


def contrib_conv2d_nchwc(data: Any, kernel: Any, *args: Any, **attrs: Any) -> Any:
    """A convolution of channels in blocks; of a kernel whose input channels are in blocks as well
    (``"OIHW8i8o"``) it is ``nn.conv2d``, which takes all layouts."""
    inputs_too = blocks_inputs(str(attrs.get("kernel_layout", "")))
    name = "nn.conv2d" if inputs_too else "nn.contrib_conv2d_NCHWc"
    return function(name)(data, kernel, *args, **attrs)


def blocks_inputs(kernel_layout: str) -> bool:
    """Whether the input channels of a kernel are in blocks around those of the output channels."""
    return re.search(r"\d+i\d+o$", kernel_layout) is not None


def depth_to_space(data: Any, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Any:
    """Channels as blocks of places; TVM's programs write the mode ``"CRD"`` as ``"CDR"``, too."""
    return function("nn.depth_to_space")(data, block_size, layout, "CRD" if mode == "CDR" else mode)


_RESIZED = (
    *("size", "roi", "layout", "method", "coordinate_transformation_mode", "rounding_method"),
    *("cubic_alpha", "cubic_exclude", "extrapolation_value", "out_dtype"),
)
"""What resizes take after the data, in TVM's order."""


def _resize(name: str) -> Callable[..., Any]:
    build = function(name)

    def resize(data: Any, *args: Any, **options: Any) -> Any:
        dtype = getattr(_known_type(data), "dtype", "float32")
        given = dict(zip(_RESIZED, args, strict=False)) | options
        if not dtype.startswith(("int", "uint")) or given.get("method") == "nearest_neighbor":
            return build(data, *args, **options)
        found = build(function("cast")(data, "float32"), *args, **options)
        return function("cast")(found, given.get("out_dtype") or dtype)

    return functools.update_wrapper(resize, build)


def non_max_suppression(
    data: Any,
    valid_count: Any,
    indices: Any,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    *args: Any,
    **options: Any,
) -> Any:
    """The boxes of ``data`` that overlap none of a higher score by more than ``iou_threshold``.

    ``indices`` may be anything where boxes are wanted and no indices.
    """
    known = _known_type(indices)
    if options.get("return_indices") is False and getattr(known, "ndim", 2) != 2:
        indices = function("zeros")(_argument_type(data).shape[:2], "int32")
    if not isinstance(max_output_size, nodes.Expr):
        max_output_size = const(max_output_size, "int32")
    if not isinstance(iou_threshold, nodes.Expr):
        iou_threshold = const(iou_threshold, "float32")
    given = (data, valid_count, indices, max_output_size, iou_threshold)
    return function("vision.non_max_suppression")(*given, *args, **options)


def all_class_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> Any:
    """Rows (batch, class, box) of the boxes that stay, and their number; limits are numbers or tensors, and
    as many boxes as there are stay where ``max_output_boxes_per_class`` is below 0."""
    if output_format != "onnx":
        raise UnsupportedError(
            f"all_class_non_max_suppression: output_format is {show(output_format)}, 'onnx' is supported",
            Span.of_caller(),
            "take scores by the rows of 'onnx'",
        )
    if isinstance(max_output_boxes_per_class, int) and max_output_boxes_per_class < 0:
        max_output_boxes_per_class = _FAR
    given = ((max_output_boxes_per_class, "int64"), (iou_threshold, "float32"), (score_threshold, "float32"))
    limits = (
        function("cast")(function("reshape")(one, (1,)), dtype)
        if isinstance(one, nodes.Expr) else const(np.array([one]), dtype) for one, dtype in given
    )  # fmt: skip
    return function("vision.all_class_non_max_suppression")(boxes, scores, *limits)


def _known_type(expr: Any) -> Any:
    """The type of ``expr``; None where it is not known yet."""
    try:
        return expr.checked_type
    except TypeInferError:
        return None


def _argument_type(expr: Any) -> Any:
    return (expr.tuple_value if isinstance(expr, TupleWrapper) else expr).checked_type


_counts = itertools.count(1)

ADAPTED: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        dft,
        matrix_set_diag,
        reverse_reshape,
        segment_sum,
        sparse_to_dense,
        stft,
        strided_set,
        strided_slice,
        topk,
    )
}
ADAPTED["nn.contrib_conv2d_NCHWc"] = contrib_conv2d_nchwc
ADAPTED |= run_time_axes.FROM_TENSORS | assumed.FROM_OPEN_SHAPES | depthwise.FROM_MULTIPLIERS
ADAPTED["nn.depth_to_space"] = depth_to_space
ADAPTED["nn.matmul"] = matmul
ADAPTED["nn.pad"] = pad
ADAPTED["qnn.requantize"] = requantize
ADAPTED["qnn.simulated_dequantize"] = simulated_dequantize
ADAPTED["qnn.simulated_quantize"] = simulated_quantize
ADAPTED["vision.all_class_non_max_suppression"] = all_class_non_max_suppression
ADAPTED["vision.non_max_suppression"] = non_max_suppression
ADAPTED |= {name: _resize(name) for name in ("image.resize1d", "image.resize2d", "image.resize3d")}
"""By TVM's name."""
