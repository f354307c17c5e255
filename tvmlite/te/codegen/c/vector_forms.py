"""Predicates of vectors that can be written with the vector types of GCC and Clang, and their operands."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen import contraction
from tvmlite.te.codegen.c import x86
from tvmlite.te.codegen.c.expr import ARITH, COMPARE
from tvmlite.te.codegen.c.text import HALVES
from tvmlite.te.codegen.math import functions
from tvmlite.te.loop import ir

_WIDEST = 256
_FLOATS = ("float32", "float64")
_INT_CALLS = ("bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor")
_FLOAT_CALLS = ("fabs", "abs", "copysign", "round", "isnan")


def can_write(value: e.Expr) -> bool:
    """Whether ``value`` can be written with vector types: it consists of contiguous loads, arithmetic,
    comparisons, and selections by a mask or a uniform condition; its lanes are a power of 2."""
    nodes = vectors(value)
    return value.dtype not in HALVES and all(_is_writable(node) for node in nodes)


def vectors(root: e.Expr, all_versions: bool = True) -> list[e.Expr]:
    """The vector nodes of ``root``, children first, without those in indices.

    Without ``all_versions``, nodes that only one of the versions for different processors has are left out.
    """
    inside: set[object] = {root}
    nodes = [n for n in postorder(root) if isinstance(n, e.Expr)]
    for node in reversed(nodes):
        if node in inside:
            either = isinstance(node, e.Call) and node.name == functions.EITHER
            inside.update(parts(node)[2:] if either and not all_versions else parts(node))
    return [n for n in nodes if n in inside]


def parts(node: e.Expr) -> tuple[e.Expr, ...]:
    """The vector operands of ``node``."""
    match node:
        case e.Binary(a, b) | e.Compare(a, b) | e.And(a, b) | e.Or(a, b):
            return a, b
        case e.Not(a) | e.Cast(value=a):
            return (a,)
        case e.Select(condition, a, b):
            return condition, a, b
        case e.Call("if_then_else", (_, a, b)):
            return a, b
        case e.Call("shift_left" | "shift_right", (a, _)):
            return (a,)
        case e.Call(_, args) | e.Foreign(_, _, args):
            return tuple(args)
        case _:
            return ()


def shift_count(node: e.Call) -> int | None:
    """The constant shift count of all lanes; None if it is not constant or not within the width."""
    by = node.args[1].value if isinstance(node.args[1], e.Broadcast) else node.args[1]
    if isinstance(by, e.Const) and 0 <= by.value < dtypes.bits(node.dtype):
        return int(by.value)
    return None


def _is_writable(node: e.Expr) -> bool:
    size = node.lanes * dtypes.bytes_of(node.dtype)
    if node.lanes & (node.lanes - 1) or node.lanes < 2 or size > _WIDEST:
        return False
    if isinstance(node, e.Foreign):
        return (node.kind == "bits" and node.args[0].dtype != "bool") or node.name in x86.INTRINSICS
    if any(part.dtype in HALVES for part in parts(node)):
        return False
    match node:
        case ir.Load(predicate=None, indices=(index,)):
            return isinstance(index, e.Ramp) and e.is_const(index.stride, 1)
        case ir.Load():
            return False
    if node.dtype in HALVES:
        return False
    match node:
        case e.Const() | e.Var():
            return True
        case e.Broadcast(value=value):
            return _is_vector_read_as_bits(value) or not any(_needs_vectors(n) for n in postorder(value))
        case e.Call():
            return _is_writable_call(node)
        case e.Compare():
            return type(node) in COMPARE
        case e.Cast() | e.Select() | e.And() | e.Or() | e.Not():
            return True
        case e.Binary():
            return _has_arithmetic(node)
        case _:
            return False


def _needs_vectors(node: object) -> bool:
    return isinstance(node, e.Foreign) and node.kind in ("bits", "llvm")


def _is_vector_read_as_bits(value: e.Expr) -> bool:
    """Whether ``value`` reads several elements as the bits of one number."""
    if not isinstance(value, e.Foreign) or value.kind != "bits" or value.dtype in (*HALVES, "bool"):
        return False
    load = value.args[0]
    return isinstance(load, ir.Load) and load.lanes > 1 and load.dtype != "bool" and _is_writable(load)


def _has_arithmetic(node: e.Binary) -> bool:
    kind = type(node)
    if node.dtype in _FLOATS:
        return kind in (*ARITH, e.Min, e.Max)
    return node.dtype != "bool" and kind in (e.Add, e.Sub, e.Mul, e.Min, e.Max)


def _is_writable_call(node: e.Call) -> bool:
    match node.name:
        case "if_then_else":
            in_place = all(_is_inline(arm) for arm in node.args[1:])
            return node.dtype != "bool" and node.args[0].lanes == 1 and in_place
        case functions.EITHER | contraction.MULTIPLY_ADD | "likely" | "fits_int32":
            return True
        case functions.SCALE | functions.LIMIT:
            return node.lanes in x86.SCALED_LANES
        case "reinterpret":
            return "bool" not in (node.dtype, node.args[0].dtype)
        case "shift_left" | "shift_right":
            return dtypes.is_int(node.dtype) and shift_count(node) is not None
    if node.name in _INT_CALLS:
        return not dtypes.is_float(node.dtype)
    return node.name in _FLOAT_CALLS and node.args[0].dtype in _FLOATS


def _is_inline(value: e.Expr) -> bool:
    """Whether ``value`` needs no declaration that reads memory, so that reads stay in their branch."""
    match value:
        case ir.Load(indices=(index,)):
            return value.lanes > 1 and not any(isinstance(n, ir.Load) for n in postorder(index))
        case e.Const():
            return value.lanes > 1
        case e.Broadcast(value=inner):
            return isinstance(inner, (e.Const, e.Var))
        case _:
            return False
