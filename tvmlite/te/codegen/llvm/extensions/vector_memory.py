"""Generation of masked, reversed, strided and gathered vector accesses, and of odd vector lengths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.memory import Place, address, from_memory, memory_type, to_memory
from tvmlite.te.codegen.llvm.text import Writer, mangled, register_type, vector

_PAGE = 4096
"""The most bytes between accesses that share one selected address."""

_WINDOWS = range(2, 5)
"""Strides that are loaded as ``stride`` contiguous vectors and shuffled."""


def load(w: Writer, where: Place) -> str:
    """The register value of the elements at ``where``; 0 in lanes where the mask is false."""
    dtype, lanes, stride, mask = where.buffer.dtype, where.lanes, where.stride, where.mask
    type_ = memory_type(w, dtype, lanes)
    if mask is not None and where.own:
        value, kind = from_memory(w, _load_contiguous(w, where, 0), dtype, lanes), register_type(dtype, lanes)
        return w.emit(f"select {vector('i1', lanes)} {mask}, {kind} {value}, {kind} zeroinitializer")
    if stride == 1:
        raw = _load_contiguous(w, where, 0) if mask is None else _load_masked(w, where, 0, mask)
    elif stride == -1 and mask is None:
        return _reversed(w, from_memory(w, _load_contiguous(w, where, 1 - lanes), dtype, lanes), where)
    elif stride is not None and _has_windows(stride, lanes):
        raw = _load_windows(w, where, stride)
    elif mask is not None:
        raw = _gather(w, where, type_, mask)
    else:
        raw, element = "poison", memory_type(w, dtype)
        for lane in range(lanes):
            one = w.emit(f"load {element}, ptr {_lane_address(w, where, lane)}, align {where.alignment}")
            raw = w.emit(f"insertelement {type_} {raw}, {element} {one}, i64 {lane}")
    return from_memory(w, raw, dtype, lanes)


def store(w: Writer, where: Place, value: str) -> None:
    """Store the register value at ``where``, except where the mask is false; later lanes win."""
    dtype, lanes = where.buffer.dtype, where.lanes
    if where.stride == -1 and where.mask is None:
        value = _reversed(w, value, where)
    raw, type_ = to_memory(w, value, dtype, lanes), memory_type(w, dtype, lanes)
    if where.mask is not None:
        _store_masked(w, where, raw, type_, where.mask)
    elif where.stride in (1, -1):
        _store_contiguous(w, where, 1 - lanes if where.stride == -1 else 0, raw)
    else:
        element = memory_type(w, dtype)
        for lane in range(lanes):
            one = w.emit(f"extractelement {type_} {raw}, i64 {lane}")
            w.do(f"store {element} {one}, ptr {_lane_address(w, where, lane)}, align {where.alignment}")


def _lane_address(w: Writer, where: Place, lane: int) -> str:
    if where.stride is not None:
        return address(w, where, where.stride * lane)
    scalar = where.index_type.split(" x ")[1].rstrip(">")
    index = w.emit(f"extractelement {where.index_type} {where.index}, i64 {lane}")
    element = memory_type(w, where.buffer.dtype)
    return w.emit(f"getelementptr inbounds {element}, ptr {where.pointer}, {scalar} {index}")


def _load_contiguous(w: Writer, where: Place, offset: int) -> str:
    """Load contiguous elements, starting ``offset`` elements after lane 0, as their type in memory."""
    dtype, result, result_type = where.buffer.dtype, "", ""
    for first, count in _pieces(where):
        at, type_ = address(w, where, offset + first), memory_type(w, dtype, count)
        piece = w.emit(f"load {type_}, ptr {at}, align {where.alignment}")
        both = list(range(first + count))
        if not first:
            result = piece
        elif count == 1:
            wide = _shuffle(w, result_type, result, "poison", [*both[:-1], -1])
            whole = memory_type(w, dtype, first + 1)
            result = w.emit(f"insertelement {whole} {wide}, {type_} {piece}, i64 {first}")
        else:
            longer = _shuffle(w, type_, piece, "poison", [*range(count), *[-1] * (first - count)])
            result = _shuffle(w, result_type, result, longer, both)
        result_type = memory_type(w, dtype, first + count)
    return result


def _store_contiguous(w: Writer, where: Place, offset: int, raw: str) -> None:
    dtype, lanes = where.buffer.dtype, where.lanes
    type_ = memory_type(w, dtype, lanes)
    for first, count in _pieces(where):
        piece = raw
        if count == 1 and lanes > 1:
            piece = w.emit(f"extractelement {type_} {raw}, i64 {first}")
        elif count < lanes:
            piece = _shuffle(w, type_, raw, "poison", range(first, first + count))
        at = address(w, where, offset + first)
        w.do(f"store {memory_type(w, dtype, count)} {piece}, ptr {at}, align {where.alignment}")


def _pieces(where: Place) -> Iterator[tuple[int, int]]:
    """The first lane and the number of lanes of each part of a contiguous access.

    On the stack the parts are of powers of two: an array that LLVM 22 promotes to registers as vectors of,
    for example, five, and that is also accessed by element, is wrong in the fifth lane on AVX-512.
    """
    first = 0
    while first < where.lanes:
        left = where.lanes - first
        count = 1 << left.bit_length() - 1 if where.own else left
        yield first, count
        first += count


def _has_windows(stride: int, lanes: int) -> bool:
    """Whether ``stride`` contiguous vectors stay within the elements to load; with few lanes they do not."""
    return stride in _WINDOWS and lanes >= stride


def _load_windows(w: Writer, where: Place, stride: int) -> str:
    """Load every ``stride``-th element as ``stride`` contiguous vectors; the last ends at the last one."""
    lanes, type_ = where.lanes, memory_type(w, where.buffer.dtype, where.lanes)
    offsets = [lanes * k for k in range(stride - 1)] + [(lanes - 1) * (stride - 1)]
    owner = [min(stride * lane // lanes, stride - 1) for lane in range(lanes)]
    result = ""
    for window, offset in enumerate(offsets):
        if where.mask is None:
            loaded = w.emit(f"load {type_}, ptr {address(w, where, offset)}, align {where.alignment}")
        else:
            used = {stride * lane - offset: lane for lane in range(lanes) if owner[lane] == window}
            picks = [used.get(k, lanes) for k in range(lanes)]
            mask = _shuffle(w, vector("i1", lanes), where.mask, "zeroinitializer", picks)
            loaded = _load_masked(w, where, offset, mask)
        base = lanes if window else 0  # in the shuffle, the window's elements follow those of ``result``
        picks = [
            base + stride * lane - offset if owner[lane] == window else lane if owner[lane] < window else -1
            for lane in range(lanes)
        ]
        result = _shuffle(w, type_, result or loaded, loaded, picks)
    return result


def _load_masked(w: Writer, where: Place, offset: int, mask: str) -> str:
    """Load the vector ``offset`` elements after lane 0 as its type in memory, 0 where ``mask`` is false."""
    at = address(w, where, offset, inside=False) if not where.holds else _address_if(w, where, offset)
    type_, masks = memory_type(w, where.buffer.dtype, where.lanes), vector("i1", where.lanes)
    target = w.module.declare(
        f"llvm.masked.load.{mangled(type_)}.p0", type_, f"ptr, i32 immarg, {masks}, {type_}"
    )
    arguments = f"ptr {at}, i32 {where.alignment}, {masks} {mask}, {type_} zeroinitializer"
    # LLVM 22 makes ``select(mask, fma(a, masked load, c), 0)`` one masked instruction with a memory operand;
    # if ``a`` and ``c`` are used again, it turns that into a load of all lanes and a masked fma.
    return _fenced(w, w.emit(f"call {type_} {target}({arguments})"), where, type_)


def _address_if(w: Writer, where: Place, offset: int) -> str:
    """The address ``offset`` elements after lane 0 if ``where.holds``, else that of ``where.elsewhere``.

    A masked load of no lanes never faults, but on a page that is not mapped, or not yet touched, each such
    load takes hundreds of cycles ("may take a multi-hundred-cycle assist", according to a manual on masked
    moves; 340 to 800 measured, and 2 on other pages). Rows before an array's first one are on such a page if
    the array is at the start of newly allocated memory.

    Neighbouring accesses share the selected address, as they share the pointer before it.
    """
    offset += where.offset
    step = 0 if where.index else offset % _shared_address_span(where)
    at = address(w, where._replace(offset=offset - step), 0, inside=False)
    chosen = w.emit(f"select i1 {where.holds}, ptr {at}, ptr {where.elsewhere}")
    return address(w, where._replace(pointer=chosen, index="", offset=step), 0, inside=False)


def _shared_address_span(where: Place) -> int:
    """The number of consecutive elements, a power of two and at most a page of them, such that a full vector
    starting at each of them is inside the buffer."""
    extents = [one.value if isinstance(one, e.Const) else 0 for one in where.buffer.shape]
    vectors = min(int(math.prod(extents)) - where.lanes, _PAGE // where.alignment)
    return 1 << max(vectors, 1).bit_length() - 1


def _fenced(w: Writer, value: str, where: Place, type_: str) -> str:
    """``value`` behind a fence, as LLVM must not fuse its producer and users to one masked instruction."""
    bits = where.lanes * where.alignment * 8
    if not w.module.target.has("avx512f") or bits % 32:
        return value
    fenced = vector("float", bits // 32)
    cast = w.emit(f"bitcast {type_} {value} to {fenced}")
    return w.emit(f"bitcast {fenced} {w.intrinsic('arithmetic.fence', fenced, cast)} to {type_}")


def _store_masked(w: Writer, where: Place, raw: str, type_: str, mask: str) -> None:
    masks = vector("i1", where.lanes)
    if where.own:  # a masked store to the stack would keep the buffer out of registers
        old = _load_contiguous(w, where, 0)
        _store_contiguous(w, where, 0, w.emit(f"select {masks} {mask}, {type_} {raw}, {type_} {old}"))
        return
    if where.stride == 1:
        # If the mask is constant and true in one lane, LLVM 22 emits one scalar store, as wide as the type
        # that the lanes were truncated from.
        spare = -where.lanes % max(1, 4 // where.alignment)
        if spare and w.module.target.has("avx512f"):
            picks = [*range(where.lanes), *([where.lanes] * spare)]
            mask = _shuffle(w, masks, mask, "zeroinitializer", picks)
            raw = _shuffle(w, type_, raw, "poison", picks)
            where = where._replace(lanes=where.lanes + spare)
            type_, masks = memory_type(w, where.buffer.dtype, where.lanes), vector("i1", where.lanes)
        raw = _fenced(w, raw, where, type_)
        at, kind = address(w, where, 0, inside=False), "ptr"
        name = f"llvm.masked.store.{mangled(type_)}.p0"
    else:
        at, kind = _addresses(w, where)
        name = f"llvm.masked.scatter.{mangled(type_)}.{mangled(kind)}"
    target = w.module.declare(name, "void", f"{type_}, {kind}, i32 immarg, {masks}")
    w.do(f"call void {target}({type_} {raw}, {kind} {at}, i32 {where.alignment}, {masks} {mask})")


def _gather(w: Writer, where: Place, type_: str, mask: str) -> str:
    (addresses, pointers), masks = _addresses(w, where), vector("i1", where.lanes)
    name = f"llvm.masked.gather.{mangled(type_)}.{mangled(pointers)}"
    target = w.module.declare(name, type_, f"{pointers}, i32 immarg, {masks}, {type_}")
    arguments = f"{pointers} {addresses}, i32 {where.alignment}, {masks} {mask}, {type_} zeroinitializer"
    return w.emit(f"call {type_} {target}({arguments})")


def _addresses(w: Writer, where: Place) -> tuple[str, str]:
    """The vector of the addresses of all lanes, which may be invalid, and its type."""
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
    return _shuffle(w, type_, value, value, range(where.lanes)[::-1])


def _shuffle(w: Writer, type_: str, a: str, b: str, picks: Sequence[int]) -> str:
    mask = ", ".join("i32 poison" if pick < 0 else f"i32 {pick}" for pick in picks)
    return w.emit(f"shufflevector {type_} {a}, {type_} {b}, <{len(picks)} x i32> <{mask}>")
