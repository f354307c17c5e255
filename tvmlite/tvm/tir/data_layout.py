"""``tvm.tir.layout`` and ``bijective_layout``: data layouts by name, and the mapping between two layouts.

In ``"NCHW16c"``, a capital letter is a whole axis, or the outer part of a split one; a number and a small
letter are the inner part of the axis and its extent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify
from tvmlite.te.tensor.tensor import IterVar, Range
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.runtime.values import Extent

UNDEFINED = "__undef__"
"""The name of the unknown layout."""


@dataclass(frozen=True)
class Layout:
    """A data layout, written as ``name``. ``parts`` has for each axis its letter and its extent, which is -1
    for capital letters. ``dtype`` is that of indices."""

    name: str
    parts: tuple[tuple[str, int], ...]
    dtype: str = "int32"

    @property
    def axes(self) -> list[IterVar]:
        """The axes, as objects of ``IterVar``. The extents of those with capital letters are variables."""
        return [_axis(letter, size, self.dtype) for letter, size in self.parts]

    def __len__(self) -> int:
        return len(self.parts)

    def __contains__(self, axis: object) -> bool:
        return any(letter == axis for letter, _ in self.parts)

    def __getitem__(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise InputError(f"layout {self.name}: axis {index}, expected 0 to {len(self) - 1}")
        return self.parts[index][0]

    def __str__(self) -> str:
        return self.name

    def index_of(self, axis: str) -> int:
        """Return the position of the axis with the letter ``axis``, or -1."""
        letters = [letter for letter, _ in self.parts]
        return letters.index(axis) if axis in letters else -1

    def factor_of(self, axis: str) -> int:
        """Return the split factor of the axis ``axis``, a capital or small letter; -1 if it is not split."""
        sizes = [size for letter, size in self.parts if letter == axis.lower()]
        return sizes[0] if sizes else -1


@dataclass(frozen=True)
class BijectiveLayout:
    """The mapping of shapes and indices from ``src_layout`` to ``dst_layout`` and back."""

    src_layout: Layout
    dst_layout: Layout

    def forward_index(self, index: Sequence[Any]) -> list[e.Expr]:
        """Return the index in ``dst_layout`` of the element at ``index`` in ``src_layout``."""
        return _moved(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Sequence[Any]) -> list[e.Expr]:
        """Return the index in ``src_layout`` of the element at ``index`` in ``dst_layout``."""
        return _moved(self.dst_layout, self.src_layout, index)

    def forward_shape(self, shape: Sequence[Any]) -> list[Any]:
        """Return ``shape``, a shape in ``src_layout``, in ``dst_layout``."""
        return _reshaped(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Sequence[Any]) -> list[Any]:
        """Return ``shape``, a shape in ``dst_layout``, in ``src_layout``."""
        return _reshaped(self.dst_layout, self.src_layout, shape)


class IndexDtype(InputError, TypeError):
    """The error for a dtype of indices that is not an int dtype."""


def _axis(letter: str, size: int, dtype: str) -> IterVar:
    extent = e.const(size, dtype) if size > 0 else e.SizeVar(f"{letter}_shape", dtype)
    return IterVar(Range(e.const(0, dtype), extent), e.Var(letter, dtype), "data")


def layout(layout_str: str, dtype: str = "int32") -> Layout:
    """Return the layout written as ``layout_str``, such as ``"NCHW16c"``; raises an InputError if it is not a
    layout. ``dtype`` is that of indices, an int dtype."""
    if not (isinstance(dtype, str) and dtypes.is_known(dtype) and dtypes.is_int(dtype)):
        raise IndexDtype(f"layout: dtype {dtype!r}, expected an int's, such as int32", Span.of_caller())
    text = arguments.text("layout: layout_str", layout_str, InputError)
    if text == UNDEFINED:
        return Layout(text, (), dtype)
    found = re.findall(r"([A-Z])|(\d+)([a-z])", text)
    axes = tuple((capital, -1) if capital else (small, int(size)) for capital, size, small in found)
    letters = [letter for letter, _ in axes]
    whole = "".join(capital or size + small for capital, size, small in found)
    orphans = [one for one in letters if one.islower() and one.upper() not in letters]
    if whole != text or len(set(letters)) < len(letters) or orphans or any(size == 0 for _, size in axes):
        raise InputError(
            f"layout {text!r}: expected capitals, each once, and parts of them such as 16c", Span.of_caller()
        )
    return Layout(text, axes, dtype)


def bijective_layout(src_layout: Any, dst_layout: Any) -> BijectiveLayout | None:
    """Return the mapping between two layouts, or their names; None if their axes differ."""
    source, target = (one if isinstance(one, Layout) else layout(one) for one in (src_layout, dst_layout))
    capitals = [{letter for letter, size in one.parts if size < 0} for one in (source, target)]
    return BijectiveLayout(source, target) if capitals[0] and capitals[0] == capitals[1] else None


def _check(given: Layout, values: Sequence[Any], what: str) -> list[e.Expr]:
    listed = arguments.listed(f"layout {given.name}: {what}", values, "numbers", InputError)
    if len(listed) != len(given):
        raise InputError(
            f"layout {given.name} has {len(given)} axes, the {what} {len(listed)}", Span.of_caller()
        )
    return [e.scalar(f"layout {given.name}: {what}", one) for one in listed]


def _whole(given: Layout, values: list[e.Expr], letter: str, extents: bool) -> e.Expr:
    """The index, or with ``extents`` the extent, of the unsplit axis ``letter``."""
    value = values[given.index_of(letter)]
    size = given.factor_of(letter)
    if size < 0:
        return value
    return value * size if extents else value * size + values[given.index_of(letter.lower())]


def _moved(source: Layout, target: Layout, index: Sequence[Any]) -> list[e.Expr]:
    values = _check(source, index, "index")
    made = []
    for letter, size in target.parts:
        whole = _whole(source, values, letter.upper(), extents=False)
        by = target.factor_of(letter)
        made.append(simplify(whole if by < 0 else whole % by if size > 0 else whole // by))
    return made


def _reshaped(source: Layout, target: Layout, shape: Sequence[Any]) -> list[Any]:
    values = _check(source, shape, "shape")
    made: list[Any] = []
    for letter, size in target.parts:
        whole = _whole(source, values, letter.upper(), extents=True)
        by = target.factor_of(letter)
        extent = simplify(whole if by < 0 else (whole + (by - 1)) // by)
        known = size if size > 0 else extent.value if isinstance(extent, e.Const) else None
        made.append(extent if known is None else Extent(known))
    return made


__getattr__ = refusing(__name__)
