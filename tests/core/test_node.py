"""The traversal of nodes."""

from __future__ import annotations

from tvmlite.core.node import alike, substitute, substitute_each
from tvmlite.te import expr as e

X, Y = e.Var("x"), e.Var("y")


def test_each_value_gives_what_substitution_gives() -> None:
    root = (X + 1) * (X + 1) - Y * 2

    results = list(substitute_each(root, X, [e.const(n) for n in range(3)]))

    for n, result in enumerate(results):
        assert alike(result, substitute(root, {X: e.const(n)}))


def test_what_does_not_change_is_shared_by_all() -> None:
    fixed = Y * 2
    first, second = substitute_each(X - fixed, X, [e.const(1), e.const(2)])

    assert first.b is fixed
    assert second.b is fixed
    assert list(substitute_each(fixed, X, [e.const(1)])) == [fixed]
    assert list(substitute_each(X, X, [Y])) == [Y]
