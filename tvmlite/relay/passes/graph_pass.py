"""What every pass over graphs shares: how a rule on bodies becomes a pass on modules."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

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


def map_functions(module: Module, rule: Callable[[Expr], Expr]) -> Module:
    """``module`` with ``rule`` applied to the body of each function; itself if nothing changed."""
    changed: dict[str, Function] = {}
    for name, function in module.functions.items():
        body = rule(function.body)
        if body is not function.body:
            changed[name] = dataclasses.replace(function, body=body)
    return dataclasses.replace(module, functions={**module.functions, **changed}) if changed else module
