"""Generation of foreign calls: LLVM intrinsics, C functions, Python functions, reinterpreted bits."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.memory import from_memory, memory_type, to_memory
from tvmlite.te.codegen.llvm.text import HALVES, Writer, register_type, vector
from tvmlite.te.codegen.packed import symbol_of

_HALF = {"float16": "half", "bfloat16": "bfloat"}


@emits("bits")
def _bits(values: Expressions, node: e.Foreign) -> str:
    w, (given,) = values.w, node.args
    raw = to_memory(w, values.known[given], given.dtype, given.lanes)
    source, wanted = (memory_type(w, x.dtype, x.lanes) for x in (given, node))
    read = w.emit(f"bitcast {source} {raw} to {wanted}")
    return from_memory(w, read, node.dtype, node.lanes)


@emits("llvm")
def _llvm(values: Expressions, node: e.Foreign) -> str:
    given = [_passed(values.w, one, values.known[one]) for one in node.args]
    return _returned(values.w, values.w.call(node.name, _intrinsic_type(node), given), node)


@emits("c", "packed", reads=lambda node: None)
def _c(values: Expressions, node: e.Foreign) -> str:
    arguments = [(_c_type(node, one), values.known[one]) for one in node.args]
    name = symbol_of(node) if node.kind == "packed" else node.name
    return values.w.call(name, _c_type(node, node), arguments)


def _intrinsic_type(value: e.Expr) -> str:
    """The LLVM type of ``value`` in calls of intrinsics, where halves have their own types."""
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
    """The LLVM type of ``value`` as an argument or result of a C function; narrow arguments are extended."""
    if isinstance(value, e.Call) and value.name == "address_of":
        return "ptr"
    if value.dtype in HALVES:
        raise UnsupportedError(f"the C function {node.name!r} cannot take or give a {value.dtype}")
    type_ = register_type(value.dtype)
    if value is node or dtypes.is_float(value.dtype) or dtypes.bits(value.dtype) >= 32:
        return type_
    return f"{type_} {'signext' if value.dtype in dtypes.SIGNED else 'zeroext'}"
