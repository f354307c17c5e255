"""Loads and stores as LLVM IR: whole vectors, masked ones, strided ones, and element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.cast import from_memory, memory_type, to_memory
from tvmlite.te.codegen.llvm.text import Writer, mangled, register_type, vector
from tvmlite.te.loop.ir import Buffer

_PAGE = 4096
"""Bytes: addresses that are no farther apart share what is computed of them."""

_WINDOWS = range(2, 5)
"""Strides that are loaded as that many whole vectors and shuffled."""


class Place(NamedTuple):
    """Where an access goes: ``index`` is the flat index of lane 0 (of every lane, if ``stride`` is None) less
    ``offset``; empty for 0.

    ``own`` says that all lanes, masked ones too, are elements of a buffer on our own stack. Only where
    ``inbounds`` is set does ``pointer`` itself point into the buffer. Where the i1 ``holds`` is false, so is
    the whole mask, and nothing is known of the address: then that of ``elsewhere`` is loaded from.
    """

    buffer: Buffer
    pointer: str
    index: str
    index_type: str
    lanes: int
    stride: int | None = 1
    mask: str | None = None
    own: bool = False
    offset: int = 0
    inbounds: bool = True
    holds: str = ""
    elsewhere: str = ""

    @property
    def alignment(self) -> int:
        return dtypes.bytes_of(self.buffer.dtype)


def place(
    buffer: Buffer,
    index: e.Expr,
    pointer: str,
    value: Callable[[e.Expr], str],
    mask: str | None,
    near: Callable[[str, str, e.Expr], tuple[str, int] | None],
    w: Writer,
) -> Place:
    """The place that ``buffer[index]`` is; ``value`` gives the values of expressions, ``near`` a pointer
    near an element and how far behind it that is, if it can."""
    lanes, stride, base = index.lanes, 1, index
    match index:
        case e.Ramp(first, e.Const(step)):
            stride, base = int(step), first
        case e.Broadcast(inner):
            stride, base = 0, inner
        case e.Const(number) if lanes > 1:
            stride, base = 0, e.Const(number, index.dtype)
        case _ if lanes > 1:
            return Place(buffer, pointer, value(index), register_type(index.dtype, lanes), lanes, None, mask)
    own = stride == 1 and _holds(buffer, base, lanes)
    if isinstance(base, e.Const):
        return Place(buffer, pointer, "", "i64", lanes, stride, mask, own, int(base.value))
    found = near(pointer, memory_type(w, buffer.dtype), base)
    if found is not None:
        return Place(buffer, found[0], "", "i64", lanes, stride, mask, own, found[1], inbounds=False)
    return Place(buffer, pointer, value(base), register_type(base.dtype), lanes, stride, mask, own)


def _holds(buffer: Buffer, first: e.Expr, lanes: int) -> bool:
    """Whether ``lanes`` elements from ``first`` on certainly lie in a buffer on the stack."""
    if buffer.scope != "local" or len(buffer.shape) != 1 or not isinstance(first, e.Const):
        return False
    (extent,) = buffer.shape
    return isinstance(extent, e.Const) and first.value >= 0 and first.value + lanes <= extent.value


def load(w: Writer, where: Place) -> str:
    """The value at work of the elements at ``where``; 0 where the mask is false."""
    if where.mask is not None:
        return _load_masked(w, where)
    if where.lanes == 1 or where.stride == 0:
        one = _load_whole(w, where, 0, 1)
        return w.splat(register_type(where.buffer.dtype), one, where.lanes)
    if where.stride == 1:
        return _load_whole(w, where, 0, where.lanes)
    if where.stride == -1:
        return _reversed(w, _load_whole(w, where, 1 - where.lanes, where.lanes), where)
    if where.stride is not None and _has_windows(where.stride, where.lanes):
        return _load_windows(w, where, where.stride)
    return _load_each(w, where)


def store(w: Writer, where: Place, value: str) -> None:
    """Store the value at work at ``where``, except where the mask is false; later lanes win."""
    dtype, lanes = where.buffer.dtype, where.lanes
    if where.stride == -1 and where.mask is None:
        value = _reversed(w, value, where)
    raw = to_memory(w, value, dtype, lanes)
    type_ = memory_type(w, dtype, lanes)
    if where.mask is not None:
        _store_masked(w, where, raw, type_)
    elif lanes == 1 or where.stride in (1, -1):
        _store_whole(w, where, 1 - lanes if where.stride == -1 else 0, raw, type_)
    else:
        element = memory_type(w, dtype)
        for lane in range(lanes):
            one = w.emit(f"extractelement {type_} {raw}, i64 {lane}")
            w.do(f"store {element} {one}, ptr {_lane_address(w, where, lane)}, align {where.alignment}")


def prefetch(w: Writer, where: Place, locality: int) -> None:
    """Ask for the cache line of the first element to be brought near: 3 is nearest, 1 farthest."""
    address = _address(w, where, 0, inside=False)
    target = w.module.declare("llvm.prefetch.p0", "void", "ptr, i32 immarg, i32 immarg, i32 immarg")
    w.do(f"call void {target}(ptr {address}, i32 0, i32 {locality}, i32 1)")


def address(w: Writer, where: Place) -> str:
    """A pointer to the first element."""
    return _address(w, where, 0)


def _address(w: Writer, where: Place, offset: int, inside: bool = True) -> str:
    """The element ``offset`` behind lane 0's; ``inside``: it is certainly one of the buffer's."""
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


def _lane_address(w: Writer, where: Place, lane: int) -> str:
    if where.stride is not None:
        return _address(w, where, where.stride * lane)
    scalar = where.index_type.split(" x ")[1].rstrip(">")
    index = w.emit(f"extractelement {where.index_type} {where.index}, i64 {lane}")
    element = memory_type(w, where.buffer.dtype)
    return w.emit(f"getelementptr inbounds {element}, ptr {where.pointer}, {scalar} {index}")


def _load_whole(w: Writer, where: Place, offset: int, lanes: int) -> str:
    return from_memory(w, _raw_whole(w, where, offset, lanes), where.buffer.dtype, lanes)


def _raw_whole(w: Writer, where: Place, offset: int, lanes: int) -> str:
    dtype, result = where.buffer.dtype, ""
    for first, count in _pieces(where, lanes):
        address = _address(w, where, offset + first)
        piece = w.emit(f"load {memory_type(w, dtype, count)}, ptr {address}, align {where.alignment}")
        if count == lanes:
            return piece
        result = _joined(w, memory_type(w, dtype), result, first, piece, count)
    return result


def _store_whole(w: Writer, where: Place, offset: int, raw: str, type_: str) -> None:
    dtype = where.buffer.dtype
    for first, count in _pieces(where, where.lanes):
        piece, piece_type = raw, memory_type(w, dtype, count)
        if count == 1 and where.lanes > 1:
            piece = w.emit(f"extractelement {type_} {raw}, i64 {first}")
        elif count < where.lanes:
            piece = _shuffle(w, type_, raw, "poison", list(range(first, first + count)))
        address = _address(w, where, offset + first)
        w.do(f"store {piece_type} {piece}, ptr {address}, align {where.alignment}")


def _pieces(where: Place, lanes: int) -> list[tuple[int, int]]:
    """First lane and lanes of the parts in which consecutive elements are accessed.

    On our own stack those are of powers of two: an array that LLVM 22 brings into registers as vectors of
    five, say, and that is also accessed element by element, is wrong in the fifth lane on AVX-512.
    """
    if not where.own:
        return [(0, lanes)]
    found, first = [], 0
    while first < lanes:
        count = 1 << ((lanes - first).bit_length() - 1)
        found.append((first, count))
        first += count
    return found


def _joined(w: Writer, element: str, front: str, first: int, piece: str, count: int) -> str:
    """The ``first`` elements of ``front``, and behind them the ``count`` of ``piece``."""
    if not first:
        return piece
    front_type, lanes = vector(element, first), first + count
    if count == 1:
        wide = _shuffle(w, front_type, front, "poison", [*range(first), -1])
        return w.emit(f"insertelement {vector(element, lanes)} {wide}, {element} {piece}, i64 {first}")
    padding = [-1] * (first - count)
    longer = _shuffle(w, vector(element, count), piece, "poison", [*range(count), *padding])
    return _shuffle(w, front_type, front, longer, list(range(lanes)))


def _has_windows(stride: int, lanes: int) -> bool:
    """Whether whole vectors side by side stay within the elements loaded: those of few lanes would not."""
    return stride in _WINDOWS and lanes >= stride


def _load_windows(w: Writer, where: Place, stride: int) -> str:
    """Every ``stride``-th element of as many vectors side by side; the last ends at the last element."""
    lanes, dtype = where.lanes, where.buffer.dtype
    raw_type = memory_type(w, dtype, lanes)
    offsets = [lanes * k for k in range(stride - 1)] + [(lanes - 1) * (stride - 1)]
    home = [min(stride * lane // lanes, stride - 1) for lane in range(lanes)]
    result = ""
    for window, offset in enumerate(offsets):
        if where.mask is None:
            address = _address(w, where, offset)
            loaded = w.emit(f"load {raw_type}, ptr {address}, align {where.alignment}")
        else:
            used = {stride * lane - offset: lane for lane in range(lanes) if home[lane] == window}
            mask = _shuffle(
                w,
                vector("i1", lanes),
                where.mask,
                "zeroinitializer",
                [used.get(k, lanes) for k in range(lanes)],
            )
            loaded = _masked(w, where, offset, raw_type, mask)
        picks = [
            lanes + stride * lane - offset if home[lane] == window else lane if home[lane] < window else -1
            for lane in range(lanes)
        ]
        if window == 0:
            result, picks = loaded, [pick - lanes if pick >= 0 else -1 for pick in picks]
        result = _shuffle(w, raw_type, result, loaded, picks)
    return from_memory(w, result, dtype, lanes)


def _load_each(w: Writer, where: Place) -> str:
    dtype, lanes = where.buffer.dtype, where.lanes
    element, whole = memory_type(w, dtype), memory_type(w, dtype, lanes)
    result = "poison"
    for lane in range(lanes):
        one = w.emit(f"load {element}, ptr {_lane_address(w, where, lane)}, align {where.alignment}")
        result = w.emit(f"insertelement {whole} {result}, {element} {one}, i64 {lane}")
    return from_memory(w, result, dtype, lanes)


def _load_masked(w: Writer, where: Place) -> str:
    dtype, lanes, mask = where.buffer.dtype, where.lanes, where.mask
    type_, masks = memory_type(w, dtype, lanes), vector("i1", lanes)
    assert mask is not None
    if where.own:
        value, kind = _load_whole(w, where, 0, lanes), register_type(dtype, lanes)
        return w.emit(f"select {masks} {mask}, {kind} {value}, {kind} zeroinitializer")
    if where.stride == 1:
        return from_memory(w, _masked(w, where, 0, type_, mask), dtype, lanes)
    if where.stride is not None and _has_windows(where.stride, where.lanes):
        return _load_windows(w, where, where.stride)
    addresses, pointers = _addresses(w, where)
    name = f"llvm.masked.gather.{mangled(type_)}.{mangled(pointers)}"
    target = w.module.declare(name, type_, f"{pointers}, i32 immarg, {masks}, {type_}")
    arguments = f"{pointers} {addresses}, i32 {where.alignment}, {masks} {mask}, {type_} zeroinitializer"
    return from_memory(w, w.emit(f"call {type_} {target}({arguments})"), dtype, lanes)


def _masked(w: Writer, where: Place, offset: int, type_: str, mask: str) -> str:
    """The vector ``offset`` elements behind lane 0 as it stands in memory, zeros where ``mask`` is false."""
    address = _address(w, where, offset, inside=False) if not where.holds else _address_if(w, where, offset)
    masks = vector("i1", where.lanes)
    name = f"llvm.masked.load.{mangled(type_)}.p0"
    target = w.module.declare(name, type_, f"ptr, i32 immarg, {masks}, {type_}")
    arguments = f"ptr {address}, i32 {where.alignment}, {masks} {mask}, {type_} zeroinitializer"
    loaded = w.emit(f"call {type_} {target}({arguments})")
    # LLVM 22 makes ``select(mask, fma(a, masked load, c), 0)`` one masked instruction with an operand in
    # memory; if ``a`` and ``c`` are wanted again, it makes that a load of all lanes and a masked fma.
    return _fenced(w, loaded, where, type_)


def _address_if(w: Writer, where: Place, offset: int) -> str:
    """The element ``offset`` behind lane 0's, or one ``elsewhere`` unless the place ``holds``.

    A masked load of no lanes never faults, but on a page that is not mapped, or not yet touched, the
    processor takes hundreds of cycles to find that out, each time ("may take a multi-hundred-cycle assist",
    says a manual of masked moves; 340 to 800 measured, for 2 elsewhere). The rows before an array's first lie
    on such a page wherever the array begins a block of fresh memory.

    Accesses side by side share what is chosen, as they do the pointer before it.
    """
    offset += where.offset
    step = 0 if where.index else offset % _reach(where)
    address = _address(w, where._replace(offset=offset - step), 0, inside=False)
    chosen = w.emit(f"select i1 {where.holds}, ptr {address}, ptr {where.elsewhere}")
    return _address(w, where._replace(pointer=chosen, index="", offset=step), 0, inside=False)


def _reach(where: Place) -> int:
    """How many vectors, a power of two and at most a page of elements, surely begin inside the buffer and are
    whole, one element after the other from its first on."""
    extents = [one.value if isinstance(one, e.Const) else 0 for one in where.buffer.shape]
    vectors = min(int(math.prod(extents)) - where.lanes, _PAGE // where.alignment)
    return 1 << max(vectors, 1).bit_length() - 1


def _fenced(w: Writer, value: str, where: Place, type_: str) -> str:
    """``value``, but what makes it and what uses it are not made one masked instruction of AVX-512."""
    bits = where.lanes * where.alignment * 8
    if not w.module.target.has("avx512f") or bits % 32:
        return value
    fenced = vector("float", bits // 32)
    cast = w.emit(f"bitcast {type_} {value} to {fenced}")
    return w.emit(f"bitcast {fenced} {w.intrinsic('arithmetic.fence', fenced, cast)} to {type_}")


def _store_masked(w: Writer, where: Place, raw: str, type_: str) -> None:
    masks, mask = vector("i1", where.lanes), where.mask
    assert mask is not None
    if where.own:  # a masked store to the stack would keep the buffer out of registers
        old = _raw_whole(w, where, 0, where.lanes)
        new = w.emit(f"select {masks} {mask}, {type_} {raw}, {type_} {old}")
        _store_whole(w, where, 0, new, type_)
        return
    if where.stride == 1:
        # Where the mask is constant and true in one lane, LLVM 22 makes one scalar store: as wide as what the
        # lanes were truncated from.
        spare = -where.lanes % max(1, 4 // where.alignment)
        if spare and w.module.target.has("avx512f"):
            picks = [*range(where.lanes), *([where.lanes] * spare)]
            mask = _shuffle(w, masks, mask, "zeroinitializer", picks)
            raw = _shuffle(w, type_, raw, "poison", picks)
            where = where._replace(lanes=where.lanes + spare)
            type_, masks = memory_type(w, where.buffer.dtype, where.lanes), vector("i1", where.lanes)
        raw = _fenced(w, raw, where, type_)
        address = _address(w, where, 0, inside=False)
        target = w.module.declare(
            f"llvm.masked.store.{mangled(type_)}.p0", "void", f"{type_}, ptr, i32 immarg, {masks}"
        )
        arguments = f"{type_} {raw}, ptr {address}, i32 {where.alignment}, {masks} {mask}"
    else:
        addresses, pointers = _addresses(w, where)
        name = f"llvm.masked.scatter.{mangled(type_)}.{mangled(pointers)}"
        target = w.module.declare(name, "void", f"{type_}, {pointers}, i32 immarg, {masks}")
        arguments = f"{type_} {raw}, {pointers} {addresses}, i32 {where.alignment}, {masks} {mask}"
    w.do(f"call void {target}({arguments})")


def _addresses(w: Writer, where: Place) -> tuple[str, str]:
    """The address of every lane, none of which need be valid, and the type of such a vector."""
    index, index_type = where.index, where.index_type
    if where.stride is not None:
        numbers = [where.offset + where.stride * lane for lane in range(where.lanes)]
        steps = f"<{', '.join(f'{index_type} {number}' for number in numbers)}>"
        many = vector(index_type, where.lanes)
        if index:
            steps = w.emit(f"add {many} {w.splat(index_type, index, where.lanes)}, {steps}")
        index, index_type = steps, many
    element = memory_type(w, where.buffer.dtype)
    addresses = w.emit(f"getelementptr {element}, ptr {where.pointer}, {index_type} {index}")
    return addresses, vector("ptr", where.lanes)


def _reversed(w: Writer, value: str, where: Place) -> str:
    type_ = register_type(where.buffer.dtype, where.lanes)
    return _shuffle(w, type_, value, value, list(range(where.lanes))[::-1])


def _shuffle(w: Writer, type_: str, a: str, b: str, picks: list[int]) -> str:
    mask = ", ".join("i32 poison" if pick < 0 else f"i32 {pick}" for pick in picks)
    return w.emit(f"shufflevector {type_} {a}, {type_} {b}, <{len(picks)} x i32> <{mask}>")
