"""Expand transcendental functions into plain arithmetic, and make multiply-adds explicit, before code is
generated from a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from tvmlite.core.node import reachable, rewrite, substitute
from tvmlite.machine.target import Target
from tvmlite.te.codegen.contraction import contract
from tvmlite.te.codegen.math import functions
from tvmlite.te.expr import Call, Cast, ContractedAdd, ContractedSub, Expr, Var, contracted
from tvmlite.te.loop.ir import Function

FLOAT32 = {
    "exp": functions.exp,
    "log": functions.log,
    "log2": functions.log2,
    "log10": functions.log10,
    "tanh": functions.tanh,
    "erf": functions.erf,
}
"""Those with a float32 formula of their own."""

LIBRARY = frozenset(
    (
        "exp log log2 log10 tanh erf sin cos tan asin acos atan sinh cosh asinh acosh atanh atan2 pow fmod"
    ).split()
)
"""Those that, unless expanded, are calls of the C library, in float32 (``sinf``) or float64 (``sin``)."""

_SCALED = {"exp": functions.exp, "sigmoid": functions.sigmoid}

_HALVES = ("float16", "bfloat16")


def expand_intrinsics(
    function: Function, target: Target | None = None, either: frozenset[int] = frozenset()
) -> Function:
    """``function`` with its float32 exp, log, log2, log10, tanh, sigmoid and erf expanded to arithmetic.

    The same in float16 and bfloat16 is computed in float32 and rounded once. What is left for the C library
    (see LIBRARY) is in float32 or float64 only; ``rsqrt`` and ``sigmoid`` are always expanded. Where vectors
    of ``target`` can be scaled by powers of two (``scaled_vectors``), they are, by ``SCALE``. Vectors of as
    many lanes as are in ``either`` get both forms.

    A contracted sum that has a product is a ``MULTIPLY_ADD``, but of halves, which are rounded from float32
    each time. All other sums are ordinary ones.
    """
    if not any(isinstance(node, (Call, ContractedAdd, ContractedSub)) for node in reachable(function)):
        return function
    lanes = scaled_vectors(target) if target is not None else frozenset()
    return rewrite(function, partial(_expand, scaled=lanes, either=either))


def expand(expr: Expr) -> Expr:
    """The same for one expression."""
    return rewrite(expr, _expand)


def scaled_vectors(target: Target) -> frozenset[int]:
    """The lanes of float32 vectors for which ``target`` has what does ``SCALE`` and ``LIMIT``."""
    if target.kind != "llvm" or not (target.has("avx512f") and target.has("avx512dq")):
        return frozenset()
    return frozenset((4, 8, 16) if target.has("avx512vl") else (16,))


def _expand(node: Any, scaled: frozenset[int] = frozenset(), either: frozenset[int] = frozenset()) -> Any:
    if not isinstance(node, Call):
        return contract(node)
    if node.dtype in _HALVES and (node.name in LIBRARY or node.name in ("sigmoid", "rsqrt")):
        wide = tuple(Cast("float32", argument) for argument in node.args)
        return Cast(node.dtype, _expand(Call(node.name, wide, "float32"), scaled, either))
    if node.name == "rsqrt":
        return functions.rsqrt(node.args[0])
    if node.dtype == "float32" and node.name in _SCALED and node.lanes in either:
        form, x = _SCALED[node.name], node.args[0]
        return Call(functions.EITHER, (_applied(form, x), _applied(form, x, True), x), node.dtype)
    if node.name == "sigmoid" or (node.dtype == "float32" and node.name == "exp"):
        return _applied(_SCALED[node.name], node.args[0], node.lanes in scaled)
    if node.dtype == "float32" and node.name in FLOAT32:
        return _applied(FLOAT32[node.name], node.args[0])
    return node


def _applied(form: Callable[..., Expr], x: Expr, *options: bool) -> Expr:
    """``form(x, *options)`` with multiply-adds, but none of what is in ``x``."""
    place, formula = _template(form, x.dtype, x.lanes, *options)
    return substitute(formula, {place: x})


@cache
def _template(form: Callable[..., Expr], dtype: str, lanes: int, *options: bool) -> tuple[Var, Expr]:
    place = Var("x", dtype, lanes)
    return place, rewrite(contracted(form(place, *options)), _expand)
