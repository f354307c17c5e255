"""Functions shared by all graph passes: how a rule on function bodies becomes a pass on modules."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Expr, Function, Module


def graph_pass(rule: Callable[..., Expr]) -> Callable[..., Module]:
    """Turn ``rule``, from the body of a function to its new body, into a pass over every function of a
    module.

    The pass returns the same module if ``rule`` changes no body. Further arguments of ``rule`` follow the
    module in the pass's parameters.
    """

    @functools.wraps(rule)
    def run(module: Module, *options: Any) -> Module:
        return map_functions(module, lambda body: rule(body, *options))

    return run


def with_options(one: Callable[..., Module], *options: Any) -> Callable[[Module], Module]:
    """The pass ``one`` with ``options`` bound to its parameters after the module, under its own name."""

    @functools.wraps(one)
    def run(module: Module) -> Module:
        return one(module, *options)

    return run


def rebuild(body: Expr, rule: Callable[[Expr, Expr], Expr]) -> Expr:
    """Replace each node of ``body``, bottom-up, like ``core.node.rewrite``, for rules that know nodes of
    ``body``: ``rule`` maps a node and its copy with replaced children to the replacement."""
    done: dict[Expr, Expr] = {}
    for node in postorder(body):
        assert isinstance(node, Expr)
        done[node] = rule(node, node.map_children(done.__getitem__))
    return done[body]


def readers_of(body: Expr) -> dict[Expr, list[Expr | None]]:
    """The readers of each node of ``body``, once per use; None stands for the caller of the function."""
    readers: dict[Expr, list[Expr | None]] = {body: [None]}
    for node in postorder(body):
        for child in node.children():
            readers.setdefault(child, []).append(node)  # type: ignore[arg-type]
    return readers


def map_functions(module: Module, rule: Callable[[Expr], Expr]) -> Module:
    """``module`` with ``rule`` applied to the body of each function; the same module if nothing changed."""
    changed: dict[str, Function] = {}
    for name, function in module.functions.items():
        body = rule(function.body)
        if body is not function.body:
            changed[name] = dataclasses.replace(function, body=body)
    return dataclasses.replace(module, functions={**module.functions, **changed}) if changed else module
