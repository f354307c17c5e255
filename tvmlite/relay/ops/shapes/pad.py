"""Padding: with a constant, the edge, a mirror image, or the data repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, Rounding, choice, operator
from tvmlite.relay.ir.types import Dim, Shape, TensorType, normal_dim, same_dim, show_shape
from tvmlite.relay.ops.common import clamp, fault, scalar_of, unless_empty
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor


def _widths(call: Call, shape: Shape) -> tuple[tuple[Dim, Dim], ...]:
    """Return the padding before and after each axis of ``shape``."""
    widths = call["pad_width"]
    if len(widths) != len(shape) or any(not isinstance(w, tuple) or len(w) != 2 for w in widths):
        raise fault(
            call, f"data is {show_shape(shape)}, pad_width is {widths}, expected a (before, after) an axis"
        )
    return widths


def _padded_shape(call: Call, shape: Shape) -> Shape:
    widths = _widths(call, shape)
    return tuple(normal_dim(n + before + after) for n, (before, after) in zip(shape, widths, strict=True))


def _pad_type(call: Call, data: TensorType) -> TensorType:
    shape = _padded_shape(call, data.shape)
    if any(isinstance(n, int) and n < 0 for n in shape):
        raise fault(
            call,
            f"data is {show_shape(data.shape)}, pad_width is {call['pad_width']}, "
            "which crops more than there is",
        )
    grows = [n for n, m in zip(data.shape, shape, strict=True) if isinstance(n, int) and n == 0 != m]
    if call["pad_mode"] != "constant" and grows:
        raise fault(call, f"data is {show_shape(data.shape)}: nothing to repeat on an axis of extent 0")
    return TensorType(shape, data.dtype)


def _pad_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    widths = call["pad_width"]
    mode, options = call["pad_mode"], {}
    if mode == "constant":
        options["constant_values"] = np.array(call["pad_value"]).astype(data.dtype)
    wider = np.pad(data, [(max(b, 0), max(a, 0)) for b, a in widths], mode, **options)
    crop = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(wider.shape, widths, strict=True))
    return wider[crop].copy()


@operator(
    "nn.pad",
    rounding=Rounding.NEVER,
    fills=True,
    infer=_pad_type,
    reference=_pad_numpy,
    fuse=Fuse.INJECTIVE,
    attrs={
        "pad_width": REQUIRED,
        "pad_value": 0.0,
        "pad_mode": choice("constant", "edge", "reflect", "wrap", "symmetric"),
    },
    open_attrs=("pad_width", "pad_value"),
)
def pad(call: Call, data: Tensor) -> Tensor:
    """Pad ``data`` by ``pad_width``, a (before, after) for each axis; negative widths crop.

    ``pad_mode`` is what is added: "constant" ``pad_value``, "edge" the nearest element, "reflect" a mirror
    image about the edge element, "symmetric" one that repeats the edge element, "wrap" the data from its
    other end.
    """
    widths = _widths(call, data.shape)
    shape = _padded_shape(call, data.shape)
    if call["pad_mode"] == "constant":
        return _constant_pad(call, data, widths, shape)
    repeated = [n for n, m in zip(data.shape, shape, strict=True) if not same_dim(n, m)]

    def element(*i: e.Expr) -> e.Expr:
        at = zip(i, data.shape, widths, strict=True)
        value = data[tuple(_source(call["pad_mode"], index, n, *width) for index, n, width in at)]
        return unless_empty(repeated, value)

    return compute(shape, element, name="pad", tag="injective")


def _constant_pad(call: Call, data: Tensor, widths: Any, shape: Shape) -> Tensor:
    value = scalar_of(call["pad_value"], data.dtype)

    def element(*i: e.Expr) -> e.Expr:
        at, inside = [], []
        for index, n, (before, after) in zip(i, data.shape, widths, strict=True):
            source = _shifted(index, before)
            at.append(source)
            if not (isinstance(before, int) and before <= 0):
                inside.append(source >= 0)
            if not (isinstance(after, int) and after <= 0):
                inside.append(source < n)
        if not inside:
            return data[tuple(at)]
        return e.Call("if_then_else", (e.all_of(inside), data[tuple(at)], value), data.dtype)

    return compute(shape, element, name="pad", tag="injective,pad")


def _shifted(index: e.Expr, before: Dim) -> e.Expr:
    return index if isinstance(before, int) and before == 0 else index - before


def _source(mode: str, index: e.Expr, extent: Dim, before: Dim, after: Dim) -> e.Expr:
    """Return the index in an axis of ``extent`` that is read at ``index`` of the padded one."""
    position = _shifted(index, before)
    if isinstance(before, int) and isinstance(after, int) and before <= 0 and after <= 0:
        return position
    if mode == "edge":
        return clamp(position, extent)
    if mode == "wrap":
        return position % extent
    if mode == "symmetric":
        phase = position % (2 * extent)
        return e.Min(*e.match(phase, 2 * extent - 1 - phase))
    period = 2 * (extent - 1)
    phase = position % period
    return e.Min(*e.match(phase, period - phase))
