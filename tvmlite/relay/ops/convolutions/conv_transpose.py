"""Transposed convolutions of one, two and three spatial axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import TensorType, normal_dim, same_dim, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.convolutions.conv import (
    channels_mismatch,
    check_operands,
    conv_attrs,
    converted,
    result_dtype,
    sum_dtype,
)
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers

WEIGHT_LAYOUTS = {1: "IOW", 2: "IOHW", 3: "IODHW"}
"""Layouts of the weights of transposed convolutions: input channels first."""


def transposed_type(rank: int) -> Callable[..., TensorType]:
    """The type relation: ``(size - 1) * stride - padding + (kernel - 1) * dilation + 1 + output_padding``."""

    def infer(call: Call, data: TensorType, weight: TensorType) -> TensorType:
        check_operands(call, data, weight, WEIGHT_LAYOUTS[rank], rank)
        if any(not isinstance(k, int) for k in weight.shape[2:]):
            raise UnsupportedError(
                f"{call.op}: weight is {show_shape(weight.shape)}: its kernel must be numbers", call.span
            )
        groups, channels = call["groups"], weight.shape[1] * call["groups"]
        fits = same_dim(data.shape[1], weight.shape[0]) and groups >= 1
        if not fits or (isinstance(data.shape[1], int) and data.shape[1] % groups):
            raise channels_mismatch(call, data, weight)
        if call["channels"] is not None and not same_dim(call["channels"], channels):
            raise fault(call, f"channels is {call['channels']}, weight is {show_shape(weight.shape)}")
        shape = _extents(call, data.shape[2:], weight.shape[2:], rank)
        windows.check_extents(call, shape, data)
        return TensorType((data.shape[0], channels, *shape), result_dtype(call, data.dtype))

    return infer


def _extents(call: Call, sizes: Any, kernel: Any, rank: int) -> tuple[Any, ...]:
    geometry = windows.geometry(call, kernel, rank)
    return tuple(
        (size - 1) * s + (1 + more - b - f) + (k - 1) * d
        for size, k, s, d, b, f, more in zip(
            sizes,
            kernel,
            geometry.strides,
            geometry.dilation,
            geometry.begins,
            geometry.ends,
            _output_padding(call, rank),
            strict=True,
        )
    )


def _output_padding(call: Call, rank: int) -> tuple[int, ...]:
    value = call["output_padding"]
    values = value if isinstance(value, tuple) else (value,) * rank
    values = values * rank if len(values) == 1 else values
    if len(values) != rank:
        raise fault(call, f"output_padding is {value}, expected {rank} values")
    return values


def transposed_compute(rank: int) -> Callable[..., te.Tensor]:
    """Compute one small dense convolution per phase of the output, then interleave the phases.

    With stride ``s`` and ``b`` elements of padding before, the outputs ``y = q * s + r`` of phase ``r`` use
    only the kernel positions ``(r + b) % s + j * s``. So there are no products with the zeros between strided
    inputs, and no unused outputs, except one at the end of some phases if ``s`` does not divide the extent.
    """

    def compute(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
        dtype = result_dtype(call, data.dtype)
        strides = windows.spatial_attr(call, "strides", rank)
        shape = _extents(call, data.shape[2:], weight.shape[2:], rank)
        phases = _phases(call, data, weight, shape, strides, sum_dtype(dtype))
        result = te.compute(
            (data.shape[0], weight.shape[1] * call["groups"], *shape),
            lambda n, o, *y: phases[
                (
                    n,
                    o,
                    *(i % s for i, s in zip(y, strides, strict=True)),
                    *(i // s for i, s in zip(y, strides, strict=True)),
                )
            ],
            name="conv_transpose",
            tag="injective",
        )
        return converted(result, dtype)

    return compute


def _phases(
    call: Call, data: te.Tensor, weight: te.Tensor, shape: Any, strides: tuple[int, ...], dtype: str
) -> te.Tensor:
    """``phases[n, o, r.., q..] = sum(i, j..) data[n, i, q + (r + b) // s - j..] filters[o, i, r.., j..]``"""
    rank, groups = len(strides), call["groups"]
    begins, _ = windows.padding_of(call, rank)
    filters = _phase_filters(call, weight, strides)
    taps = windows.as_ints(filters.shape[2 + rank :])
    steps = tuple(normal_dim((y + (s - 1)) // s) for y, s in zip(shape, strides, strict=True))
    before = [max(0, t - 1 - b // s) for t, b, s in zip(taps, begins, strides, strict=True)]
    reach = tuple(normal_dim(q + (b + s - 1) // s) for q, b, s in zip(steps, begins, strides, strict=True))
    after = [normal_dim(q - n) for q, n in zip(reach, data.shape[2:], strict=True)]
    source = _pad_or_crop(data, before, after, reach)
    inputs, per_group = data.shape[1] // groups, weight.shape[1]
    channel = te.reduce_axis(inputs, name="ic")
    axes = [te.reduce_axis(t, name=f"k{n}") for n, t in enumerate(taps)]

    def element(n: Any, o: Any, *rest: Any) -> e.Expr:
        phase, step = rest[:rank], rest[rank:]
        read = channel if groups == 1 else o // per_group * inputs + channel
        moved = [(r + b) // s for r, b, s in zip(phase, begins, strides, strict=True)]
        places = [q + m + f - j for q, m, f, j in zip(step, moved, before, axes, strict=True)]
        return reducers.sum(
            source[(n, read, *places)].astype(dtype) * filters[(o, channel, *phase, *axes)].astype(dtype),
            [channel, *axes],
        )

    whole = (data.shape[0], weight.shape[1] * groups, *strides, *steps)
    return te.compute(whole, element, name="phases", tag="conv2d", attrs={"groups": groups})


def _pad_or_crop(data: te.Tensor, before: list[int], after: list[Any], steps: tuple[Any, ...]) -> te.Tensor:
    """``before`` zeros, then ``data``, cut or padded with zeros to ``steps`` elements."""
    if not any(before) and all(isinstance(a, int) and a <= 0 for a in after):
        return data

    def element(n: Any, c: Any, *at: Any) -> e.Expr:
        inside = []
        for i, b, a, size in zip(at, before, after, data.shape[2:], strict=True):
            if b:
                inside.append(i >= b)
            if not isinstance(a, int) or a > 0:
                inside.append(i < size + b)
        read = data[(n, c, *(i - b for i, b in zip(at, before, strict=True)))]
        return e.Call("if_then_else", (e.all_of(inside), read, e.const(0, data.dtype)), data.dtype)

    extents = (q + b for q, b in zip(steps, before, strict=True))
    return te.compute((*data.shape[:2], *extents), element, name="pad", tag="pad")


def _phase_filters(call: Call, weight: te.Tensor, strides: tuple[int, ...]) -> te.Tensor:
    """``filters[o, i, r.., j..]``: ``(r + b) % s + j * s`` in the dilated kernel, zero past its end."""
    rank, groups = len(strides), call["groups"]
    begins, _ = windows.padding_of(call, rank)
    dilation = windows.spatial_attr(call, "dilation", rank)
    kernel = windows.as_ints(weight.shape[2:])
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    taps = [-(-n // s) for n, s in zip(spans, strides, strict=True)]
    per_group, inputs = weight.shape[1], weight.shape[0] // groups

    def element(o: Any, i: Any, *rest: Any) -> e.Expr:
        places, real = [], []
        for r, j, s, d, span, b in zip(
            rest[:rank], rest[rank:], strides, dilation, spans, begins, strict=True
        ):
            place = (r + b) % s + j * s
            if span % s:
                real.append(place < span)
            if d > 1:
                real.append((place % d).__eq__(0))
            places.append(place // d if d > 1 else place)
        row = i if groups == 1 else o // per_group * inputs + i
        read = weight[(row, o if groups == 1 else o % per_group, *places)]
        if not real:
            return read
        return e.Call("if_then_else", (e.all_of(real), read, e.const(0, weight.dtype)), weight.dtype)

    return te.compute(
        (weight.shape[1] * groups, inputs, *strides, *taps), element, name="filters", tag="pack"
    )


def transposed_numpy(rank: int) -> Callable[..., np.ndarray]:
    """Return the reference: adds each input to the outputs it affects, one kernel position at a time."""

    def reference(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        dtype, groups = result_dtype(call, data.dtype.name), call["groups"]
        work, geometry = np.dtype(sum_dtype(dtype)), windows.geometry(call, weight.shape[2:], rank)
        sizes, begins = data.shape[2:], geometry.begins
        shape = _extents(call, sizes, weight.shape[2:], rank)
        reach = zip(geometry.covered_extents(sizes), begins, shape, strict=True)
        source = data.reshape(data.shape[0], groups, -1, math.prod(sizes)).astype(work)
        filters = weight.reshape(groups, -1, *weight.shape[1:]).astype(work)
        whole = (max(n, b + y) for n, b, y in reach)
        total = np.zeros((data.shape[0], groups, weight.shape[1], *whole), work)
        for tap, position in geometry.taps():
            part = np.swapaxes(filters[(..., *tap)], 1, 2) @ source
            view = windows.strided_windows(total, position, sizes, geometry.strides)
            view += part.reshape(view.shape)
        crop = tuple(slice(b, b + y) for b, y in zip(begins, shape, strict=True))
        total = total[(..., *crop)].reshape(data.shape[0], -1, *shape)
        return total.astype(dtypes.numpy_of(dtype))

    return reference


def _attrs(rank: int) -> dict[str, Any]:
    """The attributes of a convolution, with ``output_padding`` before ``out_dtype``, as in TVM."""
    attrs = {**conv_attrs(rank), "kernel_layout": WEIGHT_LAYOUTS[rank]}
    dtype = attrs.pop("out_dtype")
    return {**attrs, "output_padding": (0,) * rank, "out_dtype": dtype}


for _rank in (1, 2, 3):
    operator(
        f"nn.conv{_rank}d_transpose",
        infer=transposed_type(_rank),
        reference=transposed_numpy(_rank),
        fuse=Fuse.OUT_ELEMWISE_FUSABLE,
        attrs=_attrs(_rank),
        schedule=anchors.CONVOLUTION,
        doc=f"""The transposed convolution of ``data`` with ``weight`` along {_rank} axes.

        It is the gradient of a convolution. The weight has the input channels first, then the output
        channels / ``groups``. This layout is called {WEIGHT_LAYOUTS[_rank]} here; TVM 0.11 has the same one,
        but calls it O, I for one and three axes.
        ``output_padding`` elements are added at the end of each axis.
        """,
    )(transposed_compute(_rank))
