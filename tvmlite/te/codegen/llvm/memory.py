"""Generation of loads and stores: of one element, of contiguous vectors, of one element for all lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.text import HALVES, Writer, literal, register_type, vector
from tvmlite.te.extensions import extension
from tvmlite.te.loop.ir import Buffer

if TYPE_CHECKING:
    from tvmlite.te.codegen.llvm.expr import Expressions


class Place(NamedTuple):
    """The elements of an access: ``index`` is the flat index of lane 0 (of every lane, if ``stride`` is None)
    minus ``offset``; it is empty for 0.

    ``own``: all lanes, including masked ones, are elements of a buffer on the stack. ``pointer`` itself
    points into the buffer only if ``inbounds`` is set. If the i1 ``holds`` is false, so is the whole mask,
    and the address may be invalid; then the load is from the address ``elsewhere``.
    """

    buffer: Buffer
    pointer: str
    index: str
    index_type: str
    lanes: int
    stride: int | None = 1
    own: bool = False
    offset: int = 0
    inbounds: bool = True
    mask: str | None = None
    holds: str = ""
    elsewhere: str = ""

    @property
    def alignment(self) -> int:
        """The guaranteed alignment of the access in bytes: that of one element."""
        return dtypes.bytes_of(self.buffer.dtype)

    @property
    def is_plain(self) -> bool:
        """Whether the access is unmasked and of one element, or of contiguous ones that can be one vector."""
        if self.mask is not None:
            return False
        in_parts = self.own and self.lanes & (self.lanes - 1)
        return self.lanes == 1 or (self.stride == 1 and not in_parts)


def place(values: Expressions, buffer: Buffer, index: e.Expr) -> Place:
    """The place of ``buffer[index]``: a pointer plus a constant number of elements, if possible."""
    pointer, lanes, stride, base = values.pointer_of(buffer), index.lanes, 1, index
    match index:
        case e.Ramp(first, e.Const(step)):
            stride, base = int(step), first
        case e.Broadcast(inner):
            stride, base = 0, inner
        case e.Const(number) if lanes > 1:
            stride, base = 0, e.Const(number, index.dtype)
        case _ if lanes > 1:
            type_ = register_type(index.dtype, lanes)
            return Place(buffer, pointer, values.value(index), type_, lanes, None)
    own = stride == 1 and _holds(buffer, base, lanes)
    if isinstance(base, e.Const):
        return Place(buffer, pointer, "", "i64", lanes, stride, own, int(base.value))
    found = values.base_and_offset(pointer, memory_type(values.w, buffer.dtype), base)
    if found is not None:
        return Place(buffer, found[0], "", "i64", lanes, stride, own, found[1], inbounds=False)
    return Place(buffer, pointer, values.value(base), register_type(base.dtype), lanes, stride, own)


def _holds(buffer: Buffer, first: e.Expr, lanes: int) -> bool:
    """Whether ``buffer`` is on the stack and provably contains ``lanes`` elements starting at ``first``."""
    if buffer.scope != "local" or len(buffer.shape) != 1 or not isinstance(first, e.Const):
        return False
    (extent,) = buffer.shape
    return isinstance(extent, e.Const) and first.value >= 0 and first.value + lanes <= extent.value


def load(w: Writer, where: Place) -> str:
    """The register value of the elements at ``where``; 0 in lanes where the mask is false."""
    if where.stride == 0 and where.mask is None and where.lanes > 1:
        one = load(w, where._replace(lanes=1))
        return w.splat(register_type(where.buffer.dtype), one, where.lanes)
    if not where.is_plain:
        return extension("llvm.vector_memory").load(w, where)
    type_ = memory_type(w, where.buffer.dtype, where.lanes)
    loaded = w.emit(f"load {type_}, ptr {address(w, where)}, align {where.alignment}")
    return from_memory(w, loaded, where.buffer.dtype, where.lanes)


def store(w: Writer, where: Place, value: str) -> None:
    """Store the register value at ``where``, except where the mask is false; later lanes win."""
    if not where.is_plain:
        extension("llvm.vector_memory").store(w, where, value)
        return
    dtype, lanes = where.buffer.dtype, where.lanes
    raw = to_memory(w, value, dtype, lanes)
    at = address(w, where)
    w.do(f"store {memory_type(w, dtype, lanes)} {raw}, ptr {at}, align {where.alignment}")


def address(w: Writer, where: Place, offset: int = 0, inside: bool = True) -> str:
    """The address of lane 0's element plus ``offset`` elements; ``inside``: it is inside the buffer."""
    element, index = memory_type(w, where.buffer.dtype), where.index
    inbounds = "inbounds " if inside and where.inbounds else ""
    offset += where.offset
    if not index and not offset:
        return where.pointer
    if not index:
        index = str(offset)
    elif offset:
        index = w.emit(f"add {where.index_type} {index}, {offset}")
    return w.emit(f"getelementptr {inbounds}{element}, ptr {where.pointer}, {where.index_type} {index}")


def memory_type(w: Writer, dtype: str, lanes: int = 1) -> str:
    """The LLVM type of elements in memory: a bool takes one byte, a half two."""
    if dtype == "bool":
        return vector("i8", lanes)
    if dtype in HALVES:
        return extension("llvm.halves").memory_type(w, dtype, lanes)
    return register_type(dtype, lanes)


def from_memory(w: Writer, value: str, dtype: str, lanes: int) -> str:
    """The register value of a loaded ``value``."""
    if dtype == "bool":
        return w.emit(f"icmp ne {vector('i8', lanes)} {value}, {literal(0, 'int8', lanes)}")
    return extension("llvm.halves").from_memory(w, value, dtype, lanes) if dtype in HALVES else value


def to_memory(w: Writer, value: str, dtype: str, lanes: int) -> str:
    """The value to store for the register value ``value``."""
    if dtype == "bool":
        return w.emit(f"zext {vector('i1', lanes)} {value} to {vector('i8', lanes)}")
    return extension("llvm.halves").to_memory(w, value, dtype, lanes) if dtype in HALVES else value
