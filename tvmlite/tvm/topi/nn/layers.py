"""Matrix products, padding and other layers."""

from __future__ import annotations

from typing import Any

from tvmlite import relay, te
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.math import functions
from tvmlite.tvm.topi.nn.padding import moved
from tvmlite.tvm.topi.operate import operate

add = functions["add"]


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Return ``data`` times the transpose of ``weight``, plus ``bias``."""
    made = operate("nn.dense", lambda x, w: relay.nn.dense(x, w, out_dtype=out_dtype or ""), data, weight)
    if bias is None:
        return made
    return operate("nn.bias_add", lambda x, b: relay.nn.bias_add(x, b, axis=-1), made, bias)


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Return the product of two matrices, plus ``bias``."""
    options = {"out_dtype": out_dtype or "", "transpose_a": transpose_a, "transpose_b": transpose_b}
    made = operate("nn.matmul", lambda x, w: relay.nn.matmul(x, w, **options), tensor_a, tensor_b)
    if bias is None:
        return made
    return operate("nn.bias_add", lambda x, b: relay.nn.bias_add(x, b, axis=-1), made, bias)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Return the matrix product of each pair in the batch. ``tensor_b`` is transposed by default."""
    return operate(
        "nn.batch_matmul",
        lambda x, y: relay.nn.batch_matmul(x, y, out_dtype or "", transpose_a, transpose_b),
        tensor_a,
        tensor_b,
    )


def pad(
    data: Tensor,
    pad_before: Any,
    pad_after: Any = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: Any = None,
) -> Tensor:
    """Return ``data`` padded with ``pad_value`` before and after each axis."""
    after = pad_before if pad_after is None else pad_after
    value = pad_value.value if isinstance(pad_value, e.Const) else pad_value
    width = tuple(zip(map(_int, pad_before), map(_int, after), strict=True))
    return operate("nn.pad", lambda x: relay.nn.pad(x, width, value), data)


def _int(value: Any) -> int:
    return int(value.value) if isinstance(value, e.Const) else int(value)


def dilate(data: Tensor, strides: Any, dilation_value: Any = 0.0, name: str = "DilatedInput") -> Tensor:
    """Return ``data`` with ``strides - 1`` elements ``dilation_value`` between the elements of each axis."""
    steps = [_int(one) for one in strides]
    if len(steps) != data.ndim:
        raise UnsupportedError(f"topi.nn.dilate: {len(steps)} strides of {data.ndim} axes", Span.of_caller())
    shape = tuple((n - 1) * step + 1 for n, step in zip(data.shape, steps, strict=True))

    def element(*i: Any) -> Any:
        on = [te.floormod(one, step).equal(0) for one, step in zip(i, steps, strict=True) if step > 1]
        read = data(*(te.floordiv(one, step) for one, step in zip(i, steps, strict=True)))
        return te.if_then_else(te.all(*on), read, e.cast(data.dtype, dilation_value)) if on else read

    return te.compute(shape, element, name=name, tag="injective,dilate")


def flatten(data: Tensor) -> Tensor:
    """Return ``data`` with all axes but the first merged into one."""
    return operate("nn.flatten", lambda x: relay.reshape(x, (0, -1)), data)


def _scale_shift(x: Tensor, scale: Tensor, shift: Tensor, axis: int) -> Tensor:
    return te.compute(
        x.shape,
        lambda *i: x(*i) * scale(i[axis]) + shift(i[axis]),
        name="ScaleShift",
        tag="broadcast",
    )


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return NCHW images multiplied by a scale plus a shift for each channel."""
    return _scale_shift(Input, Scale, Shift, 1)


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return NHWC images multiplied by a scale plus a shift for each channel."""
    return _scale_shift(Input, Scale, Shift, 3)


def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int
) -> Tensor:
    """Return the negative log-likelihood loss: the negated log-probabilities ``predictions`` of ``targets``,
    weighted by class."""
    return operate(
        "nn.nll_loss",
        lambda *x: relay.nn.nll_loss(*x, reduction, ignore_index),
        predictions,
        targets,
        weights,
    )


def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Return ``data`` with groups of ``block_size**2`` channels rearranged into blocks of pixels."""
    made = operate(
        "nn.depth_to_space",
        lambda x: relay.nn.depth_to_space(x, block_size, mode={"CDR": "CRD"}.get(mode, mode)),
        moved(data, layout, "NCHW"),
    )
    return moved(made, "NCHW", layout)


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Return ``data`` with blocks of ``block_size`` by ``block_size`` pixels rearranged into channels."""
    first = moved(data, layout, "NCHW")
    made = operate("nn.space_to_depth", lambda x: relay.nn.space_to_depth(x, block_size), first)
    return moved(made, "NCHW", layout)


__getattr__ = refusing(__name__)
