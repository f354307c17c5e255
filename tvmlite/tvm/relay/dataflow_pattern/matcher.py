"""Whether an expression is what a pattern describes, and which parts are which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.ir.structural import structural_equal
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.dataflow_pattern import patterns as p
from tvmlite.tvm.relay.expr import GlobalVar, adopt, expr_of
from tvmlite.tvm.relay.op.op import Op

Found = dict[p.DFPattern, Any]

_COMMUTATIVE = ("add", "multiply")


def matches(pattern: p.DFPattern, expr: Any) -> Found | None:
    """The expression of each part of ``pattern`` in ``expr``; None if it does not match."""
    return _match(pattern, expr_of("match: expr", expr), {})


def _match(pattern: p.DFPattern, expr: Any, found: Found) -> Found | None:
    """``found`` and what is found in ``expr``. What was found before stays as it was."""
    if pattern in found:
        return found if _same(found[pattern], expr) else None
    made = _parts(pattern, expr, found)
    return None if made is None else {**made, pattern: expr}


def _same(one: Any, other: Any) -> bool:
    return one == other if isinstance(one, Op) else one is other


def _all(pairs: Iterable[tuple[p.DFPattern, Any]], found: Found) -> Found | None:
    """What is found by several patterns, one after the other."""
    made: Found | None = found
    for pattern, expr in pairs:
        made = None if made is None else _match(pattern, expr, made)
    return made


def _several(given: list[p.DFPattern] | None, exprs: Iterable[Any], found: Found) -> Found | None:
    """What is found in a list; anything if none is given."""
    exprs = list(exprs)
    if given is None:
        return found
    return _all(zip(given, exprs, strict=True), found) if len(given) == len(exprs) else None


def _parts(pattern: p.DFPattern, expr: Any, found: Found) -> Found | None:
    match pattern, expr:
        case p.WildcardPattern(pattern=inner), _:
            return found if inner is None else _match(inner, expr, found)
        case p.AltPattern(left=left, right=right), _:
            made = _match(left, expr, found)
            return _match(right, expr, found) if made is None else made
        case p.ExprPattern(expr=wanted), _:
            return found if _equal(wanted, expr) else None
        case p.VarPattern(name=name), nodes.Var() if not isinstance(expr, GlobalVar):
            return found if name in ("", expr.name) else None
        case p.ConstantPattern(), nodes.Constant():
            return found
        case p.CallPattern(), nodes.Call():
            return _call(pattern, adopt(expr), found)
        case p.FunctionPattern(params=params, body=body), nodes.Function():
            made = _several(params, expr.params, found)
            return None if made is None else _match(body, expr.body, made)
        case p.IfPattern(), nodes.If():
            wanted = (pattern.cond, pattern.true_branch, pattern.false_branch)
            return _all(zip(wanted, (expr.condition, expr.then, expr.otherwise), strict=True), found)
        case p.LetPattern(), nodes.Let():
            wanted = (pattern.var, pattern.value, pattern.body)
            return _all(zip(wanted, (expr.var, expr.value, expr.body), strict=True), found)
        case p.TuplePattern(fields=fields), nodes.Tuple():
            return _several(fields, expr.fields, found)
        case p.TupleGetItemPattern(tuple=inner, index=index), nodes.TupleGetItem():
            return _match(inner, expr.value, found) if index in (None, expr.index) else None
        case p.AttrPattern(pattern=inner, attrs=attrs), _:
            return _match(inner, expr, found) if _has(expr, attrs) else None
        case p.TypePattern(pattern=inner, type=type_), _:
            return _match(inner, expr, found) if ty.same_type(type_of(expr), type_) else None
        case p.DataTypePattern(pattern=inner, dtype=dtype), _:
            type_ = type_of(expr)
            fits = isinstance(type_, TensorType) and type_.dtype == dtype
            return _match(inner, expr, found) if fits else None
        case p.ShapePattern(pattern=inner, shape=shape), _:
            type_ = type_of(expr)
            fits = isinstance(type_, TensorType) and ty.same_type(type_, ty.TensorType(shape, type_.dtype))
            return _match(inner, expr, found) if fits else None
    return None


def _call(pattern: p.CallPattern, call: Any, found: Found) -> Found | None:
    op = Op(call.op) if isinstance(call.op, str) else call.op
    made = _match(pattern.op, op, found)
    if made is None:
        return None
    args = _several(pattern.args, call.args, made)
    if args is None and isinstance(op, Op) and op in _COMMUTATIVE:
        args = _several(pattern.args, reversed(call.args), made)
    return args


def _equal(wanted: Any, expr: Any) -> bool:
    if isinstance(wanted, Op) or isinstance(expr, Op):
        return isinstance(wanted, Op) and isinstance(expr, Op) and wanted == expr
    return structural_equal(wanted, expr)


def _has(expr: Any, attrs: dict[str, Any]) -> bool:
    """Whether ``expr`` has all of ``attrs``."""
    if isinstance(expr, Op):
        return all(expr.get_attr(name) == value for name, value in attrs.items())
    if not isinstance(expr, (nodes.Call, nodes.Function)):
        return False
    own = dict(expr.attrs)
    return all(name in own and own[name] == _plain(value) for name, value in attrs.items())


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value
