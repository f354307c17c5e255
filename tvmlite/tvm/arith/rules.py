"""The rules by which ``tvm.arith`` rewrites int expressions.

``//`` and ``%`` round down. Divisors are assumed not to be 0, and 32-bit and 64-bit ints not to overflow, as
everywhere in index arithmetic; no rule introduces an overflow. ``C``, ``D``, ``E`` and ``K`` match constants,
other variables any expression.
"""

from __future__ import annotations

from collections.abc import Callable

from tvmlite import te
from tvmlite.core.node import rewrite
from tvmlite.te import expr as e
from tvmlite.tvm.arith.pattern import DTYPES, Holds, Number, Rule

X, Y, Z = (te.var(name) for name in "XYZ")
C, D, E, K = (Number(name) for name in "CDEK")
FALSE, TRUE, MOST = e.const(False), e.const(True), 2**31 - 1

truncdiv, truncmod, least, greatest, both, either = te.truncdiv, te.truncmod, te.min, te.max, te.all, te.any


def rule(before: e.Expr, after: e.Expr | int, *where: e.Expr) -> Rule:
    """The rule that rewrites ``before`` to ``after`` if the conditions ``where`` hold."""
    return Rule(before, e.convert(after), where)


SUMS = [
    # a dividend minus a multiple of its quotient
    rule(X * K + X // C * D, X % C * K, D == C * K * -1),
    rule(X * K + (X + Y) // C * D, (X + Y) % C * K - Y * K, D == C * K * -1),
    rule(X * K + (X - Y) // C * D, (X - Y) % C * K + Y * K, D == C * K * -1),
    rule(X * K + (Y - X) // C * D, Y * K - (Y - X) % C * K, D == C * K),
    rule(X * K + truncdiv(X, C) * D, truncmod(X, C) * K, D == C * K * -1),
    rule(X * K + truncdiv(X + Y, C) * D, truncmod(X + Y, C) * K - Y * K, D == C * K * -1),
    rule(X * K + truncdiv(X - Y, C) * D, truncmod(X - Y, C) * K + Y * K, D == C * K * -1),
    # differences of quotients of nearby dividends, if the sum of the constants fits the dtype
    rule((X + D) // C - X // C, (X % C + D) // C, C > 0, D < C + D),
    rule((X + D) // C - (X + E) // C, ((X + E) % C + (D - E)) // C, C > 0, D - E < C + (D - E)),
    rule(truncdiv(X + D, C) - truncdiv(X, C), truncdiv(truncmod(X, C) + D, C), C > 0, D >= 0, X >= 0),
    rule(
        truncdiv(X + D, C) - truncdiv(X + E, C),
        truncdiv(truncmod(X + E, C) + (D - E), C),
        *(C > 0, E <= D, X + E >= 0),
    ),
    # by 2
    rule(X // 2 + X % 2, (X + 1) // 2, X < MOST),
    rule((X + 1) // 2 - X % 2, X // 2),
    rule(X % 2 + (X + 1) % 2, 1),
    # a minimum plus the maximum of the same operands
    rule(least(X, Y) + greatest(X, Y), X + Y),
]

QUOTIENTS = [
    rule((X + Y) // X, Y // X + 1),
    rule((X * Z + Y) // Z, X + Y // Z),
    rule((X * Z + Y) % Z, Y % Z),
    rule((X - X % Y) % Y, 0),
    rule((X % 2 + 1) // 2, X % 2),
    rule(X // C * C // D, X // D, C > 0, D > 0, D % C == 0),
    rule(X // C % D // E, X % (C * D) // (C * E), C > 0, D > 0, E > 0),
    rule(truncdiv(X + Y, X), truncdiv(Y, X) + 1, X >= 0, Y >= 0),
    rule(truncdiv(X * Z + Y, Z), X + truncdiv(Y, Z), X >= 0, Y >= 0, Z >= 0),
    rule(truncdiv(X, C), 0, C > 0, -1 * C < X, X < C),
    rule(truncdiv(truncdiv(X, C), D), truncdiv(X, C * D), C > 0, D > 0),
    rule(truncdiv(truncdiv(X, C) * C, D), truncdiv(X, D), C > 0, D > 0, D % C == 0),
    rule(truncmod(X, C), truncmod(X, -1 * C), C < 0),
    rule(truncmod(X, C), X, C > 0, -1 * C < X, X < C),
    rule(truncmod(X * -1, Y), truncmod(X, Y) * -1),
    rule(
        truncmod(truncdiv(truncmod(X, C), D) * D, E),
        truncdiv(truncmod(X, E), D) * D,
        *(C > 0, D > 0, E > 0, E % D == 0, C % E == 0),
    ),
]

EXTREMES = [
    rule(least(X, Y), X, X <= Y),
    rule(greatest(X, Y), Y, X <= Y),
    rule(least(truncdiv(X + C, D) * D, X), X, D > 0, C == D - 1),
    rule(greatest(truncdiv(X + C, D) * D, X), truncdiv(X + C, D) * D, D > 0, C == D - 1),
    rule(least(X, Y) * greatest(X, Y), X * Y),
]

FORMS = [
    rule(X + C < D, X < D - C),
    rule(D < X + C, D - C < X),
    rule(X + C == D, X == D - C),
    rule(X + C != D, X != D - C),
    rule(X < Y + 1, X <= Y),
]
"""The preferred form of conditions: constants on one side, and ``<=`` instead of ``<`` with ``+ 1``."""

COMPARISONS = [
    rule(X < Y, TRUE, X < Y),
    rule(X < Y, FALSE, Y <= X),
    rule(X == Y, FALSE, X < Y),
    rule(X == Y, FALSE, Y < X),
    rule(X != Y, TRUE, X < Y),
    rule(X != Y, TRUE, Y < X),
    rule(X * Y == 0, either(X == 0, Y == 0)),
    rule(X * Y != 0, both(X != 0, Y != 0)),
    rule(X % C < 1, X % C == 0, C > 0),
    rule(X // C < D, X < C * D, C > 0),
    rule(D < X // C, C * (D + 1) - 1 < X, C > 0),
    rule(truncdiv(X, C) < D, X < C * D, C > 0, D > 0),
    rule(truncdiv(X, C) < D, X < C * (D - 1) + 1, C > 0, D <= 0),
    rule(truncdiv(X, C) > D, C * (D + 1) - 1 < X, C > 0, D >= 0),
    rule(truncdiv(X, C) > D, C * D < X, C > 0, D < 0),
]

CONDITIONS = [
    # conditions on a quotient and its remainder become conditions on the dividend
    rule(both(X // C == D, X % C == E), X == C * D + E, E >= 0, E < C),
    rule(both(X // C == D, X % C < E), both(C * D - 1 < X, X < C * D + E), E > 0, E <= C),
    rule(both(X // C == D, E < X % C), both(C * D + E < X, X < C * D + C), C > 0, E >= -1),
    rule(both(Y * C <= X, X < Y * C + C), Y == X // C, C > 0),
    # lower a bound within the last block to the end of that block's valid part
    rule(both(X < D, X % C < E), both(X < (D - 1) // C * C + E, X % C < E), C > 0, (D - 1) // C * C + E < D),
]

RULES = [*SUMS, *QUOTIENTS, *EXTREMES, *FORMS, *COMPARISONS, *CONDITIONS]


def _by_kind(rules: list[Rule]) -> dict[type[e.Expr], list[Rule]]:
    found: dict[type[e.Expr], list[Rule]] = {}
    for one in rules:
        kinds = (e.Add, e.Sub) if isinstance(one.before, (e.Add, e.Sub)) else (type(one.before),)
        for kind in kinds:
            found.setdefault(kind, []).append(one)
    return found


_RULES, _FORMS = _by_kind(RULES), _by_kind(FORMS)


def rewritten(root: e.Expr, simplify: Callable[[e.Expr], e.Expr], holds: Holds) -> e.Expr:
    """``root`` with the rules applied to each node, from the leaves up. For a comparison, they are also
    applied to the difference of both sides."""

    def visit(node: e.Expr) -> e.Expr:
        if not isinstance(node, e.Compare) or node.lanes != 1 or node.a.dtype not in DTYPES:
            return _applied(_RULES, node, holds)
        gap = simplify(node.b - node.a)
        shorter = _applied(_RULES, gap, holds)
        if shorter is not gap:
            node = simplify(type(node)(e.const(0, gap.dtype), shorter))  # type: ignore[assignment]
        return _applied(_RULES, node, holds)

    return rewrite(root, visit)


def in_form(root: e.Expr) -> e.Expr:
    """``root`` with its conditions rewritten by ``FORMS``."""
    return rewrite(root, lambda node: _applied(_FORMS, node, lambda _: False))


def _applied(rules: dict[type[e.Expr], list[Rule]], node: e.Expr, holds: Holds) -> e.Expr:
    """``node`` rewritten by the first applicable rule, and the result again, up to ``_STEPS`` times."""
    for _ in range(_STEPS):
        if not isinstance(node, e.Expr) or node.lanes != 1 or node.dtype not in (*DTYPES, "bool"):
            break
        if isinstance(node, e.Compare) and node.a.dtype not in DTYPES:
            break
        found = (one.apply(node, holds) for one in rules.get(type(node), ()))
        made = next((one for one in found if one is not None), None)
        if made is None:
            break
        node = made
    return node


_STEPS = 4
"""The most rules that are applied to one node in a traversal."""
