"""Conditions on dimensions: what is known of them in a branch, and whether an open condition is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core.alike import alike
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph import shapes
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.te import arith
from tvmlite.te import expr as e


@dataclass(frozen=True)
class Fact:
    """The value ``holds`` of an If's condition in a branch; ``test`` is the condition, if on dimensions."""

    condition: Expr
    test: e.Expr | None
    holds: bool
    tried: bool = False
    """Whether the other branch is compiled or checked as well."""

    @property
    def known(self) -> e.Expr | None:
        """What is known of dimensions in the branch."""
        return self.test if self.test is None or self.holds else arith.simplify(e.Not(self.test))


class Undecided(Exception):
    """Both branches of an If may be taken, and their outputs differ in rank or element type.

    The nodes after it then depend on the branch (``tail_duplication``). Never leaves this package.
    """

    def __init__(self, node: OnnxNode, condition: Expr, test: e.Expr | None) -> None:
        super().__init__(node.label)
        self.node, self.condition, self.test = node, condition, test

    def fact(self, holds: bool, tried: bool = False) -> Fact:
        """Return that the condition ``holds``, or not; ``tried``: the other branch is checked as well."""
        return Fact(self.condition, self.test, holds, tried)


def known_outcome(facts: Sequence[Fact], condition: Expr, test: Any) -> bool | None:
    """The value of a condition, if it is certain; ``test`` is what is known of it."""
    if test is not None and not isinstance(test, e.Expr):
        return bool(test)
    test, analyzer = as_bool(test), arith.Analyzer()
    for fact in facts:
        if fact.condition is condition or (
            test is not None and fact.test is not None and alike(test, fact.test)
        ):
            return fact.holds
        if fact.known is not None:
            analyzer.assume(fact.known)
    if test is None:
        return None
    if analyzer.prove(test):
        return True
    return False if analyzer.prove(arith.simplify(e.Not(test))) else None


def decide(node: OnnxNode, test: e.Expr) -> bool:
    """Whether ``test`` holds for all dimensions; Undecided if it is open, as for an If."""
    chosen = known_outcome(node.importer.facts, node.const(True, "bool"), test)
    if chosen is None:
        condition = shapes.materialise(node, shapes.objects([test]), "bool")
        raise Undecided(node, condition, test)
    return chosen


def as_bool(test: Any) -> e.Expr | None:
    """A condition on dimensions as a bool; None if it is not one."""
    if not isinstance(test, e.Expr):
        return None
    return test if test.dtype == "bool" else e.NotEqual(*e.match(test, 0))
