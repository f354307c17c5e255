"""Generation of LLVM IR for arithmetic, comparisons and selections, as ``te.expr`` defines them."""

from __future__ import annotations

from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.codegen.contraction import MULTIPLY_ADD
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.text import HALVES, Writer, literal, mangled, register_type, vector
from tvmlite.te.extensions import extension
from tvmlite.te.loop.walk import loads

_FLOAT = {e.Add: "fadd", e.Sub: "fsub", e.Mul: "fmul", e.Div: "fdiv", e.TruncMod: "frem"}
_INT = {e.Add: "add", e.Sub: "sub", e.Mul: "mul", e.And: "and", e.Or: "or"}
_COMPARE = {e.Equal: "eq", e.NotEqual: "ne", e.Less: "lt", e.LessEqual: "le"}
_DIVISIONS = (e.FloorDiv, e.FloorMod, e.TruncDiv)


@emits(*_FLOAT, *_INT, *_COMPARE, *_DIVISIONS, e.Min, e.Max)
def _binary(values: Any, node: e.Binary) -> str:
    w, a, b = values.w, values.known[node.a], values.known[node.b]
    kind, dtype, lanes = type(node), node.a.dtype, node.lanes
    type_ = register_type(dtype, lanes)
    if isinstance(node, e.Compare):
        return _compare(w, node, a, b)
    if isinstance(node, (e.Min, e.Max)):
        return _extreme(w, node, a, b)
    if dtypes.is_float(dtype):
        return rounded(w, w.emit(f"{_FLOAT[kind]} {type_} {a}, {b}"), dtype, lanes)
    if kind in _INT:
        return w.emit(f"{_INT[kind]} {type_} {a}, {b}")
    return extension("llvm.division").divide(w, node, a, b)


def _compare(w: Writer, node: e.Compare, a: str, b: str) -> str:
    relation, dtype = _COMPARE[type(node)], node.a.dtype
    type_ = register_type(dtype, node.lanes)
    if dtypes.is_float(dtype):
        prefix = "u" if relation == "ne" else "o"
        return w.emit(f"fcmp {prefix}{relation} {type_} {a}, {b}")
    if relation not in ("eq", "ne"):
        relation = ("s" if dtype in dtypes.SIGNED else "u") + relation
    return w.emit(f"icmp {relation} {type_} {a}, {b}")


def _extreme(w: Writer, node: e.Min | e.Max, a: str, b: str) -> str:
    dtype, lanes = node.dtype, node.lanes
    type_, least = register_type(dtype, lanes), isinstance(node, e.Min)
    if dtype == "bool":
        return w.emit(f"{'and' if least else 'or'} {type_} {a}, {b}")
    if not dtypes.is_float(dtype):
        name = ("s" if dtype in dtypes.SIGNED else "u") + ("min" if least else "max")
        return w.intrinsic(name, type_, a, b)
    if w.module.family == "aarch64":
        return w.intrinsic("minimum" if least else "maximum", type_, a, b)
    return _float_extreme(w, node, type_, a, b)


def _float_extreme(w: Writer, node: e.Min | e.Max, type_: str, a: str, b: str) -> str:
    """The minimum or maximum as x86's minps computes it, ``a < b ? a : b``: b if a or b is NaN.

    With a constant, it is the first operand, and that suffices. Otherwise the operands of ``llvm.maximum``
    are swapped, so that the NaN check is on the second operand: in a reduction that is the new element, and
    the accumulator's dependence chain stays short.
    """
    if _is_number(node.b):
        a, b = b, a
    if _is_number(node.a) or _is_number(node.b):
        relation = "olt" if isinstance(node, e.Min) else "ogt"
        chosen = w.emit(f"fcmp {relation} {type_} {a}, {b}")
        return w.emit(f"select {vector('i1', node.lanes)} {chosen}, {type_} {a}, {type_} {b}")
    kind = f"llvm.{'minimum' if isinstance(node, e.Min) else 'maximum'}.{mangled(type_)}"
    target = w.module.declare(kind, type_, f"{type_}, {type_}")
    return w.emit(f"call nsz {type_} {target}({type_} {b}, {type_} {a})")


def _is_number(expr: e.Expr) -> bool:
    return isinstance(expr, e.Const) and expr.value == expr.value


@emits(MULTIPLY_ADD)
def _multiply_add(values: Any, node: e.Call) -> str:
    type_ = register_type(node.dtype, node.lanes)
    return values.w.intrinsic("fmuladd", type_, *(values.known[one] for one in node.args))


@emits(e.Const)
def _constant(values: Any, node: e.Const) -> str:
    return literal(node.value, node.dtype, node.lanes)


@emits(e.Not)
def _not(values: Any, node: e.Not) -> str:
    return negated(values.w, values.known[node.a], node.lanes)


def negated(w: Writer, value: str, lanes: int) -> str:
    """The negation of a bool ``value`` of ``lanes`` lanes."""
    return w.emit(f"xor {vector('i1', lanes)} {value}, {literal(1, 'bool', lanes)}")


def decided(w: Writer, condition: e.Expr, value: str) -> str:
    """``value``, the value of ``condition``, for a branch. It is frozen if it may read uninitialised
    elements, as LLVM could otherwise treat the branch, and with it the function, as unreachable."""
    own = any(one.buffer.scope != "param" for one in loads(condition))
    return w.emit(f"freeze i1 {value}") if own else value


@emits(e.Select)
def _select(values: Any, node: e.Select) -> str:
    type_, mask = register_type(node.dtype, node.lanes), vector("i1", node.condition.lanes)
    condition, a, b = (values.known[one] for one in (node.condition, node.a, node.b))
    return values.w.emit(f"select {mask} {condition}, {type_} {a}, {type_} {b}")


@emits(e.Broadcast)
def _broadcast(values: Any, node: e.Broadcast) -> str:
    return values.w.splat(register_type(node.dtype), values.known[node.value], node.lanes)


def rounded(w: Writer, value: str, dtype: str, lanes: int) -> str:
    """The float ``value`` rounded to the precision of ``dtype``, to nearest even; still of type float."""
    return extension("llvm.halves").rounded(w, value, dtype, lanes) if dtype in HALVES else value
