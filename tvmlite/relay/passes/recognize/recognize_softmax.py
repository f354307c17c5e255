"""Recognize softmax that an exporter wrote as exponentials divided by their sum."""

from __future__ import annotations

from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import same_type, type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import Reduction, Wildcard, first, is_float, op

X = Wildcard("x")
POWERS = Wildcard("powers", op("exp", X))
SUM = Reduction("sum", POWERS)

SOFTMAX = POWERS / SUM | POWERS * (1 / SUM)
LOG_OF_SOFTMAX = op("log", Wildcard("softmax", op("nn.softmax", X)))
LOG_SOFTMAX = X - op("log", SUM)
SHIFTED = X - Reduction("max", X)


@graph_pass
def recognize_softmax(body: Expr) -> Expr:
    """Rewrite ``exp(x) / sum(exp(x))`` to ``nn.softmax(x)``, and the logarithm of that to
    ``nn.log_softmax(x)``.

    The maximum of ``x`` may have been subtracted before. If it was not, sums that overflowed gave NaN and no
    longer do, because the operator subtracts it. ``y - log(sum(exp(y)))`` is ``nn.log_softmax`` as well.
    """
    return rewrite(body, _recognize)


def _recognize(node: Expr) -> Expr:
    if not isinstance(node, Call) or not isinstance(node.op, str) or not is_float(node):
        return node
    if (found := first(SOFTMAX, node)) and same_type(type_of(found["powers"]), type_of(node)):
        return make("nn.softmax", _unshifted(**found), axis=found["axis"], span=node.span)
    if found := first(LOG_OF_SOFTMAX, node):
        return make("nn.log_softmax", found["x"], axis=found["softmax"]["axis"], span=node.span)
    if found := first(LOG_SOFTMAX, node):
        return make("nn.log_softmax", _unshifted(**found), axis=found["axis"], span=node.span)
    return node


def _unshifted(x: Expr, axis: int, **_: Expr) -> Expr:
    """``y`` if ``x`` is ``y - max(y)`` along ``axis``; else ``x``."""
    found = first(SHIFTED, x, axis=axis)
    return found["x"] if found else x
