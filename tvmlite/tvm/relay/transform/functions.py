"""Helpers that make passes from functions over relay functions or over our modules."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.ir import transform
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import FunctionPass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay.graph.calls import from_core, to_core, with_ops
from tvmlite.tvm.relay.transform.infer_type import InferType, typed


def over_functions(
    name: str,
    level: int,
    rule: Callable[[Any], Any],
    infer: bool = False,
    required: Sequence[str] | None = None,
) -> Pass:
    """Make a pass ``name`` that replaces every relay function by ``rule(function)``. With ``infer``, types
    are inferred before and after. ``required`` lists the passes that a ``Sequential`` runs before it; by
    default, ``InferType`` if ``infer``, else none. Functions for another compiler are not changed."""
    if required is None:
        required = ("InferType",) if infer else ()

    def run(mod: IRModule, context: PassContext) -> IRModule:
        mod = typed(mod) if infer else mod
        made = mod.copy()
        for var, function in mod.functions.items():
            if isinstance(function, nodes.Function) and not is_for_another_compiler(function):
                made[var] = rule(function)
        return InferType()(made) if infer else made

    return FunctionPass(PassInfo(level, name, required), run)


def of_ours(
    name: str,
    level: int,
    rule: Callable[[nodes.Module], nodes.Module],
    required: Sequence[str] = ("InferType",),
) -> Pass:
    """Make a pass ``name`` from ``rule``, a pass over our modules; types are inferred afterwards.
    ``required`` lists the passes that a ``Sequential`` runs before it."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        mod = typed(mod)
        given = to_core(mod)
        made = from_core(_in_local_functions(rule(given), given, rule), given, mod)
        for var, function in mod.functions.items():
            if is_for_another_compiler(function):
                made[var] = function
        return InferType()(made)

    return FunctionPass(PassInfo(level, name, required), run)


def is_for_another_compiler(function: Any) -> bool:
    """Whether ``function`` has the attribute ``Compiler`` (from ``PartitionGraph`` or the program): our
    passes leave such functions to that compiler."""
    return isinstance(function, nodes.Function) and "Compiler" in dict(function.attrs)


def _in_local_functions(
    module: nodes.Module, given: nodes.Module, rule: Callable[[nodes.Module], nodes.Module]
) -> nodes.Module:
    """``module`` with ``rule`` applied separately to each called function that is not a function of the
    ``given`` module. Fused groups are not changed."""
    own = set(given.functions.values())

    def made(op: Any) -> Any:
        if not isinstance(op, nodes.Function) or op in own or dict(op.attrs).get("Primitive"):
            return op
        return rule(nodes.Module({"main": op})).functions["main"]

    functions = {name: with_ops(one, made) for name, one in module.functions.items()}
    return dataclasses.replace(module, functions=functions)


def function_pass(
    pass_func: Any = None,
    opt_level: Any = None,
    name: Any = None,
    required: Any = None,
    traceable: bool = False,
) -> Any:
    """``tvm.transform.function_pass`` for relay functions."""
    return transform.function_pass(pass_func, opt_level, name, required, traceable)


def by_name(name: str) -> Pass:
    """The pass ``name`` with default arguments; an UnsupportedError if there is no such pass."""
    found = getattr(importlib.import_module("tvmlite.tvm.relay.transform"), name, None)
    if found is None:
        raise UnsupportedError(
            f"there is no pass {show(name)}, which another pass requires", Span.of_caller()
        )
    return found()
