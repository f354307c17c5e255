"""``LambdaLift``: functions inside of functions become functions of the module."""

from __future__ import annotations

from itertools import count
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import ModulePass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import Call, Function, GlobalVar, Var, adopt
from tvmlite.tvm.relay.graph.calls import substitute_ops
from tvmlite.tvm.relay.graph.visit import in_order, rebuilt
from tvmlite.tvm.relay.transform.infer_type import typed


def LambdaLift() -> Pass:
    """The pass that makes each function inside of another a function of the module. One that reads variables
    from outside becomes a function of these, marked ``Closure``, which gives the function; one that is the
    value of a let may call itself. Groups of fused operators, and functions for other compilers, stay."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        made = typed(mod)
        for var, function in list(made.functions.items()):
            if isinstance(function, nodes.Function) and not _stays(function):
                body = _Lifting(made, function).run(function.body)
                made[var] = adopt(function._with({"body": body}))
        return typed(made)

    return ModulePass(PassInfo(1, "LambdaLift"), run)


def _stays(function: Any) -> bool:
    attrs = dict(function.attrs)
    return bool(attrs.get("Primitive")) or "Compiler" in attrs


class _Lifting:
    """Takes the functions out of one function of the module."""

    def __init__(self, mod: IRModule, function: Any) -> None:
        self._mod = mod
        self._own = {
            node.value: node.var
            for node in in_order(function)
            if isinstance(node, nodes.Let) and isinstance(node.value, nodes.Function)
        }
        """The variables by which functions can call themselves."""

    def run(self, body: Any) -> Any:
        """``body`` with what stands for the functions in it."""
        return rebuilt(body, {}, self._lifted)

    def _lifted(self, old: Any, new: Any) -> Any:
        if not isinstance(old, nodes.Function) or _stays(old):
            return new
        own = self._own.get(old)
        read = [var for var in nodes.free_variables(in_order(old)) if not isinstance(var, GlobalVar)]
        outer = [var for var in read if var is not own]
        name = next(name for name in map("lifted_name{}".format, count()) if name not in self._mod)
        params = [Var(var.name, var.type, var.span) for var in outer]
        within: dict[Any, Any] = dict(zip(outer, params, strict=True))
        if own is not None:
            within[own] = _of(name, params)
        result = ty.adopted(type_of(old.body))
        inner = adopt(substitute_ops(new, within)._with({"declared": result}))
        whole = Function(params, inner, ty.adopted(type_of(old)), attrs={"Closure": 1}) if outer else inner
        self._mod[name] = whole
        return _of(name, outer)


def _of(name: str, outer: list[Any]) -> Any:
    """The function that was lifted as ``name``, which reads ``outer``."""
    return Call(GlobalVar(name), outer) if outer else GlobalVar(name)
