"""Canonical forms, against brute force and by example."""

import itertools
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, equal, same, simplify
from tvmlite.te.loop import ir

sys.path.insert(0, str(Path(__file__).parent))

from reference import conditions, evaluate, numbers

X, Y, N = e.Var("x", "int64"), e.Var("y", "int64"), e.SizeVar("n", "int64")
F, K = e.Var("f", "int64"), e.Var("k", "int64")
H, W = e.SizeVar("h", "int64"), e.SizeVar("w", "int64")
POINTS = [{X: x, Y: y, N: n} for x, y, n in itertools.product(range(-5, 6), range(8), (0, 1, 2, 5, 16, 33))]


def index(value: int) -> e.Const:
    return e.const(value, "int64")


def analyzer() -> Analyzer:
    made = Analyzer()
    made.bind(X, -5, 11)
    made.bind(Y, 0, 8)
    return made


@settings(max_examples=400, deadline=None)
@given(numbers([X, Y, N]))
def test_simplifying_a_number_keeps_its_value(expr: e.Expr) -> None:
    found = analyzer()
    simple, interval = found.simplify(expr), found.interval(expr)

    for point in POINTS[::3]:
        wanted = evaluate(expr, point)
        assert evaluate(simple, point) == wanted, f"{expr}  ->  {simple} at {point}"
        assert interval.contains(wanted), f"{expr} in {interval} at {point}"


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(conditions([X, Y, N]))
def test_simplifying_a_condition_keeps_its_value(expr: e.Expr) -> None:
    simple = analyzer().simplify(expr)

    for point in POINTS[::3]:
        assert evaluate(simple, point) == evaluate(expr, point), f"{expr}  ->  {simple} at {point}"


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(conditions([X, Y, N]), numbers([X, Y, N], 6))
def test_a_constraint_is_used_only_inside_its_scope(condition: e.Expr, expr: e.Expr) -> None:
    found = analyzer()
    with found.constraint(condition):
        simple = found.simplify(expr)
        test = found.simplify(expr < 3)
    after = found.simplify(expr)

    for point in POINTS[::3]:
        wanted = evaluate(expr, point)
        if evaluate(condition, point):
            assert evaluate(simple, point) == wanted, f"{expr}  ->  {simple} at {point} if {condition}"
            assert evaluate(test, point) == (wanted < 3)
        assert evaluate(after, point) == wanted


