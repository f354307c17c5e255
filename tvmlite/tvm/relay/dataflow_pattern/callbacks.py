"""Rewrites expressions by callbacks for patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.structural import structural_equal
from tvmlite.tvm.ir.transform import called
from tvmlite.tvm.relay.dataflow_pattern.groups import groups
from tvmlite.tvm.relay.dataflow_pattern.patterns import DFPattern
from tvmlite.tvm.relay.expr import Function, adopt, expr_of
from tvmlite.tvm.relay.graph.visit import rebuilt
from tvmlite.tvm.relay.transform.infer_type import InferType

_MOST_ROUNDS = 100
_LARGEST = 100
"""The factor by which the expression may grow: callbacks that do not terminate can double it every round."""


class DFPatternCallback:
    """The base class of rewrites: subclasses set ``pattern`` and define ``callback``, which is called for
    each match.

    With ``require_type``, types are inferred before each round; with ``rewrite_once``, there is only one
    round.
    """

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type, self.rewrite_once = require_type, rewrite_once

    def rewrite(self, expr: Any) -> Any:
        """Replace all matches in ``expr``, repeatedly; see ``rewrite``."""
        return rewrite(self, expr)

    def callback(self, pre: Any, post: Any, node_map: dict[DFPattern, list[Any]]) -> Any:
        """Return the replacement for the match ``pre``. ``post`` is ``pre`` with rewritten operands;
        ``node_map`` has the expressions, also rewritten, that each part of the pattern matched."""
        raise NotImplementedError(f"{type(self).__name__} has no method callback")


def rewrite(callbacks: Any, expr: Any, mod: Any = None) -> Any:
    """Replace the matches of all callbacks in ``expr`` until nothing changes. ``mod`` has the functions that
    ``expr`` refers to, for type inference."""
    made = expr_of("rewrite: expr", expr)
    every: Sequence[Any] = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    for one in every:
        if not isinstance(one, DFPatternCallback) or not isinstance(getattr(one, "pattern", None), DFPattern):
            raise InputError(f"rewrite: {show(one)} given, expected a DFPatternCallback with a pattern")
    largest = _LARGEST * (1 + len(list(postorder(made))))
    rounds, left = 0, list(every)
    while rounds < _MOST_ROUNDS and len(list(postorder(made))) < largest:
        before, rounds = made, rounds + 1
        for one in left:
            made = _applied(one, made, mod)
        left = [one for one in left if not getattr(one, "rewrite_once", False)]
        if not left or made is before or structural_equal(made, before, map_free_vars=True):
            return made
    raise InputError(f"rewrite: the callbacks still change the expression after {rounds} rounds")


def _applied(callback: DFPatternCallback, expr: Any, mod: Any) -> Any:
    """``expr`` after one round of replacements by ``callback``."""
    if getattr(callback, "require_type", False):
        expr = _typed(expr, mod)
    found = groups(callback.pattern, expr)
    made: dict[Any, Any] = {}

    def rule(pre: Any, post: Any) -> Any:
        if pre not in found:
            return post
        parts = {
            part: [made.get(one, post if one is pre else one) for one in exprs]
            for part, exprs in found[pre].found.items()
        }
        given = called(callback.callback, pre, adopt(post), parts)
        return expr_of("the result of callback", given)

    return adopt(rebuilt(expr, made, rule)) if found else expr


def _typed(expr: Any, mod: Any) -> Any:
    functions = {} if mod is None else {var: one for var, one in mod.functions.items() if var.name != "main"}
    main = InferType()(IRModule.from_expr(expr, functions))["main"]
    return main if isinstance(expr, Function) else main.body
