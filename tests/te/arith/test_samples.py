"""Sample points satisfy all known facts and never prevent a proof that the search would find."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.proofs import _known, samples_of
from tvmlite.te.arith.samples import Samples

SIZES = [e.SizeVar(name, "int64") for name in "nm"]
LOOPS = [e.Var(name, "int64") for name in "ijk"]
NUMBERS = st.integers(-3, 20)


@st.composite
def linear(draw: st.DrawFn, variables: list[e.Var]) -> e.Expr:
    """A sum of a few random terms, some of them divided."""
    total: e.Expr = e.const(draw(NUMBERS), "int64")
    for _ in range(draw(st.integers(1, 3))):
        term: e.Expr = draw(st.sampled_from(variables)) * draw(st.integers(-4, 16))
        if draw(st.booleans()):
            term = (term + draw(NUMBERS)) // draw(st.integers(1, 16))
        total = total + term
    return total


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_samples_change_no_proof(data: st.DataObject) -> None:
    fast, slow = Analyzer(), Analyzer()
    samples_of(slow._core.bounds).points = []
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
        if slow._core.bounds.prove_nonnegative(gap):
            assert fast._core.bounds.prove_nonnegative(fast._core.poly(asked))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_sample_points_satisfy_all_known_facts(data: st.DataObject) -> None:
    analyzer = Analyzer()
    bounds = analyzer._core.bounds
    known: list[e.Var] = list(SIZES)
    for var in LOOPS:
        analyzer.bind(var, 0, data.draw(linear(known)))
        known.append(var)
        analyzer.assume(data.draw(linear(known)) > 0)
    samples = samples_of(bounds)
    for point in samples.points:
        assert all(samples.at(poly, point) >= 0 for poly in _known(bounds))


def test_samples_refute_false_facts_and_return_after_a_scope() -> None:
    analyzer = Analyzer()
    n, i = SIZES[0], LOOPS[0]
    samples = samples_of(analyzer._core.bounds)
    tail = analyzer._core.poly(n - i * 16 - 1)

    assert isinstance(samples, Samples)
    with analyzer.scope():
        analyzer.bind(i, 0, (n + 15) // 16)
        assert samples.points
        assert samples.refute(p.add(tail, p.constant(-15)))
        assert not samples.refute(tail)
        with analyzer.constraint(i * 16 + 15 < n):
            assert samples.points
            assert not samples.refute(p.add(tail, p.constant(-15)))
        assert samples.refute(p.add(tail, p.constant(-15)))
    assert analyzer.prove(n >= 0)
    assert not analyzer.prove(n >= 1)
