"""The table of rules: each keeps the value, also at the limits of the dtype, and gives the expected form."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tvmlite.core.node import postorder, substitute
from tvmlite.te import expr as e
from tvmlite.tvm import arith, te, tir
from tvmlite.tvm.arith.pattern import Number, Rule
from tvmlite.tvm.arith.rules import FORMS, RULES
from tvmlite.tvm.written import plain

sys.path.insert(0, str(Path(__file__).parent))

from arith_meaning import value

X, Y, Z = te.var("x"), te.var("y"), te.var("z")
WIDE = te.var("w", "int64")
LEAST, MOST = -(2**31), 2**31 - 1
FAR = [LEAST, LEAST + 1, LEAST // 2, -3, -1, 0, 1, 2, 5, MOST // 2, MOST - 1, MOST]


def points(rule: Rule, numbers: list[int], count: int) -> Iterator[dict[Any, int]]:
    """Values out of ``numbers`` for the variables of ``rule`` that satisfy its conditions."""
    rng = random.Random(str(rule.before))
    variables = [one for one in postorder(rule.before) if isinstance(one, e.Var)]
    last = [one for one in variables if any(_makes(rule, one, where) for where in rule.where)]
    for _ in range(count):
        at = {one: rng.choice(numbers) for one in variables}
        for one in last:  # for conditions like C == D - 1, which few random numbers satisfy
            at[one] = next(_made(rule, one, where, at) for where in rule.where if _makes(rule, one, where))
        try:
            if all(value(where, at) for where in rule.where):
                yield at
        except ZeroDivisionError:
            continue


def _makes(rule: Rule, variable: e.Var, where: e.Expr) -> bool:
    return isinstance(where, e.Equal) and where.a is variable


def _made(rule: Rule, variable: e.Var, where: Any, at: dict[Any, int]) -> int:
    return int(value(where.b, at))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.before))
def test_a_rule_keeps_the_value(rule: Rule) -> None:
    tried = 0
    for at in points(rule, list(range(-9, 10)), 1500):
        try:
            before = value(rule.before, at)
        except ZeroDivisionError:
            continue  # divisors are assumed not to be 0
        assert before == value(rule.after, at), f"{rule.before} is not {rule.after} where {at}"
        tried += 1
    assert tried > 10


def wrapped(root: Any, at: dict[Any, int]) -> dict[Any, int]:
    """The value of each node in ``root`` as a machine computes it, in 32 bits."""
    found: dict[Any, int] = {}
    for node in postorder(root):
        if isinstance(node, (e.Var, e.Const)):
            number = value(node, at)
        else:
            names = [te.var("part", child.dtype) for child in node.children()]  # type: ignore[attr-defined]
            parts = iter(names)
            alone = node.map_children(lambda _, parts=parts: next(parts))
            number = value(alone, dict(zip(names, map(found.__getitem__, node.children()), strict=True)))
        found[node] = number if isinstance(number, bool) else (number - LEAST) % 2**32 + LEAST
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.before))
def test_a_rule_keeps_the_value_at_the_ends_of_the_dtype(rule: Rule) -> None:
    for at in points(rule, FAR, 150):
        constants = {one: e.const(n, "int32") for one, n in at.items() if isinstance(one, Number)}
        given: Any = substitute(rule.before, constants)
        made = rule.apply(given, lambda _: True)  # its conditions hold at these points
        free = {one: n for one, n in at.items() if one not in constants}
        try:
            before = wrapped(given, free)
            if made is None or any(before[node] != value(node, free) for node in postorder(given)):
                continue  # the program's own arithmetic does not overflow
            assert before[given] == wrapped(made, free)[made], (at, str(made))
        except ZeroDivisionError:
            continue


def test_no_constant_of_a_result_is_outside_the_dtype() -> None:
    for divisor, limit in itertools.product((2, 3, MOST), (MOST // 2, MOST, LEAST, -2)):
        given = te.floordiv(WIDE, divisor) < limit
        found = arith.Analyzer().simplify(te.floordiv(X, divisor) < limit)
        for number in (LEAST, -7, 0, MOST):
            assert value(plain(given), {WIDE: number}) == value(plain(found), {X: number})


BECOMES: list[tuple[Any, str]] = [
    (X - te.floordiv(X + Y, 5) * 5, "(floormod((x: int32 + y: int32), 5) - y)"),
    (te.floordiv(X, 4) * 4 < X - Y, "(y: int32 < floormod(x: int32, 4))"),
    (tir.truncdiv(X, 2) <= -1, "(x: int32 < -1)"),
    (tir.truncdiv(X, 3) >= 0, "(-3 < x: int32)"),
    (tir.EQ(X * Y, 0), "((x: int32 == 0) || (y: int32 == 0))"),
    (X * 3 >= Y * 3, "(y: int32 <= x: int32)"),
    (te.floordiv(Y + X * Z, Z), "(floordiv(y: int32, z: int32) + x: int32)"),
    (te.floordiv(Z + X + Y, X), "(floordiv((y: int32 + z: int32), x: int32) + 1)"),
    (tir.all(te.floordiv(X, 8) == -3, te.floormod(X, 8) == 4), "(x: int32 == -20)"),
    (tir.all(X - Y * 5 >= 0, X - Y * 5 < 5), "(y: int32 == floordiv(x: int32, 5))"),
    (
        tir.all(X < 20, Y > 3, te.floormod(X, 5) < 2),
        "(((x: int32 < 17) && (floormod(x, 5) < 2)) && (3 < y: int32))",
    ),
    (tir.all(te.floordiv(X, 10) == 5, te.floormod(X, 10) < 7), "((49 < x: int32) && (x < 57))"),
    (te.min(tir.truncmod(X, 2), tir.truncmod(Y, 2) + 10), "(x: int32 % 2)"),
    (te.max(tir.truncdiv(X + 3, 4) * 4, X), "(((x: int32 + 3) / 4)*4)"),
    (te.floordiv(X + 1, 2) - te.floormod(X, 2), "floordiv(x: int32, 2)"),
    (tir.call_intrin("int32", "tir.shift_left", 1, 10), "1024"),
    (
        tir.if_then_else(X < 5, tir.if_then_else(X > 1, 1, 0), 0),
        "@tir.if_then_else(((x: int32 < 5) && (1 < x)), 1, 0, dtype=int32)",
    ),
]


@pytest.mark.parametrize("case", range(len(BECOMES)))
def test_rules_give_the_expected_form(case: int) -> None:
    given, text = BECOMES[case]

    assert str(arith.Analyzer().simplify(given)) == text


def test_truncated_quotients_are_simplified_only_with_known_signs() -> None:
    known = arith.Analyzer()
    given = tir.truncdiv(X + Y, X)
    assert str(known.simplify(given)) == "((x: int32 + y: int32) / x)"

    for var in (X, Y):
        known.update(var, arith.ConstIntBound(0, 99))

    assert str(known.simplify(given)) == "((y: int32 / x: int32) + 1)"
    lanes = tir.truncdiv(tir.Ramp(X * 8 + 1, 1, 4), 8)
    assert str(known.simplify(lanes)) == "broadcast(x: int32, 4)"
    assert "ramp" in str(arith.Analyzer().simplify(lanes))


def test_rules_do_not_apply_to_ints_that_wrap() -> None:
    a, ten = te.var("a", "uint8"), tir.const(10, "uint8")
    known = arith.Analyzer()
    known.update(a, arith.ConstIntBound(0, 5))

    assert str(known.simplify((a - ten).astype("int32") < 0)) == "False"
    assert known.const_int_bound(a - ten) == arith.ConstIntBound(0, 255)
    assert str(known.simplify(te.floordiv(a * ten, ten))) == "floordiv((a: uint8*10u8), 10u8)"
    assert str(known.simplify(a - a)) == "0u8"


@pytest.mark.parametrize(
    "step",
    [
        lambda made, k: te.max(made, made * Y + k),
        lambda made, k: tir.Select(made < k, made + 1, made * Y),
        lambda made, k: tir.if_then_else(made < k, made + 1, made * Y),
        lambda made, k: te.floordiv(made * Y, 3 + k) + te.min(made, k),
    ],
    ids=["max", "select", "if_then_else", "quotient"],
)
def test_shared_subexpressions_are_simplified_once(step: Any) -> None:
    made = X
    for k in range(9):
        made = step(made, k)

    known = arith.Analyzer()

    assert len(list(postorder(plain(known.simplify(made))))) < 400
    assert known.const_int_bound(made).min_value < 0
    assert known.modular_set(made).coeff == 1


def test_all_forms_are_rules() -> None:
    assert all(one in RULES for one in FORMS)
