"""Softmax that an exporter wrote out as exponentials over their sum becomes one operator again."""

from __future__ import annotations

from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import same_type, type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import commuted, is_float, mean_of, scalar_of


@graph_pass
def recognize_softmax(body: Expr) -> Expr:
    """``exp(x) / sum(exp(x))`` becomes ``nn.softmax(x)``, and the logarithm of that ``nn.log_softmax(x)``.

    The greatest of ``x`` may be subtracted before. Where it is not, sums beyond the floats gave NaN and no
    longer do: the operator subtracts it. ``y - log(sum(exp(y)))`` is ``nn.log_softmax`` too.
    """
    return rewrite(body, _recognize)


def _recognize(node: Expr) -> Expr:
    if not isinstance(node, Call) or not isinstance(node.op, str) or not is_float(node):
        return node
    return _softmax(node) or _log_softmax(node) or node


def _softmax(node: Call) -> Expr | None:
    for powers, total in _quotients(node):
        found = mean_of(total, "sum")
        if found is None or found[0] is not powers or not _is(powers, "exp"):
            continue
        axis = found[1]
        if same_type(type_of(powers), type_of(node)):
            data = _unshifted(powers.args[0], axis)  # type: ignore[attr-defined]
            return make("nn.softmax", data, axis=axis, span=node.span)
    return None


def _quotients(node: Call) -> list[tuple[Expr, Expr]]:
    """``(a, b)`` where ``node`` is ``a / b``."""
    found = [(node.args[0], node.args[1])] if node.op == "divide" else []
    for value, inverse in commuted(node, "multiply"):
        if isinstance(inverse, Call) and inverse.op == "divide" and scalar_of(inverse.args[0]) == 1.0:
            found.append((value, inverse.args[1]))
    return found


def _unshifted(expr: Expr, axis: int) -> Expr:
    """``x`` of ``x - max(x)``; ``expr`` itself if it is not that."""
    if isinstance(expr, Call) and expr.op == "subtract":
        if mean_of(expr.args[1], "max") == (expr.args[0], axis):
            return expr.args[0]
    return expr


def _log_softmax(node: Call) -> Expr | None:
    if node.op == "log" and _is(node.args[0], "nn.softmax"):
        inner = node.args[0]
        assert isinstance(inner, Call)
        return make("nn.log_softmax", inner.args[0], axis=inner["axis"], span=node.span)
    if node.op == "subtract" and _is(node.args[1], "log"):
        moved, logarithm = node.args
        assert isinstance(logarithm, Call)
        found = mean_of(logarithm.args[0], "sum")
        if found is not None and _is(found[0], "exp") and found[0].args[0] is moved:  # type: ignore[attr-defined]
            return make("nn.log_softmax", _unshifted(moved, found[1]), axis=found[1], span=node.span)
    return None


def _is(expr: Expr, op: str) -> bool:
    return isinstance(expr, Call) and expr.op == op
