"""Windows of tensors, written as slices: ``A[i, 0:16]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Extent, Tensor, extent_of


@dataclass(frozen=True, eq=False)
class TensorWindow:
    """The window of ``tensor`` from ``begins`` on with ``extents`` along its axes, None for an axis that was
    indexed and is removed. An argument of a tensor intrinsic's call."""

    tensor: Tensor
    begins: tuple[e.Expr, ...]
    extents: tuple[Extent | None, ...]

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The extents of the remaining axes."""
        return tuple(n for n in self.extents if n is not None)

    def __getitem__(self, indices: tuple[Any, ...]) -> e.Expr:
        """The element at ``indices`` of the window, one for each remaining axis."""
        rest = iter(indices)
        places = zip(self.begins, self.extents, strict=True)
        return self.tensor[tuple(b if n is None else b + next(rest) for b, n in places)]


def window(tensor: Tensor, indices: tuple[Any, ...]) -> TensorWindow:
    """The window of ``tensor`` selected by ``indices``, some of which are slices."""
    if len(indices) != tensor.ndim:
        raise TensorExpressionError(
            f"tensor {tensor.name!r} has {tensor.ndim} axes, sliced with {len(indices)}", Span.of_caller()
        )
    begins: list[e.Expr] = []
    extents: list[Extent | None] = []
    for index, whole in zip(indices, tensor.shape, strict=True):
        if not isinstance(index, slice):
            begins.append(e.scalar(f"an index of tensor {tensor.name!r}", index))
            extents.append(None)
            continue
        if index.step not in (None, 1):
            raise TensorExpressionError(
                f"tensor {tensor.name!r} is sliced in steps of {index.step}, expected steps of 1",
                Span.of_caller(),
            )
        begin = 0 if index.start is None else index.start
        end = whole if index.stop is None else index.stop
        begins.append(e.convert(begin))
        extents.append(extent_of(end - begin))
    return TensorWindow(tensor, tuple(begins), tuple(extents))
