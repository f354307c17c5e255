"""Generation of ramps as values, for gathers, and of comparisons with a bound, the predicates of tails."""

from __future__ import annotations

from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.emitters import RANGE_TEST, emits
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.text import literal, register_type, vector


def _ramp_operands(values: Expressions, node: e.Ramp) -> tuple[e.Expr, ...]:
    return (node.base,) if isinstance(node.stride, e.Const) else (node.base, node.stride)


@emits(e.Ramp, operands=_ramp_operands)
def _ramp(values: Expressions, node: e.Ramp) -> str:
    w, lanes, type_ = values.w, node.lanes, register_type(node.dtype)
    wide = vector(type_, lanes)
    first = w.splat(type_, values.known[node.base], lanes)
    if isinstance(node.stride, e.Const):
        steps = (literal(node.stride.value * lane, node.dtype) for lane in range(lanes))
        return w.emit(f"add {wide} {first}, <{', '.join(f'{type_} {s}' for s in steps)}>")
    stride = w.splat(type_, values.known[node.stride], lanes)
    counts = ", ".join(f"{type_} {lane}" for lane in range(lanes))
    steps = w.emit(f"mul {wide} {stride}, <{counts}>")
    return w.emit(f"add {wide} {first}, {steps}")


def _range_operands(values: Expressions, node: e.Compare) -> tuple[e.Expr, ...]:
    assert isinstance(node.a, e.Ramp)
    return (node.a.base, node.b.value) if isinstance(node.b, e.Broadcast) else (node.a.base,)


@emits(RANGE_TEST, operands=_range_operands)
def _range_test(values: Expressions, node: e.Compare) -> str:
    """``base + lane < bound`` for every lane, as a comparison of lane numbers with a clamped count."""
    w, ramp, bound = values.w, node.a, node.b
    assert isinstance(ramp, e.Ramp)
    if isinstance(bound, e.Broadcast):
        limit = values.known[bound.value]
    else:
        assert isinstance(bound, e.Const)
        limit = literal(bound.value, bound.dtype)
    left = w.emit(f"sub i64 {limit}, {values.known[ramp.base]}")
    if isinstance(node, e.LessEqual):
        left = w.emit(f"add i64 {left}, 1")
    least = w.intrinsic("smax", "i64", left, "0")
    count = w.intrinsic("smin", "i64", least, str(node.lanes))
    narrow = w.splat("i32", w.emit(f"trunc i64 {count} to i32"), node.lanes)
    numbers = ", ".join(f"i32 {lane}" for lane in range(node.lanes))
    return w.emit(f"icmp sgt {vector('i32', node.lanes)} {narrow}, <{numbers}>")
