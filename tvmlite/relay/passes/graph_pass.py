"""What every pass over graphs shares: how a rule on bodies becomes a pass on modules."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Expr, Function, Module


def graph_pass(rule: Callable[..., Expr]) -> Callable[..., Module]:
    """``rule``, from the body of a function to its new body, as a pass over every function of a module.

    The same module comes back if ``rule`` leaves every body as it is. What else ``rule`` takes, the pass
    takes behind the module.
    """

    @functools.wraps(rule)
    def run(module: Module, *options: Any) -> Module:
        return map_functions(module, lambda body: rule(body, *options))

    return run


def with_options(one: Callable[..., Module], *options: Any) -> Callable[[Module], Module]:
    """The pass ``one`` with what it takes behind the module, under its own name."""

    @functools.wraps(one)
    def run(module: Module) -> Module:
        return one(module, *options)

    return run


def rebuild(body: Expr, rule: Callable[[Expr, Expr], Expr]) -> Expr:
    """``body`` with each node replaced, bottom-up: as ``core.node.rewrite``, for rules that know nodes of
    ``body``. ``rule`` takes such a node and the same of replaced children, and gives what replaces it."""
    done: dict[Expr, Expr] = {}
    for node in postorder(body):
        assert isinstance(node, Expr)
        done[node] = rule(node, node.map_children(done.__getitem__))
    return done[body]


def readers_of(body: Expr) -> dict[Expr, list[Expr | None]]:
    """The nodes that read each node of ``body``, once for each time; None is who called the function."""
    readers: dict[Expr, list[Expr | None]] = {body: [None]}
    for node in postorder(body):
        for child in node.children():
            readers.setdefault(child, []).append(node)  # type: ignore[arg-type]
    return readers


def map_functions(module: Module, rule: Callable[[Expr], Expr]) -> Module:
    """``module`` with ``rule`` applied to the body of each function; itself if nothing changed."""
    changed: dict[str, Function] = {}
    for name, function in module.functions.items():
        body = rule(function.body)
        if body is not function.body:
            changed[name] = dataclasses.replace(function, body=body)
    return dataclasses.replace(module, functions={**module.functions, **changed}) if changed else module
