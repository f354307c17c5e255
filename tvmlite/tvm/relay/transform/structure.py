"""Passes that change the structure of functions and calls, but not what is computed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import is_
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.op import Fuse, fuse_class
from tvmlite.tvm.absent import missing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import FunctionPass, ModulePass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import Call, Function, GlobalVar, Var, adopt
from tvmlite.tvm.relay.graph.calls import called, substitute_ops
from tvmlite.tvm.relay.graph.visit import in_order, instance, rebuilt, rewritten
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.infer_type import typed


def DefuseOps() -> Pass:
    """A pass that inlines each call of a function literal, which is how fused groups are written."""
    return over_functions("DefuseOps", 3, lambda function: adopt(_without_groups(function)), infer=True)


def _without_groups(function: Any) -> Any:
    def rule(node: Any) -> Any:
        if isinstance(node, nodes.Call) and isinstance(node.op, nodes.Function):
            group = _without_groups(node.op)
            return substitute_ops(group.body, dict(zip(group.params, node.args, strict=True)))
        return node

    return rewrite(function, rule)


def CanonicalizeCast() -> Pass:
    """A pass that duplicates a widening cast for each elementwise or broadcast operator that reads it, so
    that fused groups exchange the narrow values."""
    return over_functions("CanonicalizeCast", 3, lambda one: adopt(_with_own_casts(one)), infer=True)


def _with_own_casts(function: Any) -> Any:
    seen: set[Any] = set()

    def own(arg: Any) -> Any:
        if not isinstance(arg, nodes.Call) or arg.op != "cast":
            return arg
        widens = dtypes.bits(tensor_type_of(arg.args[0]).dtype) < dtypes.bits(arg["dtype"])
        if not widens or arg not in seen:
            seen.add(arg)
            return arg
        return arg._with({})

    def rule(node: Any) -> Any:
        if not isinstance(node, nodes.Call) or not isinstance(node.op, str):
            return node
        level = fuse_class(node)
        args = tuple(map(own, node.args)) if level is not None and level <= Fuse.BROADCAST else node.args
        return node if all(map(is_, args, node.args)) else node._with({"args": args})

    return rewritten(function, rule)


def EtaExpand(expand_constructor: bool = False, expand_global_var: bool = False) -> Pass:
    """A pass that, with ``expand_global_var``, replaces a function of the module that is used as a value by a
    function that calls it. ``expand_constructor`` is an error: there are no algebraic data types."""
    if expand_constructor:
        missing("EtaExpand(expand_constructor=True)", "there are no algebraic data types")()

    def run(mod: IRModule, context: PassContext) -> IRModule:
        made = mod.copy()
        for var, function in mod.functions.items():
            if isinstance(function, nodes.Function) and expand_global_var:
                made[var] = adopt(rebuilt(function, {}, lambda old, new: _called(new, mod)))
        return made

    return ModulePass(PassInfo(1, "EtaExpand"), run)


def _called(node: Any, mod: IRModule) -> Any:
    """``node`` with global variables among its operands replaced by functions that call them."""

    def expanded(part: Any) -> Any:
        if not isinstance(part, GlobalVar):
            return part
        target = mod[part]
        params = [Var(param.name, param.type, param.span) for param in target.params]
        return Function(params, Call(part, params), target.ret_type)

    return node.map_children(expanded)


def Inline() -> Pass:
    """A pass that inlines functions with the attribute ``Inline`` (one for another compiler as a function
    literal) and removes those that are no longer referenced. Functions that call themselves are not inlined;
    functions that were never referenced are kept."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        made = mod.copy()
        relay = {var.name: one for var, one in mod.functions.items() if isinstance(one, nodes.Function)}
        callees = {name: called(one) for name, one in relay.items()}
        ready = {
            name: one
            for name, one in relay.items()
            if dict(one.attrs).get("Inline") and name not in _reached(callees, name)
        }
        for name, function in relay.items():
            made[name] = adopt(_inlined(function, ready))
        before = {name for names in callees.values() for name in names}
        after = {name for one in made.functions.values() for name in called(one)}
        gone = ready.keys() & before - after
        made.functions = {var: one for var, one in made.functions.items() if var.name not in gone}
        return made

    return ModulePass(PassInfo(1, "InlineGlobals"), run)


