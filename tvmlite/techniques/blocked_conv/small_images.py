"""Convolutions of small images in tile registers: all pixels at once, as rows would not fill a register."""

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

SMALL_IMAGE_BLOCK = amx.KINDS["bfloat16"].depth
"""The block of channels with which small images are processed whole (``SmallImage``): that of AMX's tiles."""

NARROW_WIDTH = 12
"""Images whose rows are shorter than this leave a third of a tile register's 16 rows empty."""

MOST_PIXELS = 64
"""The number of pixels in four tile registers."""


@dataclass(frozen=True)
class SmallImage:
    """The pixels of a small image of ``shape``, with unused pixels between its rows: ``row`` is the stride of
    rows. All pixels of data that one position of the window reads then have one stride, and fill registers
    that rows of the image would not. Each of the ``phases`` of data has ``rows`` such rows.
    """

    shape: tuple[int, int]
    row: int
    rows: int
    phases: tuple[int, int]

    @property
    def count(self) -> int:
        """The number of pixels up to the last used one."""
        return (self.shape[0] - 1) * self.row + self.shape[1]

    def positions(
        self, pixel: Any, taps: Sequence[Any], strides: Sequence[int], dilation: Sequence[int]
    ) -> list[Any]:
        """The index into the phases of data that ``pixel`` reads for the position ``taps`` of the window."""
        (y, x), (down, along) = (tap * d for tap, d in zip(taps, dilation, strict=True)), strides
        at = pixel + y // down * self.row + x // along
        return [y % down, x % along, at // self.row, at % self.row]


def small_image(call: Call, kernel: Sequence[Any], shape: Shape) -> SmallImage | None:
    """How a convolution on blocks of ``SMALL_IMAGE_BLOCK`` channels processes a small image whole; None if it
    does not."""
    if windows.channel_block(call, "data_layout", len(kernel)) != SMALL_IMAGE_BLOCK:
        return None
    known = all(isinstance(n, int) for n in (*shape, *kernel))
    if len(kernel) != 2 or not known or call["groups"] != 1:
        return None
    height, width = shape
    last = [
        ((k - 1) * d, s)
        for k, d, s in zip(
            kernel,
            windows.spatial_attr(call, "dilation", 2),
            windows.spatial_attr(call, "strides", 2),
            strict=True,
        )
    ]
    (rows, row), phases = (
        [n + far // s for n, (far, s) in zip(shape, last, strict=True)],
        tuple(min(s, far + 1) for far, s in last),
    )
    made = SmallImage((height, width), row, rows, phases)  # type: ignore[arg-type]
    return made if width < NARROW_WIDTH and made.count <= MOST_PIXELS else None


def phases(call: Call, data: te.Tensor, image: SmallImage) -> te.Tensor:
    """``data`` padded, in phases: ``(n, c, y % stride, x % stride, y / stride, x / stride, lane)``."""
    (top, left), _ = windows.padding_of(call, 2)
    down, along = windows.spatial_attr(call, "strides", 2)
    height, width = data.shape[2:4]

    def element(n: Any, c: Any, py: Any, px: Any, y: Any, x: Any, lane: Any) -> e.Expr:
        row, column = y * down + py - top, x * along + px - left
        inside = e.all_of([row >= 0, row < height, column >= 0, column < width])
        read = data[(n, c, row, column, lane)]
        return e.Call("if_then_else", (inside, read, e.const(0, data.dtype)), data.dtype)

    shape = (*data.shape[:2], *image.phases, image.rows, image.row, data.shape[-1])
    return te.compute(shape, element, name="phases", tag="pad")
