"""Sample points agree with all that is known, and spare no search that would have succeeded."""

import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.bounds import Bounds
from tvmlite.te.arith.polynomial import Poly
from tvmlite.te.arith.samples import POINTS, Point, Points

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from reference import evaluate

SIZES = [e.SizeVar(name, "int64") for name in "nm"]
LOOPS = [e.Var(name, "int64") for name in "ijk"]
NUMBERS = st.integers(-3, 20)


@st.composite
def linear(draw: st.DrawFn, variables: list[e.Var]) -> e.Expr:
    """A sum of a few terms, some divided."""
    total: e.Expr = e.const(draw(NUMBERS), "int64")
    for _ in range(draw(st.integers(1, 3))):
        term: e.Expr = draw(st.sampled_from(variables)) * draw(st.integers(-4, 16))
        if draw(st.booleans()):
            term = (term + draw(NUMBERS)) // draw(st.integers(1, 16))
        total = total + term
    return total


def refuted(poly: Poly, bounds: Bounds) -> bool:
    return Points().refute(poly, bounds)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_proof_with_samples_is_a_proof_without(data: st.DataObject) -> None:
    fast, slow = Analyzer(), Analyzer()
    known: list[e.Var] = list(SIZES)
    for var in LOOPS:
        extent = data.draw(linear(known)) if data.draw(st.booleans()) else data.draw(st.integers(1, 16))
        for analyzer in (fast, slow):
            analyzer.bind(var, 0, extent)
        known.append(var)
        if data.draw(st.booleans()):
            fact = data.draw(linear(known)) > 0
            for analyzer in (fast, slow):
                analyzer.assume(fact)
    for _ in range(6):
        asked = data.draw(linear(known))
        gap = slow._core.poly(asked)
        slow._core.bounds.known.points.left = []
        if slow._core.bounds.prove_nonnegative(gap):
            assert fast._core.bounds.prove_nonnegative(fast._core.poly(asked))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_points_agree_with_what_is_known(data: st.DataObject) -> None:
    """What is known holds for some values, so that it is no contradiction."""
    true_of = {var: data.draw(st.integers(0, 40)) for var in (*SIZES, *LOOPS)}
    analyzer = Analyzer()
    core, known = analyzer._core, list[e.Var](SIZES)
    facts: list[e.Expr] = []
    for var in LOOPS:
        extent = data.draw(linear(known))
        if evaluate(extent, true_of) > true_of[var]:
            analyzer.bind(var, 0, extent)
            facts += [var, extent - 1 - var]
        known.append(var)
        fact = data.draw(linear(known))
        if evaluate(fact, true_of) >= 0:
            analyzer.assume(fact >= 0)
            facts.append(fact)
    polys = [core.poly(fact) for fact in facts]
    for habit in range(POINTS):
        point = Point(habit)
        if point.agrees(core.bounds):
            values = [point.at(poly, core.bounds) for poly in polys]
            assert point.broken or all(value >= 0 for value in values)


def test_what_fails_somewhere_is_refuted_and_what_is_forgotten_comes_back() -> None:
    analyzer = Analyzer()
    n, i = SIZES[0], LOOPS[0]
    bounds = analyzer._core.bounds
    tail = analyzer._core.poly(n - i * 16 - 1)

    with analyzer.scope():
        analyzer.bind(i, 0, (n + 15) // 16)
        assert refuted(p.add(tail, p.constant(-15)), bounds)
        assert not refuted(tail, bounds)
        with analyzer.constraint(i * 16 + 15 < n):
            assert any(Point(habit).agrees(bounds) for habit in range(POINTS))
            assert not refuted(p.add(tail, p.constant(-15)), bounds)
        assert refuted(p.add(tail, p.constant(-15)), bounds)
    assert analyzer.prove(n >= 0)
    assert not analyzer.prove(n >= 1)
