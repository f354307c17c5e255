"""Matches a pattern against an expression, and records which expression each part matched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.ir.module import as_function
from tvmlite.tvm.ir.structural import structural_equal
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.dataflow_pattern import patterns as p
from tvmlite.tvm.relay.dataflow_pattern.graph import ExpressionGraph
from tvmlite.tvm.relay.expr import GlobalVar, adopt, expr_of
from tvmlite.tvm.relay.graph.infer import infer
from tvmlite.tvm.relay.graph.visit import parts_of
from tvmlite.tvm.relay.op.op import Op

Found = dict[p.DFPattern, tuple[Any, ...]]
"""The expressions that each part of a pattern matched: several for dominator paths and recursive patterns."""

_COMMUTATIVE = ("add", "multiply")


def matches(pattern: p.DFPattern, expr: Any) -> Found | None:
    """The expressions in ``expr`` that each part of ``pattern`` matched; None if it does not match."""
    expr = expr_of("match: expr", expr)
    return Matcher(expr).match(pattern, expr)


class Matcher:
    """Matches patterns against parts of ``root``."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._graph: ExpressionGraph | None = None

    @property
    def graph(self) -> ExpressionGraph:
        """The graph of ``root``."""
        if self._graph is None:
            self._graph = ExpressionGraph(self.root)
        return self._graph

    def match(self, pattern: p.DFPattern, expr: Any) -> Found | None:
        """The expressions in ``expr`` that each part of ``pattern`` matched; None if it does not match."""
        return self._match(pattern, expr, {})

    def _match(self, pattern: p.DFPattern, expr: Any, found: Found) -> Found | None:
        """``found`` extended by the match in ``expr``, or None. A part that is in ``found`` must match the
        same expression again."""
        if pattern in found:
            return found if _same(found[pattern][-1], expr) else None
        made = self._parts(pattern, expr, found)
        return None if made is None else {**made, pattern: (*made.get(pattern, ()), expr)}

    def _all(self, pairs: Iterable[tuple[p.DFPattern, Any]], found: Found) -> Found | None:
        """``found`` extended by the matches of several patterns, or None if one does not match."""
        made: Found | None = found
        for pattern, expr in pairs:
            made = None if made is None else self._match(pattern, expr, made)
        return made

    def _several(self, given: list[p.DFPattern] | None, exprs: Iterable[Any], found: Found) -> Found | None:
        """``found`` extended by the matches of a list of patterns of equal length; any list matches None."""
        exprs = list(exprs)
        if given is None:
            return found
        return self._all(zip(given, exprs, strict=True), found) if len(given) == len(exprs) else None

    def _parts(self, pattern: p.DFPattern, expr: Any, found: Found) -> Found | None:
        match pattern, expr:
            case p.WildcardPattern(pattern=inner), _:
                return found if inner is None else self._match(inner, expr, found)
            case p.AltPattern(left=left, right=right), _:
                made = self._match(left, expr, found)
                return self._match(right, expr, found) if made is None else made
            case p.ExprPattern(expr=wanted), _:
                return found if _equal(wanted, expr) else None
            case p.VarPattern(name=name), nodes.Var() if not isinstance(expr, GlobalVar):
                return found if name in ("", expr.name) else None
            case p.ConstantPattern(), nodes.Constant():
                return found
            case p.CallPattern(), nodes.Call():
                return self._call(pattern, adopt(expr), found)
            case p.FunctionPattern(params=params, body=body), nodes.Function():
                made = self._several(params, expr.params, found)
                return None if made is None else self._match(body, expr.body, made)
            case p.IfPattern(), nodes.If():
                wanted = (pattern.cond, pattern.true_branch, pattern.false_branch)
                return self._all(zip(wanted, (expr.condition, expr.then, expr.otherwise), strict=True), found)
            case p.LetPattern(), nodes.Let():
                wanted = (pattern.var, pattern.value, pattern.body)
                return self._all(zip(wanted, (expr.var, expr.value, expr.body), strict=True), found)
            case p.TuplePattern(fields=fields), nodes.Tuple():
                return self._several(fields, expr.fields, found)
            case p.TupleGetItemPattern(tuple=inner, index=index), nodes.TupleGetItem():
                return self._match(inner, expr.value, found) if index in (None, -1, expr.index) else None
            case p.DominatorPattern(), _:
                return self._dominated(pattern, expr, found)
            case p.AttrPattern(pattern=inner, attrs=attrs), _:
                return self._match(inner, expr, found) if _has(expr, attrs) else None
            case p.TypePattern() | p.DataTypePattern() | p.ShapePattern(), nodes.Expr():
                return self._match(pattern.pattern, expr, found) if _is_of_type(pattern, expr) else None
        return None

    def _call(self, pattern: p.CallPattern, call: Any, found: Found) -> Found | None:
        op = Op(call.op) if isinstance(call.op, str) else call.op
        made = self._match(pattern.op, op, found)
        if made is None:
            return self._reassociated(pattern, op, call, found)
        args = self._several(pattern.args, call.args, made)
        if args is None and isinstance(op, Op) and op in _COMMUTATIVE:
            args = self._several(pattern.args, reversed(call.args), made)
        return args

    def _reassociated(self, pattern: Any, op: Any, call: Any, found: Found) -> Found | None:
        """Match the pattern ``a * b / c`` with ``a * (b / c)`` or ``b * (a / c)``, and the pattern
        ``a * (b / c)`` with ``a * b / c``."""
        wanted = _op_of(pattern)
        if wanted == "divide" and op == "multiply" and _op_of(pattern.args[0]) == "multiply":
            product, divisor = pattern.args
            for place, other in ((0, 1), (1, 0)):
                quotient = p.CallPattern(pattern.op, [product.args[place], divisor])
                made = self._match(p.CallPattern(product.op, [product.args[other], quotient]), call, found)
                if made is not None:
                    return made
        if wanted == "multiply" and op == "divide":
            for place, other in ((0, 1), (1, 0)):
                quotient = pattern.args[place]
                if _op_of(quotient) == "divide":
                    product = p.CallPattern(pattern.op, [quotient.args[0], pattern.args[other]])
                    return self._match(p.CallPattern(quotient.op, [product, quotient.args[1]]), call, found)
        return None

    def _dominated(self, pattern: p.DominatorPattern, expr: Any, found: Found) -> Found | None:
        """Match ``child`` if all paths from its operands consist of matches of ``path`` and end at one match
        of ``parent``, which ``child`` post-dominates."""
        child = self._match(pattern.child, expr, found)
        if child is None:
            return None
        made, seen, stack = child, {expr}, [expr]
        while stack:
            call = stack.pop()
            parts = [one for one in parts_of(call) if not (isinstance(call, nodes.Call) and one is call.op)]
            for part in parts:
                up = self._match(pattern.parent, part, made)
                if up is not None:
                    made = up
                    continue
                if part in seen:
                    continue
                seen.add(part)
                step = self._match(pattern.path, part, {})
                if step is None:
                    return None
                made = _joined(made, step)
                stack.append(part)
        if pattern.parent not in made:
            return None
        return made if self.graph.dominates(expr, made[pattern.parent][-1]) else None


