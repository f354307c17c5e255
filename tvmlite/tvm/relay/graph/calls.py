"""Calls between a module's functions: order, recursion, inlining, and conversion to our modules and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.expr import GlobalVar, adopt
from tvmlite.tvm.relay.graph.inferred import mark
from tvmlite.tvm.relay.graph.visit import rebuilt, rewritten


def callees_first(module: IRModule) -> list[str]:
    """The names of the relay functions, each after those it calls; an UnsupportedError for a cycle."""
    functions = {var.name: one for var, one in module.functions.items() if isinstance(one, nodes.Function)}
    order: dict[str, None] = {}
    path: list[tuple[str, Iterator[str]]] = []
    for root in functions:
        path.append((root, iter(called(functions[root]))))
        while path:
            name, rest = path[-1]
            following = next((one for one in rest if one in functions and one not in order), None)
            if following is None:
                order[name] = None
                path.pop()
            elif any(following == one for one, _ in path):
                raise UnsupportedError(
                    f"@{following} calls itself, which is not supported",
                    functions[following].span,
                    hint="relay.Loop of tvmlite repeats a computation",
                )
            else:
                path.append((following, iter(called(functions[following]))))
    return list(order)


def calls_itself(module: IRModule) -> str | None:
    """A function that calls itself, directly or through others, as written in text (``@f``, or ``%f`` for a
    let); None if there is none."""
    calls = {
        var.name: called(one) for var, one in module.functions.items() if isinstance(one, nodes.Function)
    }
    for name, direct in calls.items():
        reached: set[str] = set()
        left = list(direct)
        while left:
            one = left.pop()
            if one not in reached:
                reached.add(one)
                left += calls.get(one, [])
        if name in reached:
            return f"@{name}"
    found: list[Any] = [one for name in calls for one in walk(module[name]) if _is_recursive(one)]
    return f"%{found[0].var.name}" if found else None


def _is_recursive(node: Any) -> bool:
    """Whether ``node`` is a let of a function that calls itself."""
    return (
        isinstance(node, nodes.Let)
        and isinstance(node.value, nodes.Function)
        and any(isinstance(one, nodes.Call) and one.op is node.var for one in walk(node.value.body))
    )


def called(function: Any) -> list[str]:
    """The names of the module's functions that an expression refers to, in order."""
    return [node.name for node in walk(function) if isinstance(node, GlobalVar)]


def to_core(module: IRModule) -> nodes.Module:
    """``module`` as one of our modules, in which calls refer to functions instead of their names."""
    functions: dict[str, nodes.Function] = {}
    for name in callees_first(module):
        functions[name] = with_ops(
            module[name], lambda op: functions[op.name] if isinstance(op, GlobalVar) else op
        )
    ordered = {var.name: functions[var.name] for var in module.functions if var.name in functions}
    names, attrs = module.core
    return nodes.Module(ordered, names, attrs)


def from_core(found: nodes.Module, given: nodes.Module, module: IRModule) -> IRModule:
    """``module`` updated with ``found``, a pass's result for ``given``, which was made of ``module``. Calls
    refer to functions by name again."""
    made = module.copy()
    names = {function: name for name, function in given.functions.items()}
    for name, function in found.functions.items():
        if function is given.functions.get(name):
            continue
        made[name] = adopt(
            with_ops(function, lambda op: GlobalVar(names[op], type_of(op)) if op in names else op)
        )
        mark(made[name])
    return made


def with_ops(function: Any, rule: Callable[[Any], Any]) -> Any:
    """``function`` with ``rule`` applied to each callee that is not an operator, once for each callee."""
    done: dict[Any, Any] = {}

    def replaced(node: Any) -> Any:
        if isinstance(node, nodes.Call) and isinstance(node.op, nodes.Expr):
            if node.op not in done:
                op = rule(node.op)
                unchanged = op is node.op and isinstance(op, nodes.Function)
                done[node.op] = rewrite(op, replaced) if unchanged else op
            op = done[node.op]
            return node if op is node.op else node._with({"op": op})
        return node

    return rewrite(function, replaced)


def inlined(function: Any) -> Any:
    """Inline all calls of functions and all lets in ``function``.

    A function that is used as a value without being called is an UnsupportedError.
    """
    body = _inlined(function.body)
    for node in walk(body):
        if isinstance(node, nodes.Function):
            raise UnsupportedError("a function is a value here, which is not supported", node.span, "call it")
    return function if body is function.body else dataclasses.replace(function, body=body)


def substitute_lets(root: Any) -> Any:
    """``root`` with every let replaced by its body, with the value substituted for the variable."""
    while True:
        made = rewritten(root, _without_let)
        if made is root:
            return root
        root = made


def _without_let(node: Any) -> Any:
    if isinstance(node, nodes.Let):
        return substitute_ops(node.body, {node.var: node.value})
    return node


def _inlined(body: Any) -> Any:
    while True:
        made = rewrite(body, _step)
        if made is body:
            return body
        body = made


def _step(node: Any) -> Any:
    match node:
        case nodes.Let() if _is_recursive(node):
            raise UnsupportedError(
                f"%{node.var.name} calls itself, which is not supported",
                node.span,
                hint="relay.loops.while_loop is compiled, and relay.vm interprets what calls itself",
            )
        case nodes.Let(var=var, value=value, body=body):
            return substitute_ops(body, {var: value})
        case nodes.Call(op=nodes.Function() as function, args=args) if len(args) == len(function.params):
            return substitute_ops(_inlined(function.body), dict(zip(function.params, args, strict=True)))
        case nodes.Call(op=nodes.If(condition=condition, then=then, otherwise=otherwise)):
            calls = [node._with({"op": branch}) for branch in (then, otherwise)]
            return nodes.If(condition, calls[0], calls[1], node.span)
        case nodes.Call(op=nodes.Call() as inner):
            found = _inlined(inner)
            return node if found is inner else node._with({"op": found})
    return node


def substitute_ops(body: Any, mapping: dict[Any, Any]) -> Any:
    """``substitute`` that also replaces callees."""
    return rebuilt(body, dict(mapping))
