"""``tvm.tir.decl_buffer`` with TVM's parameters, and the attributes and methods of TVM's buffers."""

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
    """A buffer's memory scope: the string is tvmlite's name, and calling it (``buffer.scope()``) returns
    TVM's."""

    memory: str

    def __new__(cls, ours: str, memory: str = "global") -> MemoryScope:
        """The scope named ``ours`` in tvmlite and ``memory`` in TVM."""
        made = super().__new__(cls, ours)
        made.memory = memory
        return made

    def __call__(self) -> str:
        """Return TVM's name of the scope."""
        return self.memory


@dataclass(frozen=True, eq=False)
class TvmBuffer(DeclaredBuffer):
    """A declared buffer. ``pointer`` is TVM's variable for its address, or the buffer itself if none was
    given."""

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
        """Return the address of the element at ``offset``, with TVM's arguments; see ``te.decl_buffer``.
        ``extent`` is the number of elements accessed, by default all from ``offset`` on."""
        meaning = BufferAccess.access_ptr(self, access_mask, ptr_type, content_lanes, plain(offset))
        start = 0 if offset is None else offset
        if extent is None:
            whole = self.strides[0] * self.shape[0] if self.strides else product(self.shape)
            extent = whole if e.is_const(start, 0) else whole - start
        mask = access_mask if isinstance(access_mask, int) else MASKS[access_mask]
        return access_ptr(self, meaning, mask, start, e.convert(extent))

    def __getitem__(self, indices: Any) -> ir.Load:
        """Load the element at ``indices``, one index per axis."""
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.shape) or any(isinstance(one, slice) for one in given):
            raise TensorExpressionError(
                f"buffer {self.name!r} has {len(self.shape)} axes, indexed with {indices!r}", Span.of_caller()
            )
        return BufferLoad(self, list(given))

    def get_flattened_buffer(self) -> TvmBuffer:
        """Return the buffer flattened to one axis, or itself if it has one axis already."""
        if self.strides:
            raise UnsupportedError("get_flattened_buffer: the buffer has strides", Span.of_caller())
        return self if len(self.shape) == 1 else replace(self, shape=(simplify(product(self.shape)),))


def product(extents: Sequence[Any]) -> e.Expr:
    """The product of ``extents``; 1 if there are none."""
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
    """Declare a buffer, or the layout that a tensor intrinsic requires of one; see ``te.decl_buffer``.
    ``data`` is the variable for its address. No memory is allocated: it is passed when the code runs."""
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
    """Methods of TVM's buffers that are added to ``tvmlite.te``'s."""

    def offset_of(self: Any, indices: Any) -> list[e.Expr]:
        """Return the offset in elements of the element at ``indices``, as a list of one expression."""
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
