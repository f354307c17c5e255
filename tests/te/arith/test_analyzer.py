"""Proofs from ranges and conditions."""

from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, Interval

I0, I1, V = e.Var("i0", "int64"), e.Var("i1", "int64"), e.Var("v", "int64")
N, H, W = (e.SizeVar(x, "int64") for x in "nhw")


def test_a_flattened_index_is_proven_inside_a_symbolic_shape() -> None:
    found = Analyzer()
    for var, extent in ((V, N), (I0, H), (I1, W)):
        found.bind(var, 0, extent)
    flat = (V * H + I0) * W + I1

    assert found.prove(flat < N * H * W)
    assert found.prove(flat >= 0)
    assert not found.prove(flat < N * H * W - 1)
    assert str(found.simplify(flat // W)) == "h * v + i0"
    assert str(found.simplify(flat % (H * W))) == "i0 * w + i1"


def test_the_full_tiles_of_a_tail_need_no_guard() -> None:
    found = Analyzer()
    found.bind(I0, 0, N // 16)
    found.bind(I1, 0, 16)

    assert found.prove(I0 * 16 + I1 < N)
    assert found.prove((N + 15) // 16 >= N // 16)


def test_a_tail_whose_extent_is_a_minimum_needs_no_guard() -> None:
    found = Analyzer()
    found.bind(I0, 0, (N + 15) // 16)
    found.bind(I1, 0, e.Min(N - I0 * 16, e.const(16, "int64")))

    assert found.prove(I0 * 16 + I1 < N)
    assert found.prove(I1 < 16)


def test_tiles_rounded_up_need_a_guard() -> None:
    found = Analyzer()
    found.bind(I0, 0, (N + 15) // 16)
    found.bind(I1, 0, 16)

    assert not found.prove(I0 * 16 + I1 < N)


def test_a_constraint_is_forgotten_after_its_scope() -> None:
    found = Analyzer()
    found.bind(I0, 0, 100)

    with found.constraint(e.And(I0 < N, N < 8)):
        assert found.prove(I0 < 7)
        assert found.prove(I0 < N)
    assert not found.prove(I0 < 8)
    assert found.interval(I0 * 2 + 1) == Interval(1, 199)


def test_a_variable_pinned_by_a_condition_is_replaced_by_its_value() -> None:
    found = Analyzer()
    found.bind(I0, 0, 4)
    for condition in (e.Equal(I0, e.const(2, "int64")), e.And(I0 < 3, I0 >= 2), e.Or(I0 < 0, I0.equal(2))):
        with found.constraint(condition):
            assert str(found.simplify(I0 + V)) == "v + 2"
    assert str(found.simplify(I0 + V)) == "i0 + v"


def test_the_variable_of_a_loop_of_one_iteration_is_replaced_by_its_value() -> None:
    found = Analyzer()
    found.bind(I0, 0, 1)
    found.bind(I1, N, 1)

    assert str(found.simplify(I0 + I1)) == "n"


def test_linear_coefficients_and_least_values_of_expressions() -> None:
    found = Analyzer()
    found.bind(V, 0, N)
    found.bind(I0, 0, 16)

    factor, rest = found.linear(I0 * 4 + V * 3 - I0, I0) or (0, I0)

    assert (factor, str(rest)) == (3, "v * 3")
    assert found.linear(I0 // 4, I0) is None
    assert found.linear(I0 * V, I0) is None
    assert str(found.lower_bound(V - I0 * 2, [I0])) == "v - 30"
    assert found.lower_bound(V - N * I1, [I1]) is None
    assert found.lower_bound(V - I0, [V]) is not None


def test_a_widening_cast_has_the_bounds_of_its_operand() -> None:
    found = Analyzer()
    byte = e.Var("b", "uint8")

    assert found.interval(e.Cast("int64", byte)) == Interval(0, 255)


def test_factors_of_a_loop_extent_are_nonzero_inside_the_loop() -> None:
    found = Analyzer()
    tiles = (W + 15) // 16
    found.bind(V, 0, N * tiles * 3)

    assert found.prove(N >= 1)
    assert found.prove(V % tiles * 16 < W)
    assert not found.prove(V % tiles * 16 + 1 < W)