@settings(max_examples=100, deadline=None)
@given(numbers([X, Y, N]))
def test_simplification_is_deterministic_and_keeps_values_when_repeated(expr: e.Expr) -> None:
    once = analyzer().simplify(expr)
    twice = analyzer().simplify(once)

    assert str(analyzer().simplify(expr)) == str(once)
    assert all(evaluate(once, p) == evaluate(twice, p) for p in POINTS[::7])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((X * 8 + Y) // 8, "x"),
        ((X * 8 + Y) % 8, "y"),
        ((X * 8 + Y) // 16, "x // 2"),
        ((X * 8 + Y) % 16, "x % 2 * 8 + y"),
        ((X * 8 + Y) // 4, "x * 2 + y // 4"),
        ((X * 64 + Y * 8 + 7) // 8 % 8, "y"),
        (F // 16 * 16 + F % 16, "f"),
        (F // 64 * 64 + F % 64 // 16 * 16 + F % 16, "f"),
        (F // (N + 1) * (N + 1) + F % (N + 1), "f"),
        ((F // (N + 1) * (N + 1) + F % (N + 1)) * 3 + K, "f * 3 + k"),
        (F // (N + 1) * N + F % (N + 1), "f // (n + 1) * n + f % (n + 1)"),
        (F // 4 // 8, "f // 32"),
        (F % 64 % 16, "f % 16"),
        (F % 64 // 16, "f // 16 % 4"),
        (F // -3, "f * -1 // 3"),
        ((F + 17) // 4 - 4, "(f + 1) // 4"),
        (3 - F - 1, "2 - f"),
        (F * W + K + W * 2 - F * W, "w * 2 + k"),
        (e.Min(F, e.Min(F + 1, K)), "min(f, k)"),
        (e.Min(F * 16 + 16, N) - F * 16, "min(n - f * 16, 16)"),
        (N - e.Min(N, K), "max(n - k, 0)"),
        (e.Max(Y, index(9)), "9"),
        (e.TruncDiv(Y, index(4)), "y // 4"),
        (e.TruncDiv(F * 4, index(4)), "f"),
        (e.TruncMod(Y + 8, index(8)), "y"),
        (e.TruncDiv(F, index(4)), "truncdiv(f, 4)"),
        (Y < 8, "True"),
        (e.LessEqual(index(0), N), "True"),
        (N < 0, "False"),
        (e.LessEqual(F * 4 + 1, K * 4), "f < k"),
        (e.Less(index(3), F), "3 < f"),
        (e.Equal(Y, index(9)), "False"),
        (e.NotEqual(F * 2 + 1, K * 2), "True"),
        (e.And(F < 4, F < 8), "f < 4"),
        (e.Or(F < 4, F < 8), "f < 8"),
        (e.Not(F < 4), "3 < f"),
        (e.Select(Y < 9, F, K), "f"),
        (e.Call("likely", (F < 4,), "bool"), "f < 4"),
        (e.Cast("int64", e.Cast("int32", Y)) * 2, "y * 2"),
        (e.Cast("int64", e.Cast("int32", F)) * 2, "int64(int32(f)) * 2"),
    ],
)
def test_examples_simplify_to_their_canonical_form(before: e.Expr, after: str) -> None:
    assert str(analyzer().simplify(before)) == after


def test_floats_and_loaded_values_are_not_rearranged() -> None:
    f = e.Var("f", "float32")
    a = ir.Buffer("A", "int32", (index(8),))
    load = ir.Load(a, (Y,))
    product = (load - 3) * (load - 5)

    assert analyzer().simplify(f * 0.0 + 0.0) is not f
    assert str(analyzer().simplify(product + Y.astype("int32") * 0)) == "(A[y] - 3) * (A[y] - 5)"
    assert analyzer().simplify(product) is product


def test_an_expression_in_canonical_form_is_returned_as_the_same_object() -> None:
    for expr in ((F + K) // 3, F * 16 + K, F * W + K, F < K, e.Ramp(F * 16, index(1), 16)):
        assert analyzer().simplify(expr) is expr


def ramp(base: e.Expr, stride: int = 1) -> e.Ramp:
    return e.Ramp(base, index(stride), 16)


def splat(value: e.Expr | int) -> e.Expr:
    return e.broadcast(e.convert(value, "int64"), 16)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (splat(F) * 2 + ramp(K), "ramp(f * 2 + k, 1, 16)"),
        (ramp(F) * splat(W), "ramp(f * w, w, 16)"),
        (ramp(F * 16) // splat(64), "broadcast(f // 4, 16)"),
        (ramp(F * 16) % splat(64), "ramp(f % 4 * 16, 1, 16)"),
        (ramp(F) // splat(64), "ramp(f, 1, 16) // broadcast(64, 16)"),
        (ramp(F, 64) // splat(16), "ramp(f // 16, 4, 16)"),
        (ramp(F, 64) % splat(16), "broadcast(f % 16, 16)"),
        (e.Less(ramp(Y), splat(23)), "broadcast(True, 16)"),
        (e.Less(ramp(Y), splat(22)), "ramp(y, 1, 16) < broadcast(22, 16)"),
        (e.Less(ramp(Y + 30), splat(22)), "broadcast(False, 16)"),
        (e.Min(ramp(Y), splat(40)), "ramp(y, 1, 16)"),
        (e.Not(e.Less(ramp(F), splat(W))), "broadcast(w, 16) <= ramp(f, 1, 16)"),
        (e.cast("int32", ramp(Y)), "ramp(int32(y), 1, 16)"),
    ],
)
def test_vectors_simplify_to_ramps(before: e.Expr, after: str) -> None:
    assert str(analyzer().simplify(before)) == after


def test_equal_compares_symbolic_shapes() -> None:
    assert equal((H + 2 - 3) // 2 + 1, (H - 1) // 2 + 1)
    assert equal((H * 2) // 2, H)
    assert equal((H + 1) * (W + 2), H * W + 2 * H + W + 2)
    assert equal(e.Max(H, index(0)), H)
    assert equal(3, 3)
    assert not equal((H + 1) // 2 * 2, H)
    assert not equal(H, W)
    assert not equal(H * W // W, H)  # w may be 0


def test_division_by_zero_is_zero() -> None:
    assert e.is_const(simplify(F // (W - W)), 0)
    assert e.is_const(simplify(F % (W - W)), 0)


def test_deep_and_shared_expressions_are_simplified() -> None:
    deep: e.Expr = X
    for _ in range(3000):
        deep = e.Add(deep, index(1))
    shared: e.Expr = e.Var("f", "float32")
    for _ in range(200):
        shared = e.Add(shared, shared)

    assert str(simplify(deep)) == "x + 3000"
    assert simplify(shared) is shared


def test_a_simplified_foreign_call_is_returned_as_the_same_object() -> None:
    def call(name: str) -> e.Expr:
        return e.Foreign("c", name, (X + 0, e.cast("float32", Y)), "float32")

    once = simplify(call("f"))

    assert str(once) == "f(x, float32(y))"
    assert simplify(e.Foreign("c", "f", (X, e.Cast("float32", Y)), "float32")) is not once
    assert simplify(once) is once
    assert not same(once, simplify(call("g")))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_division_by_the_least_integer_is_not_negated(dtype: str) -> None:
    x, least = e.Var("x", dtype), e.const(-(2 ** (31 if dtype == "int32" else 63)), dtype)
    for made, sign in ((e.FloorDiv(x, least), "//"), (e.FloorMod(x, least), "%")):
        assert str(simplify(made)) == f"x {sign} {least.value}"
        known = Analyzer()
        known.bind(x, -3, 7)
        for value in range(-3, 4):
            with known.constraint(x.equal(value)):
                wanted = value // least.value if sign == "//" else value % least.value
                assert e.is_const(known.simplify(made), wanted)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_bound_outside_the_dtype_does_not_wrap(dtype: str) -> None:
    x = e.Var("x", dtype)
    greatest = 2 ** (31 if dtype == "int32" else 63) - 1

    near = simplify(x - e.const(greatest, dtype) < 100)
    above = simplify(x + e.const(greatest, dtype) > -100)

    assert all(evaluate(near, {x: n}) for n in (-1, 0, 5, greatest))
    assert all(evaluate(above, {x: n}) for n in (-greatest, -5, 0))
    assert e.is_const(simplify(x + e.const(greatest, dtype) == -100), 0)
    assert evaluate(simplify(x - 1 == e.const(-greatest, dtype)), {x: 1 - greatest})


def test_shared_minima_and_selects_are_simplified_once() -> None:
    x, y = e.Var("x"), e.Var("y")
    least: e.Expr = x
    chosen: e.Expr = x
    for k in range(30):
        least = e.Min(least, least * y + k)
        chosen = e.Select(chosen < k, chosen + y, chosen * y)

    for made in (least, chosen):
        assert simplify(made).dtype == "int32"


def test_truncating_division_of_nonnegative_lanes_is_simplified() -> None:
    known, x, eight = Analyzer(), e.Var("x"), e.Broadcast(e.const(8), 4)
    lanes = e.Ramp(x * 8 + 1, e.const(1), 4)
    assert str(known.simplify(e.TruncDiv(lanes, eight))) == str(e.TruncDiv(lanes, e.const(8, "int32", 4)))

    known.bind(x, 0, 1000)

    assert str(known.simplify(e.TruncDiv(lanes, eight))) == "broadcast(x, 4)"
    assert str(known.simplify(e.TruncMod(lanes, eight))) == "ramp(1, 1, 4)"
    wide = e.Ramp(x * 8 + 1, e.const(15), 4)
    assert str(known.simplify(e.FloorMod(wide, eight))) == "ramp(1, 15, 4) % broadcast(8, 4)"
