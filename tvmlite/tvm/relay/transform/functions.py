"""How a function of one kind of thing becomes a pass."""

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
    """The pass ``name`` that replaces every relay function by what ``rule`` makes of it; ``infer``: of one
    whose variables have types, and ``InferType`` follows. ``required`` are passes that a ``Sequential`` runs
    before: ``InferType`` for one that infers, if nothing else is given. Functions for another
    compiler stay as they are."""
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
    """The pass ``name`` that is a pass of ours over modules; ``InferType`` follows. ``required`` are passes
    that a ``Sequential`` runs before."""

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
    """Whether ``PartitionGraph``, or a program itself, marked ``function``: its compiler optimizes it."""
    return isinstance(function, nodes.Function) and "Compiler" in dict(function.attrs)


def _in_local_functions(
    module: nodes.Module, given: nodes.Module, rule: Callable[[nodes.Module], nodes.Module]
) -> nodes.Module:
    """``module`` with ``rule`` applied to functions that are called and are not of the ``given`` module, each
    by itself; groups of fused operators stay."""
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
    """``tvm.transform.function_pass``, of functions of relay."""
    return transform.function_pass(pass_func, opt_level, name, required, traceable)


def by_name(name: str) -> Pass:
    """The pass ``name``, which takes no arguments; an UnsupportedError if there is none."""
    found = getattr(importlib.import_module("tvmlite.tvm.relay.transform"), name, None)
    if found is None:
        raise UnsupportedError(
            f"there is no pass {show(name)}, which another pass requires", Span.of_caller()
        )
    return found()
