"""Convolutions of small images: all pixels at once, evenly spaced, where rows would not fill a register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import Shape
from tvmlite.relay.ops import windows
from tvmlite.te import expr as e
from tvmlite.techniques.common import amx

WIDE_BLOCK = amx.KINDS["bfloat16"].depth
"""The channels in a block for which small images are taken whole (``Wide``): what AMX's tiles multiply."""

NARROW = 12
"""Rows of an image that are shorter than this leave a third of a tile register's 16 empty."""

MOST_WIDE = 64
"""The pixels that four registers hold."""


@dataclass(frozen=True)
class Wide:
    """The pixels of a small image of ``shape``, and between its rows some that nobody wants: ``row`` from one
    row to the next. So all pixels of data that a place of the window reads stand evenly spaced, and fill
    registers that rows of the image would not. Data has ``rows`` of them in each of its ``phases``.
    """

    shape: tuple[int, int]
    row: int
    rows: int
    phases: tuple[int, int]

    @property
    def count(self) -> int:
        """All pixels, up to the last that is wanted."""
        return (self.shape[0] - 1) * self.row + self.shape[1]

    def positions(
        self, pixel: Any, taps: Sequence[Any], strides: Sequence[int], dilation: Sequence[int]
    ) -> list[Any]:
        """Where, in the phases of data, ``pixel`` of the place ``taps`` of the window reads."""
        (y, x), (down, along) = (tap * d for tap, d in zip(taps, dilation, strict=True)), strides
        at = pixel + y // down * self.row + x // along
        return [y % down, x % along, at // self.row, at % self.row]


def wide(call: Call, kernel: Sequence[Any], shape: Shape) -> Wide | None:
    """How a convolution of channels in blocks of 32 pairs takes the pixels of a small image, all at once."""
    if windows.block_of(call, "data_layout", len(kernel)) != WIDE_BLOCK:
        return None
    known = all(isinstance(n, int) for n in (*shape, *kernel))
    if len(kernel) != 2 or not known or call["groups"] != 1:
        return None
    height, width = shape
    last = [
        ((k - 1) * d, s)
        for k, d, s in zip(
            kernel, windows.spatial(call, "dilation", 2), windows.spatial(call, "strides", 2), strict=True
        )
    ]
    (rows, row), phases = (
        [n + far // s for n, (far, s) in zip(shape, last, strict=True)],
        tuple(min(s, far + 1) for far, s in last),
    )
    made = Wide((height, width), row, rows, phases)  # type: ignore[arg-type]
    return made if width < NARROW and made.count <= MOST_WIDE else None


def phases(call: Call, data: te.Tensor, found: Wide) -> te.Tensor:
    """``data`` padded, every so many-th pixel together: ``(n, c, y % stride, x % stride, y / stride..)``."""
    (top, left), _ = windows.padding_of(call, 2)
    down, along = windows.spatial(call, "strides", 2)
    height, width = data.shape[2:4]

    def element(n: Any, c: Any, py: Any, px: Any, y: Any, x: Any, lane: Any) -> e.Expr:
        row, column = y * down + py - top, x * along + px - left
        inside = e.all_of([row >= 0, row < height, column >= 0, column < width])
        read = data[(n, c, row, column, lane)]
        return e.Call("if_then_else", (inside, read, e.const(0, data.dtype)), data.dtype)

    shape = (*data.shape[:2], *found.phases, found.rows, found.row, data.shape[-1])
    return te.compute(shape, element, name="phases", tag="pad")
