"""Plain Python evaluation of expressions over ints, and strategies that make them."""

from __future__ import annotations

from hypothesis import strategies as st

from tvmlite.te import expr as e


def truncdiv(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def evaluate(node: e.Expr, values: dict[e.Var, int]) -> int:
    """The value of a scalar int or bool expression."""
    if isinstance(node, e.Var):
        return values[node]
    if isinstance(node, e.Const):
        return int(node.value)
    if isinstance(node, e.Cast):
        return evaluate(node.value, values)
    if isinstance(node, e.Not):
        return int(not evaluate(node.a, values))
    if isinstance(node, e.Select):
        return evaluate(node.a if evaluate(node.condition, values) else node.b, values)
    assert isinstance(node, e.Binary), node
    a, b = evaluate(node.a, values), evaluate(node.b, values)
    match node.symbol:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return a // b if b else 0
        case "%":
            return a % b if b else 0
        case "truncdiv":
            return truncdiv(a, b) if b else 0
        case "truncmod":
            return a - b * truncdiv(a, b) if b else 0
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "==":
            return int(a == b)
        case "!=":
            return int(a != b)
        case "<":
            return int(a < b)
        case "<=":
            return int(a <= b)
        case "and":
            return a & b
        case _:
            assert node.symbol == "or"
            return a | b


ARITHMETIC = (e.Add, e.Sub, e.Mul, e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod, e.Min, e.Max)
COMPARISONS = (e.Less, e.LessEqual, e.Equal, e.NotEqual)


def numbers(leaves: list[e.Var], size: int = 10) -> st.SearchStrategy[e.Expr]:
    """Integer expressions over ``leaves``."""
    plain = st.sampled_from(leaves)
    small = st.integers(-9, 9).map(lambda v: e.const(v, "int64"))
    factor = st.sampled_from([2, 3, 4, 8, 16, -4]).map(lambda v: e.const(v, "int64"))

    def extend(inner: st.SearchStrategy[e.Expr]) -> st.SearchStrategy[e.Expr]:
        both = st.builds(lambda make, a, b: make(a, b), st.sampled_from(ARITHMETIC), inner, inner)
        by_number = st.builds(
            lambda make, a, b: make(a, b),
            st.sampled_from((e.Mul, e.FloorDiv, e.FloorMod, e.TruncDiv)),
            inner,
            factor,
        )
        total = st.builds(e.Add, inner, inner)
        chosen = st.builds(
            lambda make, a, b, x, y: e.Select(make(a, b), x, y),
            st.sampled_from(COMPARISONS),
            inner,
            inner,
            inner,
            inner,
        )
        return st.one_of(by_number, total, by_number, both, chosen)

    return st.recursive(st.one_of(plain, plain, small), extend, max_leaves=size)


def conditions(leaves: list[e.Var]) -> st.SearchStrategy[e.Expr]:
    """Bool expressions over ``leaves``."""
    term = numbers(leaves, 5)
    one = st.builds(lambda make, a, b: make(a, b), st.sampled_from(COMPARISONS), term, term)
    return st.recursive(
        one,
        lambda inner: st.one_of(
            st.builds(e.And, inner, inner), st.builds(e.Or, inner, inner), st.builds(e.Not, inner)
        ),
        max_leaves=3,
    )
