"""Data layouts by name, and the operator that converts a tensor to another layout.

A layout names each axis by a capital letter, outermost first: ``NCHW``. A number and a small letter stand for
blocks of an axis: in ``NCHW16c`` axis ``C`` counts blocks of 16 channels, and ``c`` the channels of a block.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import Dim, Shape, TensorType, normal_dim, same_dim, show_shape
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.relay.ops.windows import as_ints
from tvmlite.te import expr as e


@dataclass(frozen=True)
class Layout:
    """The axes of a layout, outermost first: capitals, and small letters for blocks of ``factors``."""

    name: str
    axes: str
    factors: Mapping[str, int]

    @property
    def whole(self) -> str:
        """The axes of the tensor without those of blocks."""
        return "".join(axis for axis in self.axes if axis.isupper())

    def factor(self, axis: str) -> int:
        """The number of elements along ``axis``, a capital, in a block; 0 if it has no blocks."""
        return self.factors.get(axis.lower(), 0)

    def extents(self, shape: Sequence[Dim]) -> dict[str, Dim]:
        """The extent of each whole axis of a tensor stored in ``shape``, including the padding of blocks."""
        given = dict(zip(self.axes, shape, strict=True))
        return {axis: normal_dim(given[axis] * (self.factor(axis) or 1)) for axis in self.whole}

    def shape(self, extents: Mapping[str, Dim]) -> Shape:
        """The shape of a tensor in this layout; blocks that are not full count as whole ones."""
        found: list[Dim] = []
        for axis in self.axes:
            factor = self.factor(axis)
            if axis.islower():
                found.append(self.factors[axis])
            else:
                found.append(
                    normal_dim((extents[axis] + (factor - 1)) // factor) if factor else extents[axis]
                )
        return tuple(found)

    def indices(self, whole: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the indices in this layout of the element with the indices ``whole``."""
        found: list[Any] = []
        for axis in self.axes:
            factor = self.factor(axis.upper())
            index = whole[axis.upper()]
            found.append(index % factor if axis.islower() else index // factor if factor else index)
        return tuple(found)


@cache
def layout(name: str) -> Layout:
    """Return the layout called ``name``; raise a TypeInferError if it is not a layout."""
    axes, factors = "", {}
    matched = re.fullmatch(r"(?:[A-Z]|[1-9]\d*[a-z])+", name)
    for capital, number, small in re.findall(r"([A-Z])|(\d+)([a-z])", name) if matched else ():
        axes += capital or small
        if small:
            factors[small] = int(number)
    if not axes or len(set(axes)) < len(axes) or not {x.upper() for x in factors} <= set(axes):
        raise TypeInferError(f"{name!r} is no layout; layouts look like 'NCHW' and 'NCHW16c'")
    return Layout(name, axes, factors)


def axes_of(name: str) -> str | None:
    """Return the axes of a tensor with the layout ``name``, without blocks; None if that is not a layout."""
    try:
        return layout(name).whole
    except TypeInferError:
        return None


def of_call(call: Call, attribute: str) -> Layout:
    """Return the layout that ``attribute`` names; a type error has the span of the call."""
    name = call[attribute]
    try:
        return layout(name)
    except (TypeInferError, TypeError):
        raise fault(
            call, f"{attribute} is {name!r}, no layout; layouts look like 'NCHW', 'NCHW16c'"
        ) from None


def _transform_type(call: Call, data: TensorType) -> TensorType:
    source, target = of_call(call, "src_layout"), of_call(call, "dst_layout")
    if sorted(source.whole) != sorted(target.whole):
        raise fault(
            call, f"src_layout is {source.name}, dst_layout is {target.name}: the layouts have different axes"
        )
    if data.ndim != len(source.axes):
        raise fault(
            call, f"data is {show_shape(data.shape)}, expected {len(source.axes)} axes, as {source.name} has"
        )
    for axis, extent in zip(source.axes, data.shape, strict=True):
        if axis.islower() and not same_dim(extent, source.factors[axis]):
            raise fault(
                call, f"data is {show_shape(data.shape)}, expected blocks of the extents in {source.name}"
            )
    return TensorType(target.shape(source.extents(data.shape)), data.dtype)


def _transform_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    source, target = layout(call["src_layout"]), layout(call["dst_layout"])
    whole = np.transpose(data, [source.axes.index(a) for axis in source.whole for a in _parts(source, axis)])
    extents = source.extents(data.shape)
    whole = whole.reshape(as_ints([extents[axis] for axis in source.whole]))
    whole = whole.transpose([source.whole.index(axis) for axis in target.whole])
    widths = [(0, -n % (target.factor(a) or 1)) for a, n in zip(target.whole, whole.shape, strict=True)]
    whole = np.pad(whole, widths) if any(more for _, more in widths) else whole
    parts = [part for axis in target.whole for part in _parts(target, axis)]
    shape = dict(zip(target.axes, target.shape(extents), strict=True))
    split = whole.reshape(as_ints([shape[part] for part in parts]))
    return split.transpose([parts.index(axis) for axis in target.axes])


def _parts(given: Layout, axis: str) -> list[str]:
    """Return the axes of ``given`` that make up the whole axis ``axis``."""
    return [axis, axis.lower()] if given.factor(axis) else [axis]


@injective(
    "layout_transform",
    infer=_transform_type,
    reference=_transform_numpy,
    attrs={"src_layout": REQUIRED, "dst_layout": REQUIRED},
)
def layout_transform(call: Call, i: Indices, data: te.Tensor) -> e.Expr:
    """``data`` in another layout of the same axes; blocks that are not full are padded with zeros."""
    source, target = layout(call["src_layout"]), layout(call["dst_layout"])
    extents = source.extents(data.shape)
    given = dict(zip(target.axes, i, strict=True))
    whole: dict[str, Any] = {}
    inside: list[e.Expr] = []
    for axis in target.whole:
        factor = target.factor(axis)
        whole[axis] = given[axis] * factor + given[axis.lower()] if factor else given[axis]
        if factor and not _divides(factor, extents[axis]):
            inside.append(whole[axis] < extents[axis])
    read = data[source.indices(whole)]
    if not inside:
        return read
    return e.Call("if_then_else", (e.all_of(inside), read, e.const(0, data.dtype)), data.dtype)


def _divides(factor: int, extent: Dim) -> bool:
    """Whether ``extent`` is provably a multiple of ``factor``."""
    if isinstance(extent, int):
        return math.gcd(factor, extent) == factor
    return same_dim(normal_dim(extent // factor * factor), extent)
