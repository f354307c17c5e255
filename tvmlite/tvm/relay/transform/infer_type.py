"""``InferType``: infers the types of all variables and checks all expressions."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.tvm.ir.module import IRModule, as_function
from tvmlite.tvm.ir.transform import ModulePass, Pass, PassInfo
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.calls import called, callees_first
from tvmlite.tvm.relay.graph.infer import infer


def typed(mod: IRModule) -> IRModule:
    """``mod`` with types for all functions. A recursive function must declare its types, or have a branch
    without the recursive call, from which its result type is inferred."""
    made = mod.copy()
    signatures: dict[str, Any] = {}
    for var, function in mod.functions.items():
        declared = getattr(function, "declared", None)
        if isinstance(function, nodes.Function) and declared is not None:
            signature = ty.FuncType([param.type for param in function.params], declared)
            if ty.is_complete(signature):
                signatures[var.name] = signature
    try:
        order = callees_first(mod)
    except UnsupportedError:
        order = [var.name for var in mod.functions]
        for name in order:
            if name not in signatures:
                signatures[name] = ty.adopted(type_of(infer(_without_recursion(mod[name], name), signatures)))
    for name in order:
        made[name] = infer(mod[name], signatures)
        signatures[name] = ty.adopted(type_of(made[name]))
    return made


def _without_recursion(function: Any, name: str) -> Any:
    """``function`` with each ``if`` that calls ``name`` in only one branch replaced by the other branch. The
    type of the result is that of ``function``."""

    def rule(node: Any) -> Any:
        if isinstance(node, nodes.If):
            then, otherwise = (name in called(branch) for branch in (node.then, node.otherwise))
            return node.otherwise if then and not otherwise else node.then if otherwise and not then else node
        return node

    return adopt(rewrite(function, rule))


def InferType() -> Pass:
    """A pass that infers the types of all variables and checks all expressions."""
    return ModulePass(PassInfo(0, "InferType"), lambda mod, context: typed(mod))


def InferTypeLocal(expr: Any) -> Any:
    """Infer the type of an expression, including unannotated variables in it."""
    function = infer(as_function(expr))
    whole = isinstance(expr, nodes.Function)
    return function.checked_type if whole else function.body.checked_type
