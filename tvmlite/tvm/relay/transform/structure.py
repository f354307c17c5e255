"""Passes that change which functions there are and what calls what, and not what is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import Pass, PassContext, PassInfo
from tvmlite.tvm.relay.expr import GlobalVar, adopt
from tvmlite.tvm.relay.graph.calls import called, substitute_ops
from tvmlite.tvm.relay.transform.functions import over_functions


def DefuseOps() -> Pass:
    """The pass that puts the operators of each fused group in the place of its call."""
    return over_functions("DefuseOps", 0, lambda function: adopt(_without_groups(function)))


def _without_groups(function: Any) -> Any:
    def rule(node: Any) -> Any:
        if isinstance(node, nodes.Call) and isinstance(node.op, nodes.Function):
            group = node.op
            if dict(group.attrs).get("Primitive"):
                return substitute_ops(group.body, dict(zip(group.params, node.args, strict=True)))
        return node

    return rewrite(function, rule)


def Inline() -> Pass:
    """The pass that puts the body of a function marked ``Inline`` in the place of its calls."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        made = mod.copy()
        for var, function in mod.functions.items():
            if isinstance(function, nodes.Function):
                made[var] = adopt(_inlined(function, mod))
        return made

    return Pass(PassInfo(1, "Inline"), run)


def _inlined(function: Any, mod: IRModule) -> Any:
    def rule(node: Any) -> Any:
        if not isinstance(node, nodes.Call):
            return node
        target: Any = mod[node.op] if isinstance(node.op, GlobalVar) else node.op
        if isinstance(target, nodes.Function) and dict(target.attrs).get("Inline"):
            body = _inlined(target, mod).body
            return substitute_ops(body, dict(zip(target.params, node.args, strict=True)))
        return node

    return rewrite(function, rule)


def RemoveUnusedFunctions(entry_functions: Sequence[str] | None = None) -> Pass:
    """The pass that keeps the functions that ``entry_functions`` (``main``) call, and those."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        kept = list(entry_functions or ("main",))
        for name in kept:  # it grows
            kept += [one for one in called(mod[name]) if one not in kept and one in mod]
        made = mod.copy()
        made.functions = {var: one for var, one in mod.functions.items() if var.name in kept}
        return made

    return Pass(PassInfo(1, "RemoveUnusedFunctions"), run)


def AnnotateSpans() -> Pass:
    """The pass that leaves a module as it is: every node has the line that made it from the start."""
    return Pass(PassInfo(0, "AnnotateSpans"), lambda mod, context: mod)


def DynamicToStatic() -> Pass:
    """The pass that leaves a module as it is: shapes that are constants are attributes from the start."""
    return Pass(PassInfo(2, "DynamicToStatic"), lambda mod, context: mod)
