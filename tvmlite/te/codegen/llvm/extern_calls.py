"""Calls of foreign functions as LLVM IR: other intrinsics of LLVM's, C functions, bits read anew."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import tiles
from tvmlite.te.codegen.llvm.cast import from_memory, memory_type, to_memory
from tvmlite.te.codegen.llvm.text import HALVES, Writer, register_type, vector
from tvmlite.te.extensions import extension

_HALF = {"float16": "half", "bfloat16": "bfloat"}


def call(w: Writer, node: e.Foreign, args: Sequence[str], several_tile_forms: bool) -> str:
    """The call ``node``, given its arguments' values; see ``tiles`` for ``several_tile_forms``."""
    match node.kind:
        case "tile":
            return tiles.call(w, node, args, several_tile_forms)
        case "bits":
            return _bits(w, node.args[0], args[0], node)
        case "llvm":
            given = [_passed(w, a, v) for a, v in zip(node.args, args, strict=True)]
            result = _intrinsic_type(node)
            made = w.call(node.name, result, given)
            return _returned(w, made, node)
    arguments = [(_c_type(node, a), v) for a, v in zip(node.args, args, strict=True)]
    name = extension("packed").symbol_of(node) if node.kind == "packed" else node.name
    return w.call(name, _c_type(node, node), arguments)


def _bits(w: Writer, given: e.Expr, value: str, node: e.Foreign) -> str:
    raw = to_memory(w, value, given.dtype, given.lanes)
    source, wanted = (memory_type(w, x.dtype, x.lanes) for x in (given, node))
    read = w.emit(f"bitcast {source} {raw} to {wanted}")
    return from_memory(w, read, node.dtype, node.lanes)


def _intrinsic_type(value: e.Expr) -> str:
    """The type intrinsics know ``value`` by: a half is a half there."""
    if value.dtype in HALVES:
        return vector(_HALF[value.dtype], value.lanes)
    return register_type(value.dtype, value.lanes)


def _passed(w: Writer, arg: e.Expr, value: str) -> tuple[str, str]:
    if isinstance(arg, e.Call) and arg.name == "address_of":
        return "ptr", value
    type_ = _intrinsic_type(arg)
    if arg.dtype not in HALVES:
        return type_, value
    raw = to_memory(w, value, arg.dtype, arg.lanes)
    source = memory_type(w, arg.dtype, arg.lanes)
    return type_, raw if source == type_ else w.emit(f"bitcast {source} {raw} to {type_}")


def _returned(w: Writer, value: str, node: e.Foreign) -> str:
    if node.dtype not in HALVES:
        return value
    type_, raw = _intrinsic_type(node), memory_type(w, node.dtype, node.lanes)
    if raw != type_:
        value = w.emit(f"bitcast {type_} {value} to {raw}")
    return from_memory(w, value, node.dtype, node.lanes)


def _c_type(node: e.Foreign, value: e.Expr) -> str:
    """The type a C function takes ``value`` as; narrow ints come in a whole register."""
    if isinstance(value, e.Call) and value.name == "address_of":
        return "ptr"
    if value.dtype in HALVES:
        raise UnsupportedError(f"the C function {node.name!r} cannot take or give a {value.dtype}")
    type_ = register_type(value.dtype)
    if value is node or dtypes.is_float(value.dtype) or dtypes.bits(value.dtype) >= 32:
        return type_
    return f"{type_} {'signext' if value.dtype in dtypes.SIGNED else 'zeroext'}"