def _reached(callees: dict[str, list[str]], name: str) -> set[str]:
    """The functions that ``name`` calls, directly or through others."""
    found: set[str] = set()
    left = list(callees[name])
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += callees.get(one, [])
    return found


def _inlined(function: Any, ready: dict[str, Any]) -> Any:
    """``function`` with the functions ``ready`` inlined, repeatedly, until no reference to them is left."""

    def rule(old: Any, new: Any) -> Any:
        if isinstance(old, GlobalVar):
            return ready.get(old.name, old)
        if isinstance(old, nodes.Call) and isinstance(old.op, GlobalVar) and old.op.name in ready:
            target = ready[old.op.name]
            if "Compiler" not in dict(target.attrs):
                return instance(target, new.args)
        return new

    while True:
        made = rebuilt(function, {}, rule)
        if made is function:
            return function
        function = made


def LambdaLift() -> Pass:
    """A pass that converts each nested function into a function of the module. A function with free variables
    becomes a function of these, with the attribute ``Closure``, that returns the function. The function of a
    let may call itself. Fused groups and functions for other compilers are not lifted."""

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
    """Lifts the nested functions out of one function of the module."""

    def __init__(self, mod: IRModule, function: Any) -> None:
        self._mod = mod
        self._own = {
            node.value: node.var
            for node in in_order(function)
            if isinstance(node, nodes.Let) and isinstance(node.value, nodes.Function)
        }
        """The let variables by which nested functions can call themselves."""

    def run(self, body: Any) -> Any:
        """``body`` with references to the lifted functions."""
        return rebuilt(body, {}, self._taken_out)

    def _taken_out(self, old: Any, new: Any) -> Any:
        if not isinstance(old, nodes.Function) or _stays(old):
            return new
        own = self._own.get(old)
        read = [var for var in nodes.free_variables(in_order(old)) if not isinstance(var, GlobalVar)]
        outer = [var for var in read if var is not own]
        name = next(name for name in map("lifted_name{}".format, count()) if name not in self._mod)
        params = [Var(var.name, var.type, var.span) for var in outer]
        within: dict[Any, Any] = dict(zip(outer, params, strict=True))
        if own is not None:
            within[own] = _lifted(name, params)
        result = ty.adopted(type_of(old.body))
        inner = adopt(substitute_ops(new, within)._with({"declared": result}))
        whole = Function(params, inner, ty.adopted(type_of(old)), attrs={"Closure": 1}) if outer else inner
        self._mod[name] = whole
        return _lifted(name, outer)


def _lifted(name: str, outer: list[Any]) -> Any:
    """A reference to the function that was lifted as ``name``, applied to its free variables ``outer``."""
    return Call(GlobalVar(name), outer) if outer else GlobalVar(name)


def RemoveUnusedFunctions(entry_functions: Sequence[str] | None = None) -> Pass:
    """A pass that removes functions not reachable from ``entry_functions`` (default ``main``)."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        kept = list(entry_functions or ("main",))
        for name in kept:  # the list grows in the loop
            kept += [one for one in called(mod[name]) if one not in kept and one in mod]
        made = mod.copy()
        made.functions = {var: one for var, one in mod.functions.items() if var.name in kept}
        return made

    return ModulePass(PassInfo(1, "RemoveUnusedFunctions"), run)


def AnnotateSpans() -> Pass:
    """A pass without effect: nodes have the source line that created them from the start."""
    return ModulePass(PassInfo(0, "AnnotateSpans"), lambda mod, context: mod)


def LazyGradientInit() -> Pass:
    """A pass without effect: zeros and ones are created in the kernels that read them."""
    return FunctionPass(PassInfo(2, "LazyGradientInit"), lambda mod, context: mod)
