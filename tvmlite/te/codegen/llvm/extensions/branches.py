"""Generation of ``if_then_else``, which evaluates one side: by a branch, a select, or masks."""

from __future__ import annotations

from math import copysign

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import arith
from tvmlite.te.codegen.llvm.emitters import NOTHING, Reads, emits, emitter_of
from tvmlite.te.codegen.llvm.expr import Expressions, Mask
from tvmlite.te.codegen.llvm.text import register_type, vector
from tvmlite.te.codegen.math.expand import LIBRARY
from tvmlite.te.loop.ir import Load


def _reads(node: e.Call) -> Reads:
    """The buffers read in the two sides, which are not among the operands."""
    read: Reads = NOTHING
    for one in (one for side in node.args[1:] for one in postorder(side)):
        other = NOTHING if isinstance(one, e.Var) else emitter_of(one).reads(one)  # type: ignore[arg-type]
        read = None if read is None or other is None else read | other
    return read


@emits("if_then_else", operands=lambda values, node: node.args[:1], reads=_reads)
def _if_then_else(values: Expressions, node: e.Call) -> str:
    w, type_, (condition, a, b) = values.w, register_type(node.dtype, node.lanes), node.args
    holds = values.known[condition]
    if condition.lanes > 1:
        then = _masked(values, a, holds, condition.lanes, node.lanes, _uniform_part(values, condition))
        negated = arith.negated(w, holds, condition.lanes)
        otherwise = _masked(values, b, negated, condition.lanes, node.lanes)
        return w.emit(f"select {vector('i1', node.lanes)} {holds}, {type_} {then}, {type_} {otherwise}")
    if _is_cheap(a) and _is_cheap(b):
        then, otherwise = (_side(values, side, node.lanes) for side in (a, b))
        return w.emit(f"select i1 {holds}, {type_} {then}, {type_} {otherwise}")
    if _is_padding(values, a, b):
        return _padded(values, node, holds)
    labels = [w.new_block() for _ in range(3)]
    w.branch(arith.decided(w, condition, holds), labels[0], labels[1])
    arms = []
    for label, side in zip(labels, (a, b), strict=False):
        w.enter(label)
        with values.region():
            value = _side(values, side, node.lanes)
        arms.append(f"[ {value}, %{w.block} ]")
        w.jump(labels[2])
    w.enter(labels[2])
    return w.emit(f"phi {type_} {', '.join(arms)}")


def _side(values: Expressions, expr: e.Expr, lanes: int) -> str:
    return values.widened(values.value(expr), expr, lanes)


def _is_cheap(expr: e.Expr) -> bool:
    """Whether ``expr`` may be evaluated speculatively: no memory reads, no library calls, few operations."""
    for count, node in enumerate(postorder(expr)):
        slow = isinstance(node, e.Call) and (node.name in LIBRARY or node.name == "if_then_else")
        if slow or isinstance(node, (Load, e.Foreign)) or count > 16:
            return False
    return True


def _is_padding(values: Expressions, a: e.Expr, b: e.Expr) -> bool:
    """Whether ``a`` is a contiguous vector load, ``b`` a constant, and a masked load one instruction."""
    match a, b:
        case Load(predicate=None, indices=(e.Ramp(base, e.Const(1)),)), e.Const() | e.Broadcast(e.Const()):
            needed = "avx" if dtypes.bits(a.dtype) >= 32 else "avx512bw"
            return _is_cheap(base) and values.mask is None and values.w.module.target.has(needed)
        case _:
            return False


def _padded(values: Expressions, node: e.Call, holds: str) -> str:
    """The first side loaded in all lanes or none: unlike a branch, this does not split the basic block."""
    w, lanes, (_, a, b) = values.w, node.lanes, node.args
    then = _masked(values, a, w.splat("i1", holds, lanes), lanes, lanes, holds)
    other = b.value if isinstance(b, e.Broadcast) else b
    if isinstance(other, e.Const) and other.value == 0 and copysign(1, other.value) > 0:
        return then
    type_ = register_type(node.dtype, lanes)
    return w.emit(f"select i1 {holds}, {type_} {then}, {type_} {_side(values, b, lanes)}")


def _uniform_part(values: Expressions, condition: e.Expr) -> str | None:
    """The i1 of the operands of a conjunction that are the same in all lanes; None if there are none."""
    match condition:
        case e.And(a, b):
            return _both(values, _uniform_part(values, a), _uniform_part(values, b))
        case e.Broadcast(value):
            return values.value(value)
        case _:
            return None


def _both(values: Expressions, a: str | None, b: str | None) -> str | None:
    """The conjunction of two i1s; None stands for true."""
    return values.w.emit(f"and i1 {a}, {b}") if a and b else a or b


def _masked(
    values: Expressions, expr: e.Expr, condition: str, count: int, lanes: int, uniform: str | None = None
) -> str:
    """``expr`` with loads only in lanes where ``condition`` holds; in none if ``uniform`` is false."""
    outer, both = values.mask, condition
    if outer is not None:
        both = values.w.emit(f"and {vector('i1', count)} {outer.value}, {condition}")
        uniform = _both(values, outer.uniform, uniform)
    values.mask = Mask(both, count, uniform)
    try:
        with values.region():
            return _side(values, expr, lanes)
    finally:
        values.mask = outer
