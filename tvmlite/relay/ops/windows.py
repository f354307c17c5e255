"""The geometry of sliding windows, shared by convolutions and poolings: extents, padding, padded copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import Dim, Shape, TensorType, same_dim, show_shape
from tvmlite.relay.ops.common import fault
from tvmlite.te import expr as e

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
"""Data layouts by number of spatial axes."""


def spatial_attr(call: Call, name: str, rank: int) -> tuple[Any, ...]:
    """Return the attribute ``name`` with one value per spatial axis; a single value applies to all axes."""
    value = call[name]
    values = value if isinstance(value, tuple) else (value,) * rank
    if len(values) == 1 and rank > 1:
        values = values * rank
    if len(values) != rank:
        raise fault(call, f"{name} is {value}, expected {rank} values")
    if any(isinstance(v, int) and v < 1 for v in values):
        raise fault(call, f"{name} is {value}, expected at least 1")
    return values


def padding_of(call: Call, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the begins and ends in ``padding``, which is one value, one per axis, or begins then ends."""
    value = call["padding"]
    values = value if isinstance(value, tuple) else (value,)
    if len(values) == 1:
        values = values * (2 * rank)
    elif len(values) == rank:
        values = values * 2
    if len(values) != 2 * rank:
        raise fault(call, f"padding is {value}, expected {2 * rank} values")
    return values[:rank], values[rank:]


