"""TVM's ``relay.analysis``: questions about graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.relay.ir.types import FuncType, TensorType, TupleType
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.structural import structural_equal, structural_hash
from tvmlite.tvm.relay.expr import Constant, GlobalVar, Var
from tvmlite.tvm.relay.graph.features import Feature, features
from tvmlite.tvm.relay.graph.multiply_adds import multiply_adds
from tvmlite.tvm.relay.graph.visit import in_order, parts_of
from tvmlite.tvm.relay.transform.normal_forms import is_basic_block_normal


def post_order_visit(expr: Any, fvisit: Callable[[Any], object]) -> None:
    """Call ``fvisit`` with every node, what it is made of first; operators too."""
    seen: set[Any] = set()
    for node in in_order(expr, _value_first):
        if node not in seen:
            seen.add(node)
            fvisit(node)


def free_vars(expr: Any) -> list[Var]:
    """The variables that nothing in ``expr`` binds, in order."""
    bound = set(bound_vars(expr))
    return [var for var in all_vars(expr) if var not in bound]


def bound_vars(expr: Any) -> list[Var]:
    """The variables that functions and lets in ``expr`` bind, the outer ones first."""
    if isinstance(expr, IRModule):
        return [var for function in expr.functions.values() for var in bound_vars(function)]
    bound = {var for node in in_order(expr) for var in _bound_by(node)}
    return [var for var in all_vars(expr) if var in bound]


def _bound_by(node: Any) -> list[Any]:
    """The variables that ``node`` itself binds."""
    found: list[Any] = []
    for name in node.binders if isinstance(node, nodes.Expr) else ():
        value = getattr(node, name)
        found += value if isinstance(value, tuple) else (value,)
    return found


def all_vars(expr: Any) -> list[Any]:
    """Every variable in ``expr``, in order."""
    return [
        node for node in in_order(expr) if isinstance(node, nodes.Var) and not isinstance(node, GlobalVar)
    ]


def _value_first(node: Any) -> list[Any]:
    return [node.value, node.var, node.body] if isinstance(node, nodes.Let) else parts_of(node)


def well_formed(expr: Any) -> bool:
    """Whether no variable is bound twice, nor used outside of what binds it. What nothing binds is free."""
    if isinstance(expr, IRModule):
        return all(map(well_formed, expr.functions.values()))
    free: dict[Any, set[Any]] = {}
    bound: Counter[Any] = Counter()
    for node in in_order(expr):
        own = _bound_by(node)
        bound.update(own)
        if not isinstance(node, nodes.Expr) or isinstance(node, nodes.Var):
            free[node] = {node}
            continue
        free[node] = set().union(*(free[part] for part in parts_of(node))).difference(own)
        if isinstance(node, nodes.Let) and not isinstance(node.value, nodes.Function):
            free[node] |= free[node.value]
    outside = free.get(expr, set())
    return all(count == 1 for count in bound.values()) and bound.keys().isdisjoint(outside)


def check_constant(expr: Any) -> bool:
    """Whether ``expr`` is a constant, or a tuple of such."""
    if isinstance(expr, nodes.Tuple):
        return all(map(check_constant, expr.fields))
    return isinstance(expr, Constant)


def get_total_mac_number(expr: Any) -> int:
    """Multiply-adds of the convolutions and matrix products."""
    return sum(multiply_adds(node) for node in walk(expr) if isinstance(node, nodes.Call))


def list_op_freqs(mod: Any) -> dict[str, int]:
    """How often each operator is called."""
    functions = mod.functions.values() if isinstance(mod, IRModule) else [mod]
    calls = [node for one in functions for node in walk(one) if isinstance(node, nodes.Call)]
    return dict(Counter(str(call.op) for call in calls if isinstance(call.op, str)))


def count_layers(expr: Any, valid_ops: Any) -> int:
    """How many calls of ``valid_ops``, operators or names, are on the path that has most of them."""
    names = {str(one) for one in valid_ops}
    depth: dict[Any, int] = {}
    for node in in_order(expr):
        parts = parts_of(node) if isinstance(node, nodes.Expr) else ()
        deepest = max((depth[part] for part in parts), default=0)
        counts = isinstance(node, nodes.Call) and isinstance(node.op, str) and str(node.op) in names
        depth[node] = deepest + counts
    return max(depth.values(), default=0)


def all_dtypes(expr: Any) -> set[str]:
    """The dtypes of all values."""
    found: set[str] = set()
    stack = [type_of(node) for node in in_order(expr) if isinstance(node, nodes.Expr)]
    while stack:
        type_ = stack.pop()
        if isinstance(type_, TensorType):
            found.add(type_.dtype)
        elif isinstance(type_, TupleType):
            stack.extend(type_.fields)
        elif isinstance(type_, FuncType):
            stack.extend((*type_.params, type_.result))
    return found


def check_basic_block_normal_form(expr: Any) -> bool:
    """Whether no value is used in another block than its own without a let."""
    return is_basic_block_normal(expr)


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """The module whose result is the ``expr_id``-th node of ``main``, in post-order."""
    order = in_order(mod["main"])
    return IRModule.from_expr(order[expr_id])


def detect_feature(a: Any, b: Any = None) -> set[Feature]:
    """The kinds of nodes in an expression, or in all functions of a module; of a module and an expression, in
    either order, those of the expression."""
    expr = b if isinstance(a, IRModule) and b is not None else a
    if isinstance(expr, IRModule):
        return set().union(*(features(one) for one in expr.functions.values()))
    return features(expr)


alpha_equal = structural_equal

__all__ = ["Feature", "alpha_equal", "free_vars", "post_order_visit", "structural_hash"]


__getattr__ = refusing(__name__)
