"""Dead code and common subexpression elimination, with the results of TVM's passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import walk
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import ModulePass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.calls import substitute_ops, with_ops
from tvmlite.tvm.relay.graph.visit import in_order, rewritten
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.infer_type import typed


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> Pass:
    """A pass that removes lets whose variables are not read. With ``inline_once``, it also inlines lets whose
    variables are read once, unless inside a function, which may be called several times.
    ``ignore_impurity`` has no effect: no operator has side effects."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        made = typed(mod)
        for var, function in list(made.functions.items()):
            if isinstance(function, nodes.Function):
                made[var] = adopt(_without_dead(function, inline_once))
        return typed(made)

    return ModulePass(PassInfo(1, "DeadCodeElimination", ["InferType"]), run)


def _without_dead(function: Any, inline_once: bool) -> Any:
    while True:
        uses = Counter(
            child for node in walk(function) for child in _read(node) if isinstance(child, nodes.Var)
        )
        kept = _read_in_functions(function) if inline_once else set()

        def rule(node: Any, uses: Counter[Any] = uses, kept: set[Any] = kept) -> Any:
            if not isinstance(node, nodes.Let):
                return node
            count = uses[node.var]
            if count == 0 or _only_itself(node, count):
                return node.body
            if inline_once and count == 1 and node.var not in kept:
                return substitute_ops(node.body, {node.var: node.value})
            return node

        made = with_ops(rewrite(function, rule), lambda op: rewrite(op, rule))
        if made is function:
            return function
        function = made


def _read_in_functions(function: Any) -> set[Any]:
    """The variables that functions inside ``function`` read and do not bind."""
    found: set[Any] = set()
    for inner in in_order(function.body):
        if not isinstance(inner, nodes.Function):
            continue
        inside = in_order(inner)
        bound = {one.var for one in inside if isinstance(one, nodes.Let)}
        bound.update(param for one in inside if isinstance(one, nodes.Function) for param in one.params)
        found.update(one for one in inside if isinstance(one, nodes.Var) and one not in bound)
    return found


def _only_itself(let: nodes.Let, count: int) -> bool:
    """Whether the variable of ``let`` is read only in its own value."""
    own = Counter(child for node in walk(let.value) for child in _read(node))
    return own[let.var] == count


def _read(node: Any) -> list[Any]:
    op = [node.op] if isinstance(node, nodes.Call) and isinstance(node.op, nodes.Expr) else []
    return [*node.children(), *op]


def EliminateCommonSubexpr(fskip: Callable[[Any], bool] | None = None) -> Pass:
    """A pass that merges equal operator calls and equal tuple fields. A node for which ``fskip`` returns True
    is not merged."""
    return over_functions(
        "EliminateCommonSubexpr", 3, lambda one: adopt(_with_equal_as_one(one, fskip)), infer=True
    )


def _with_equal_as_one(function: Any, fskip: Callable[[Any], bool] | None) -> Any:
    found: dict[Any, Any] = {}

    def rule(node: Any) -> Any:
        match node:
            case nodes.Call(op=str() as op, args=args, attrs=attrs):
                key: Any = ("call", str(op), tuple(map(_identity, args)), tuple(attrs))
            case nodes.TupleGetItem(value=value, index=index):
                key = ("field", value, index)
            case _:
                return node
        if fskip is not None and fskip(adopt(node)):
            return node
        return found.setdefault(key, node)

    return rewritten(function, rule)


def _identity(arg: Any) -> Any:
    """The key by which arguments are equal: a scalar constant's value, a tuple's fields, else the node."""
    if isinstance(arg, nodes.Constant) and arg.size == 1:
        return ("scalar", arg.data.dtype.name, arg.shape, arg.data.tobytes())
    if isinstance(arg, nodes.Tuple):
        return ("tuple", *map(_identity, arg.fields))
    return arg