def _joined(made: Found, step: Found) -> Found:
    return {**made, **{part: (*made.get(part, ()), *exprs) for part, exprs in step.items()}}


def _same(one: Any, other: Any) -> bool:
    return one == other if isinstance(one, Op) else one is other


def _op_of(pattern: p.DFPattern) -> str | None:
    """The operator of a pattern for calls with two arguments, else None."""
    if not isinstance(pattern, p.CallPattern) or pattern.args is None or len(pattern.args) != 2:
        return None
    return pattern.op.expr if isinstance(pattern.op, p.ExprPattern) else None


def _equal(wanted: Any, expr: Any) -> bool:
    if isinstance(wanted, Op) or isinstance(expr, Op):
        return isinstance(wanted, Op) and isinstance(expr, Op) and wanted == expr
    return structural_equal(wanted, expr)


def _is_of_type(pattern: Any, expr: Any) -> bool:
    """Whether ``expr`` has the type, dtype or shape that ``pattern`` requires; the type is inferred."""
    whole = infer(as_function(expr))
    type_ = whole.checked_type if isinstance(expr, nodes.Function) else whole.body.checked_type
    if isinstance(pattern, p.TypePattern):
        return ty.same_type(type_, pattern.type)
    if not isinstance(type_, TensorType):
        return False
    if isinstance(pattern, p.DataTypePattern):
        return type_.dtype == pattern.dtype
    return ty.same_type(type_, ty.TensorType(pattern.shape, type_.dtype))


def _has(expr: Any, attrs: dict[str, Any]) -> bool:
    """Whether ``expr`` has all attributes ``attrs`` with these values."""
    if isinstance(expr, Op):
        return all(expr.get_attr(name) == value for name, value in attrs.items())
    if not isinstance(expr, (nodes.Call, nodes.Function)):
        return False
    own = dict(expr.attrs)
    return all(name in own and own[name] == _plain(value) for name, value in attrs.items())


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value