@dataclass(frozen=True)
class Geometry:
    """The windows of a call: extents, strides and dilation by axis, and the padding before and after."""

    kernel: tuple[Any, ...]
    strides: tuple[Any, ...]
    dilation: tuple[Any, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    def extents(self, sizes: Sequence[Dim], ceil: bool = False, inside: bool = False) -> Shape:
        """Return the number of windows along axes of ``sizes``.

        With ``ceil`` the last may exceed the end; if ``inside``, none begins in the padding there.
        """
        axes = zip(sizes, self.kernel, self.strides, self.dilation, self.begins, self.ends, strict=True)
        if ceil:
            return tuple(ceil_window_extent(*axis, inside=inside) for axis in axes)
        return tuple(window_extent(*axis) for axis in axes)

    def positions(self, at: Iterable[Any], taps: Iterable[Any]) -> list[Any]:
        """Return where the elements ``taps`` of the windows ``at`` are in the padded data."""
        axes = zip(at, taps, self.strides, self.dilation, strict=True)
        return [y * s + k * d for y, k, s, d in axes]

    def taps(self) -> Iterator[tuple[tuple[int, ...], list[int]]]:
        """Yield each element of a window, and its offset from the window's beginning."""
        for tap in product(*map(range, as_ints(self.kernel))):
            yield tap, [k * d for k, d in zip(tap, self.dilation, strict=True)]

    def covered_extents(self, count: Sequence[Any]) -> list[Any]:
        """Return the extents that ``count`` windows cover."""
        axes = zip(count, self.kernel, self.strides, self.dilation, strict=True)
        return [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in axes]


def geometry(call: Call, kernel: str | Sequence[Dim], rank: int) -> Geometry:
    """Return the geometry of ``call`` on ``rank`` axes; ``kernel`` is extents, or an attribute with them."""
    extents = spatial_attr(call, kernel, rank) if isinstance(kernel, str) else tuple(kernel)
    strides, dilation = spatial_attr(call, "strides", rank), spatial_attr(call, "dilation", rank)
    return Geometry(extents, strides, dilation, *padding_of(call, rank))


def check_layout(call: Call, attribute: str, rank: int) -> None:
    """Raise an UnsupportedError for data layouts other than channels-first."""
    if call[attribute] != LAYOUTS[rank]:
        raise UnsupportedError(
            f"{call.op}: {attribute} {call[attribute]!r} is not supported; supported is {LAYOUTS[rank]!r}",
            call.span,
        )


def channel_block(call: Call, attribute: str, rank: int) -> int:
    """Return the block of channels of a data layout (``NCHW16c``: 16), 0 for channels-first without blocks.

    Any other layout raises an UnsupportedError.
    """
    plain, name = LAYOUTS[rank], call[attribute]
    if name == plain:
        return 0
    found = re.fullmatch(plain + r"([1-9]\d*)c", name)
    if found is None:
        raise UnsupportedError(
            f"{call.op}: {attribute} {name!r} is not supported; supported are {plain!r} and '{plain}16c'",
            call.span,
        )
    return int(found[1])


def check_data(call: Call, data: TensorType, attribute: str, rank: int) -> int:
    """Raise a type error unless data have the axes of their layout; return ``channel_block``."""
    block = channel_block(call, attribute, rank)
    check_rank(call, "data", data, rank + 2 + (block > 0))
    if block and not same_dim(data.shape[-1], block):
        raise fault(
            call,
            f"data is {show_shape(data.shape)}, {attribute} is {call[attribute]!r}: "
            f"the last axis is not a block of {block}",
        )
    return block


def check_rank(call: Call, what: str, given: TensorType, rank: int) -> None:
    """Raise a type error unless an argument has ``rank`` axes."""
    if given.ndim != rank:
        raise fault(call, f"{what} is {show_shape(given.shape)}, expected {rank} axes")


def window_extent(size: Dim, kernel: Dim, stride: int, dilation: int, begin: int, end: int) -> Dim:
    """Return the number of windows that fit along an axis."""
    return (size + (begin + end - 1) - (kernel - 1) * dilation) // stride + 1


def ceil_window_extent(
    size: Dim, kernel: int, stride: int, dilation: int, begin: int, end: int, *, inside: bool
) -> Dim:
    """Return the number of windows that start along an axis if the last may exceed the end.

    If ``inside``, none may start in the padding at the end, as in PyTorch and ONNX. TVM has no such rule.
    """
    fitting = (size + (begin + end - 1 + stride - 1) - (kernel - 1) * dilation) // stride
    if not inside:
        return fitting + 1
    starting = (size + (begin - 1)) // stride
    if isinstance(fitting, int) and isinstance(starting, int):
        return min(fitting, starting) + 1
    return e.Min(*e.match(fitting, starting)) + 1


def as_ints(extents: Sequence[Dim]) -> list[int]:
    """Return ``extents``, which must be numbers; for references and for kernels."""
    assert all(isinstance(n, int) for n in extents), "an extent is symbolic"
    return [n for n in extents if isinstance(n, int)]


def check_extents(call: Call, shape: Sequence[Dim], data: TensorType) -> None:
    """Raise a type error if the windows do not fit into the padded data."""
    if any(isinstance(d, int) and d < 1 for d in shape):
        raise fault(
            call,
            f"the window does not fit into data {show_shape(data.shape)}: "
            f"the output would be {show_shape(shape)}",
        )


def padded(
    data: te.Tensor,
    begins: Sequence[int],
    ends: Sequence[int],
    value: float | int | e.Expr,
    name: str = "pad",
    trailing: int = 0,
) -> te.Tensor:
    """Pad the last axes of ``data``, but for ``trailing`` ones, with ``value``, if there is padding at all.

    The copy is a separate stage, tagged ``pad``: whether it is made or inlined is the schedule's choice.
    """
    if not any(begins) and not any(ends):
        return data
    lead = data.ndim - len(begins) - trailing
    spatial_extents = data.shape[lead : lead + len(begins)]
    extents = tuple(d + (b + f) for d, b, f in zip(spatial_extents, begins, ends, strict=True))

    def element(*i: Any) -> e.Expr:
        index, inside = list(i), []
        for axis, (begin, end) in enumerate(zip(begins, ends, strict=True), start=lead):
            index[axis] = i[axis] - begin if begin else i[axis]
            if begin > 0:
                inside.append(i[axis] >= begin)
            if end > 0:
                inside.append(i[axis] < data.shape[axis] + begin)
        read = data[tuple(index)]
        if not inside:
            return read
        return e.Call("if_then_else", (e.all_of(inside), read, e.convert(value, data.dtype)), data.dtype)

    trailing_extents = data.shape[lead + len(begins) :]
    return te.compute((*data.shape[:lead], *extents, *trailing_extents), element, name=name, tag="pad")


def padded_numpy(
    data: np.ndarray, begins: Sequence[int], ends: Sequence[int], value: Any, trailing: int = 0
) -> np.ndarray:
    """``padded`` in numpy; negative padding crops."""
    none = [(0, 0)]
    widths = none * (data.ndim - len(begins) - trailing) + [*zip(begins, ends, strict=True)] + none * trailing
    wider = np.pad(data, [(max(b, 0), max(f, 0)) for b, f in widths], constant_values=value)
    return wider[
        tuple(slice(max(-b, 0), n - max(-f, 0)) for n, (b, f) in zip(wider.shape, widths, strict=True))
    ]


def strided_windows(
    data: np.ndarray,
    position: Sequence[int],
    extents: Sequence[int],
    strides: Sequence[int],
    trailing: int = 0,
) -> np.ndarray:
    """Return a view of the elements of padded ``data`` at one ``position`` of every window.

    The windows are along the last axes, but for ``trailing`` ones.
    """
    lead = (slice(None),) * (data.ndim - len(position) - trailing)
    window = (slice(p, p + (n - 1) * s + 1, s) for p, n, s in zip(position, extents, strides, strict=True))
    return data[(*lead, *window)]
