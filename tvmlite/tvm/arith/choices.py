"""Simplification of choices and conditions, using the condition that holds in each branch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.loop.ir import Load
from tvmlite.te.tensor.tensor import Reduce, TensorRead
from tvmlite.tvm.written import Uncompiled

Simplify = Callable[[e.Expr], e.Expr]
Scope = Callable[[e.Expr], AbstractContextManager[None]]


def negated(condition: e.Expr) -> e.Expr:
    """The negation of the bool ``condition``."""
    match condition:
        case e.Less(a, b) if dtypes.is_int(a.dtype):  # for NaN, neither comparison holds
            return e.LessEqual(b, a)
        case e.LessEqual(a, b) if dtypes.is_int(a.dtype):
            return e.Less(b, a)
        case e.Equal(a, b):
            return e.NotEqual(a, b)
        case e.NotEqual(a, b):
            return e.Equal(a, b)
        case e.And(a, b):
            return e.Or(negated(a), negated(b))
        case e.Or(a, b):
            return e.And(negated(a), negated(b))
        case e.Not(a):
            return a
    return e.Not(condition)


def in_branches_of(root: e.Expr, simplify: Simplify, scope: Scope) -> e.Expr:
    """Apply ``in_branches`` to the outermost choices in ``root``; ``simplify`` handles those in branches.
    Simplified branches no longer share nodes, so a choice that is larger than ``_LARGEST`` as a tree is left
    unchanged."""
    outer, stack = set(), [root]
    while stack:
        node = stack.pop()
        if node not in outer:
            outer.add(node)
            stack += _always(node)
    done: dict[Any, Any] = {}
    size: dict[Any, int] = {}  # of each node as a tree
    for node in postorder(root):
        size[node] = 1 + sum(size[child] for child in node.children())
        made = node.map_children(done.__getitem__)
        may_split = node in outer and size[node] <= _LARGEST
        done[node] = in_branches(made, simplify, scope) if may_split else made
    return done[root]


_LARGEST = 200
"""The most nodes of a choice whose branches are simplified; shared nodes are counted at each use."""


def _always(node: Any) -> list[Any]:
    """The children of ``node`` that are evaluated unconditionally."""
    match node:
        case e.Select(first, _, _) | e.Call("if_then_else", (first, _, _)) | e.And(first, _) | e.Or(first, _):
            return [first]
    return list(node.children())


def in_branches(node: Any, simplify: Simplify, scope: Scope) -> Any:
    """``node`` with the branches of a choice simplified under their conditions, and with ``b`` in ``a and b``
    or ``a or b`` simplified for the values of ``a`` that do not decide the result."""
    if not isinstance(node, e.Expr) or node.lanes != 1:
        return node
    match node:
        case e.Select(_, a, b) | e.And(a, b) | e.Or(a, b) if _may_fail(a) or _may_fail(b):
            return node  # both are computed: keep a minimum or a maximum that makes an operation safe
        case e.Select(condition, a, b) | e.Call("if_then_else", (condition, a, b)):
            with scope(condition):
                a = simplify(a)
            with scope(negated(condition)):
                b = simplify(b)
            return a if alike(a, b) else _choice(node, condition, a, b)
        case e.And(a, b):
            if alike(a, negated(b)):
                return e.const(False)
            with scope(a):
                return e.fold(e.And, a, simplify(b))
        case e.Or(a, b):
            if alike(a, negated(b)):
                return e.const(True)
            with scope(negated(a)):
                return e.fold(e.Or, a, simplify(b))
        case e.Not(a):
            return negated(a)
    return node


def _may_fail(root: e.Expr) -> bool:
    """Whether ``root`` reads memory, calls functions, or divides by a non-constant."""
    divisions = (e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod)
    return any(
        not isinstance(one.b, e.Const) if isinstance(one, divisions) else isinstance(one, _UNSAFE)
        for one in postorder(root)
    )


_UNSAFE = (e.Foreign, Load, Reduce, TensorRead, Uncompiled)


def _choice(node: e.Expr, condition: e.Expr, a: e.Expr, b: e.Expr) -> e.Expr:
    """A choice between ``a`` and ``b`` of the same kind as ``node``. If ``a`` is itself a choice between
    some value and ``b``, the two become one choice by both conditions."""
    match a:
        case e.Select(inner, x, y) | e.Call("if_then_else", (inner, x, y)):
            if type(a) is type(node) and alike(y, b) and not _may_fail(inner):
                condition, a = e.And(condition, inner), x
    if isinstance(node, e.Select):
        return e.Select(condition, a, b)
    branches = iter((condition, a, b))
    return node.map_children(lambda _: next(branches))


def merged(node: Any) -> Any:
    """An operation with a choice as operand, rewritten as a choice between two operations; else ``node``."""
    if not isinstance(node, (e.Add, e.Sub, e.Min, e.Max)) or node.lanes != 1:
        return node
    kind = type(node)
    match node.a, node.b:
        case e.Select(c, a, b), e.Select(d, x, y) if alike(c, d):
            return e.Select(c, e.fold(kind, a, x), e.fold(kind, b, y))
        case e.Select(c, a, b), other:
            return e.Select(c, e.fold(kind, a, other), e.fold(kind, b, other))
        case other, e.Select(c, a, b):
            return e.Select(c, e.fold(kind, other, a), e.fold(kind, other, b))
    return node
