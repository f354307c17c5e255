"""Tensors written by user-defined loop nests (``te.extern``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Operation, Shape, Tensor, extent_of


@dataclass(frozen=True, eq=False)
class ExternOp(Operation):
    """Tensors written by a user-defined loop nest.

    ``body`` is a ``loop.ir`` statement over ``input_buffers`` and ``output_buffers``, which represent
    ``input_tensors`` and the outputs. The stage has no axes to schedule.
    """

    input_tensors: tuple[Tensor, ...]
    input_buffers: tuple[Any, ...]
    output_buffers: tuple[Any, ...]
    body: Any
    tag: str = ""
    attrs: tuple[tuple[str, Any], ...] = ()
    span: Span | None = None

    kind: ClassVar[str] = "extern"
    takes_inputs: ClassVar[str] = "read by the extern stage"

    @property
    def num_outputs(self) -> int:
        """The number of buffers that the body writes."""
        return len(self.output_buffers)

    def with_inputs(self, replacements: Mapping[Tensor, Tensor]) -> Operation:
        """The operation with inputs replaced as ``replacements`` says; the body keeps its buffers."""
        return replace(self, input_tensors=tuple(replacements.get(x, x) for x in self.input_tensors))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors, each once."""
        return tuple(dict.fromkeys(self.input_tensors))

    def output_shape(self, index: int) -> Shape:
        """The extents of output buffer ``index``."""
        return tuple(extent_of(_as_given(n)) for n in self.output_buffers[index].shape)

    def output_dtype(self, index: int) -> str:
        """The dtype of output buffer ``index``."""
        return self.output_buffers[index].dtype


def _as_given(extent: e.Expr) -> e.Expr:
    """An extent of a buffer as the user wrote it, before its conversion to an index."""
    return extent.value if isinstance(extent, e.Cast) and extent.dtype == e.INDEX else extent
