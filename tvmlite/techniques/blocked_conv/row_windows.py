"""Row windows: the rows of windows on an image of few channels, copied next to each other as channels.

A convolution of three channels has too few products for an instruction that sums 32 at once. A row of its
window has up to eight positions for each channel, which together fill the instruction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, operator
from tvmlite.relay.ir.types import TensorType, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault
from tvmlite.te import expr as e
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.templates.group import Group, work_of
from tvmlite.te.templates.share import share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.techniques.common import amx
from tvmlite.techniques.common.nest import in_registers, several_vectors
from tvmlite.techniques.elementwise.injective import ROW_WINDOW

POSITIONS = ROW_WINDOW
"""The positions of a row of a window in a row window, for each channel."""

MOST_CHANNELS = amx.KINDS["bfloat16"].depth // POSITIONS
"""The most channels: all row windows of a pixel are one block of 32 channels."""

ROW_WINDOWS = Anchor("strips")
"""The anchor of groups that copy row windows."""


def _row_windows_type(call: Call, data: TensorType) -> TensorType:
    windows.check_rank(call, "data", data, 4)
    if not (isinstance(data.shape[1], int) and 1 <= data.shape[1] <= MOST_CHANNELS):
        raise fault(call, f"data is {show_shape(data.shape)}, expected 1 to {MOST_CHANNELS} channels")
    if not 1 <= call["width"] <= POSITIONS:
        raise fault(call, f"width is {call['width']}, expected 1 to {POSITIONS}")
    if call["stride"] < 1:
        raise fault(call, f"stride is {call['stride']}, expected at least 1")
    shape = _shape(call, data.shape)
    windows.check_extents(call, shape[2:4], data)
    return TensorType(shape, data.dtype)


def _shape(call: Call, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    (top, left), (bottom, right) = windows.padding_of(call, 2)
    along = windows.window_extent(shape[3], call["width"], call["stride"], 1, left, right)
    return shape[0], 1, shape[2] + (top + bottom), along, MOST_CHANNELS * POSITIONS


def _row_windows_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    (top, left), (bottom, right) = windows.padding_of(call, 2)
    padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
    made = np.zeros(windows.as_ints(_shape(call, data.shape)), data.dtype)
    for channel in range(data.shape[1]):
        for place in range(call["width"]):
            columns = padded[:, channel, :, place :: call["stride"]][:, :, : made.shape[3]]
            made[:, 0, :, :, channel * POSITIONS + place] = columns
    return made


@operator(
    "nn.contrib_strips",
    infer=_row_windows_type,
    reference=_row_windows_numpy,
    fuse=Fuse.INJECTIVE,
    attrs={"width": REQUIRED, "stride": 1, "padding": (0, 0)},
    schedule=ROW_WINDOWS,
)
def row_windows(call: Call, data: te.Tensor) -> te.Tensor:
    """``(n, c, h, w)`` padded, as ``(n, 1, h', w', 32)``: element ``c * 8 + k`` at column ``x`` is the one of
    channel ``c`` at column ``x * stride + k``, for ``k`` less than ``width``; all others are 0."""
    (top, left), (bottom, right) = windows.padding_of(call, 2)
    channels, height, width = data.shape[1:]

    def element(n: Any, _: Any, y: Any, x: Any, lane: Any) -> e.Expr:
        channel, place = lane // POSITIONS, lane % POSITIONS
        row, column = y - top, x * call["stride"] + place - left
        needed = [place < call["width"], channel < channels]
        needed += [row >= 0, row < height] if top or bottom else []
        needed += [column >= 0, column < width] if left or right else []
        read = data[(n, channel, row, column)]
        return e.Call("if_then_else", (e.all_of(needed), read, e.const(0, data.dtype)), data.dtype)

    return te.compute(_shape(call, data.shape), element, name="strips", tag="strips")


@template("blocked_conv", ROW_WINDOWS)
def arrange_row_windows(group: Group) -> None:
    """Copy eight neighbours, which are contiguous in the data, as one vector: one row window of a channel."""
    group.inline_all_but(())
    for tensor in group.outputs:
        stage, axes = group.stage(tensor), group.axes(tensor)
        in_registers(stage, *several_vectors(stage, axes[-1], ROW_WINDOW))
        rows = stage.fuse(*axes[:-2])
        share(stage, rows, threads_for(group.target, work_of(group.formula(tensor))), "a row")
