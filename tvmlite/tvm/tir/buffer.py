"""``tvm.tir.decl_buffer``, with TVM's parameters in their order, and what TVM knows of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify
from tvmlite.te.extensions import extend
from tvmlite.te.loop import ir
from tvmlite.te.loop.ir import Buffer as Buffer
from tvmlite.te.schedule.tensor_intrin import DeclaredBuffer
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.tir.types import PointerVar

BROADCAST = "auto_broadcast"


@dataclass(frozen=True, eq=False)
class TvmBuffer(DeclaredBuffer):
    """A declared buffer, with the variable that TVM has for its address, if it was given."""

    pointer: Any = None
    buffer_type: str = ""

    def __post_init__(self) -> None:
        if self.pointer is None:
            object.__setattr__(self, "pointer", self)


def decl_buffer(
    shape: Sequence[Any],
    dtype: str | None = None,
    name: str = "buffer",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: Any = None,
) -> Any:
    """A buffer, or what a tensor intrinsic asks of one: see ``te.decl_buffer``. ``data`` is the variable that
    stands for its address; memory is given when the code runs."""
    if axis_separators is not None and len(axis_separators):
        raise UnsupportedError("decl_buffer: axis_separators= is not supported", Span.of_caller())
    if data is not None:
        arguments.instance("decl_buffer: data", data, PointerVar, "a te.var of a tvm.ir.PointerType")
    if buffer_type not in ("", "default", BROADCAST):
        raise arguments.refused("decl_buffer: buffer_type", buffer_type, f'"" or "{BROADCAST}"')
    offset = elem_offset if isinstance(elem_offset, e.Var) else None
    if elem_offset is not None and offset is None and not e.is_const(elem_offset, 0):
        raise UnsupportedError(
            "decl_buffer: elem_offset is a te.var, or left out",
            Span.of_caller(),
            hint="add the offset to the indices",
        )
    made = te.decl_buffer(
        shape,
        "float32" if dtype is None else dtype,
        name,
        strides or None,
        offset,
        max(1, offset_factor),
        max(0, data_alignment),
        scope,
    )
    given = {one.name: getattr(made, one.name) for one in fields(made)}
    extents = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    given["shape"] = tuple(e.convert(n) for n in extents)  # in the dtypes they were given in
    return TvmBuffer(**given, pointer=data, buffer_type=buffer_type)


class BufferNames:
    """Methods that TVM's buffers have."""

    def offset_of(self: Any, indices: Any) -> list[e.Expr]:
        """How many elements before the one at ``indices`` there are."""
        given = indices if isinstance(indices, (list, tuple)) else [indices]
        if len(given) != len(self.shape):
            raise TensorExpressionError(
                f"offset_of: buffer {self.name!r} has {len(self.shape)} axes, given {len(given)} indices",
                Span.of_caller(),
            )
        offset: e.Expr = e.const(0)
        for k, index in enumerate(given):
            place = e.scalar("offset_of: an index", index)
            offset = offset + place * self.strides[k] if self.strides else offset * self.shape[k] + place
        return [simplify(offset)]


extend(ir.Buffer, BufferNames)

__getattr__ = refusing(__name__)
