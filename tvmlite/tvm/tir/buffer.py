"""``tvm.tir.decl_buffer``, with TVM's parameters in their order, and what TVM knows of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify
from tvmlite.te.extensions import extend
from tvmlite.te.loop import ir
from tvmlite.te.loop.buffer_access import MASKS, BufferAccess
from tvmlite.te.loop.ir import Buffer as Buffer
from tvmlite.te.schedule.tensor_intrin import DeclaredBuffer
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.marks import mark, with_marked_constants
from tvmlite.tvm.runtime.convert import long_dtype
from tvmlite.tvm.tir.calls import access_ptr
from tvmlite.tvm.tir.nodes import BufferLoad
from tvmlite.tvm.tir.types import PointerVar
from tvmlite.tvm.written import WrittenCall, plain

BROADCAST = "auto_broadcast"


class MemoryScope(str):
    """Where a buffer is, in our word; called it gives TVM's: ``buffer.scope()``."""

    memory: str

    def __new__(cls, ours: str, memory: str = "global") -> MemoryScope:
        """``ours``, which is ``memory`` in TVM."""
        made = super().__new__(cls, ours)
        made.memory = memory
        return made

    def __call__(self) -> str:
        """TVM's word."""
        return self.memory


@dataclass(frozen=True, eq=False)
class TvmBuffer(DeclaredBuffer):
    """A declared buffer, with the variable that TVM has for its address, if it was given."""

    pointer: Any = None
    buffer_type: str = ""
    memory: str = "global"

    def __post_init__(self) -> None:
        if self.pointer is None:
            object.__setattr__(self, "pointer", self)

    def access_ptr(
        self,
        access_mask: Any = "rw",
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> WrittenCall:
        """The address of an element, with TVM's arguments: see ``te.decl_buffer``. ``extent`` is by default
        all that follows ``offset``."""
        meaning = BufferAccess.access_ptr(self, access_mask, ptr_type, content_lanes, plain(offset))
        start = 0 if offset is None else offset
        if extent is None:
            whole = self.strides[0] * self.shape[0] if self.strides else product(self.shape)
            extent = whole if e.is_const(start, 0) else whole - start
        mask = access_mask if isinstance(access_mask, int) else MASKS[access_mask]
        return access_ptr(self, meaning, mask, start, e.convert(extent))

    def __getitem__(self, indices: Any) -> ir.Load:
        """The element at ``indices``, an index or one an axis."""
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.shape) or any(isinstance(one, slice) for one in given):
            raise TensorExpressionError(
                f"buffer {self.name!r} has {len(self.shape)} axes, indexed with {indices!r}", Span.of_caller()
            )
        return BufferLoad(self, list(given))

    def get_flattened_buffer(self) -> TvmBuffer:
        """The same memory with one axis; itself if it has one."""
        if self.strides:
            raise UnsupportedError("get_flattened_buffer: the buffer has strides", Span.of_caller())
        return self if len(self.shape) == 1 else replace(self, shape=(simplify(product(self.shape)),))


def product(extents: Sequence[Any]) -> e.Expr:
    """The product of ``extents``, of none 1."""
    found: e.Expr = e.const(1)
    for k, one in enumerate(extents):
        found = found * one if k else one
    return found


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
        "float32" if dtype is None else long_dtype(dtype),
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
    for one in given["shape"]:
        with_marked_constants(one)
    given["scope"] = MemoryScope(made.scope, scope or "global")
    return mark(TvmBuffer(**given, pointer=data, buffer_type=buffer_type, memory=scope or "global"))


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
