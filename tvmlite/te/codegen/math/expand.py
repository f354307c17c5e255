"""Expansion of transcendental functions into arithmetic, and of contracted sums into multiply-adds, before
code generation."""

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
"""The functions with a float32 formula, besides sigmoid."""

LIBRARY = frozenset(
    (
        "exp log log2 log10 tanh erf sin cos tan asin acos atan sinh cosh asinh acosh atanh atan2 pow fmod"
    ).split()
)
"""The functions that, unless expanded, become C library calls in float32 (``sinf``) or float64 (``sin``)."""

_SCALED = {"exp": functions.exp, "sigmoid": functions.sigmoid}

_HALVES = ("float16", "bfloat16")


def expand_intrinsics(
    function: Function, target: Target | None = None, either: frozenset[int] = frozenset()
) -> Function:
    """``function`` with its float32 exp, log, log2, log10, tanh, sigmoid and erf expanded to arithmetic.

    Transcendental functions of float16 and bfloat16 are computed in float32 and rounded once, so that calls
    of the C library (see LIBRARY) are in float32 or float64; ``rsqrt`` and ``sigmoid`` are always expanded.
    Vectors that ``target`` can scale by powers of two (``scaled_vectors``) use ``SCALE``. Vectors whose
    number of lanes is in ``either`` get both forms.

    A contracted sum with a product becomes a ``MULTIPLY_ADD``, except for halves, which are rounded from
    float32 after each operation. All other sums become ordinary ones.
    """
    if not any(isinstance(node, (Call, ContractedAdd, ContractedSub)) for node in reachable(function)):
        return function
    lanes = scaled_vectors(target) if target is not None else frozenset()
    return rewrite(function, partial(_expand, scaled=lanes, either=either))


def expand(expr: Expr) -> Expr:
    """``expr`` with its intrinsics expanded, as by ``expand_intrinsics`` without a target."""
    return rewrite(expr, _expand)


def scaled_vectors(target: Target) -> frozenset[int]:
    """The numbers of lanes of float32 vectors for which ``target`` has instructions for SCALE and LIMIT."""
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
    """``form(x, *options)`` with multiply-adds; ``x`` itself is not expanded again."""
    place, formula = _template(form, x.dtype, x.lanes, *options)
    return substitute(formula, {place: x})


@cache
def _template(form: Callable[..., Expr], dtype: str, lanes: int, *options: bool) -> tuple[Var, Expr]:
    place = Var("x", dtype, lanes)
    return place, rewrite(contracted(form(place, *options)), _expand)
