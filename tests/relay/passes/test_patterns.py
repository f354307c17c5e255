"""Patterns match formulas in all their forms, and nothing else."""

from __future__ import annotations

import pytest

from tvmlite import relay
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.passes.patterns import Number, Reduction, Wildcard, first, op

a, b = (relay.var(name, shape=(2, 3)) for name in "ab")
half, one, two = (relay.const(number) for number in (0.5, 1.0, 2.0))
X, Y = Wildcard("x"), Wildcard("y")


@pytest.mark.parametrize(
    "expr", [relay.add(relay.multiply(a, half), one), relay.add(one, relay.multiply(half, a))], ids=str
)
def test_sums_and_products_match_in_both_orders(expr: Expr) -> None:
    assert first(X * Number(0.5) + 1.0, expr) == {"x": a}


def test_differences_and_quotients_match_in_one_order() -> None:
    assert first(X / 2.0, relay.divide(a, two)) == {"x": a}
    assert first(1.0 / X, relay.divide(a, one)) is None
    assert first(X - Number(1.0), relay.subtract(one, a)) is None


def test_a_repeated_wildcard_must_match_the_same_node() -> None:
    assert first(X * X, relay.multiply(a, a)) == {"x": a}
    assert first(X * X, relay.multiply(a, b)) is None
    assert first(X * Y, relay.multiply(a, b)) == {"x": a, "y": b}


def test_all_matches_are_yielded() -> None:
    found = list((X * Y).matches(relay.multiply(a, b), {}))

    assert found == [{"x": a, "y": b}, {"x": b, "y": a}]


def test_a_named_subpattern_is_bound_together_with_its_parts() -> None:
    powers = relay.exp(a)
    pattern = Wildcard("powers", op("exp", X))

    assert first(pattern / Reduction("sum", pattern), relay.divide(powers, relay.sum(powers, -1, True))) == {
        "powers": powers,
        "x": a,
        "axis": 1,
    }
    assert first(pattern / Reduction("sum", pattern), relay.divide(powers, relay.sum(powers, -1))) is None


def test_numbers_match_exactly_or_within_a_tolerance() -> None:
    almost = relay.const(0.500001)

    assert first(X * Number(0.5), relay.multiply(a, almost)) is None
    assert first(X * Number(0.5, tolerance=2e-5), relay.multiply(a, almost)) == {"x": a}
    assert first(X * Number(name="factor"), relay.multiply(a, two)) == {"x": a, "factor": 2.0}
    assert first(X * Number(name="factor"), relay.multiply(a, b)) is None


@pytest.mark.parametrize(
    "expr",
    [relay.negative(a), relay.multiply(a, relay.const(-1.0)), relay.divide(a, relay.const(-1.0))],
    ids=str,
)
def test_negation_matches_multiplication_and_division_by_minus_one(expr: Expr) -> None:
    assert first(op("exp", -X), relay.exp(expr)) == {"x": a}
    assert first(op("exp", -X), relay.exp(a)) is None


def test_an_alternative_matches_any_of_its_patterns() -> None:
    either = op("exp", X) | op("log", X)

    assert [first(either, made) for made in (relay.exp(a), relay.log(a))] == [{"x": a}] * 2
    assert first(either, relay.tanh(a)) is None


def test_bindings_given_to_a_match_must_agree() -> None:
    mean = relay.mean(a, 0, True)

    assert first(Reduction("mean", X), mean, axis=0) == {"axis": 0, "x": a}
    assert first(Reduction("mean", X), mean, axis=1) is None
