"""Conditions on dimensions: what is known of them in a branch, and which way an open one goes."""

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
    """Which way the condition of an If goes: ``test`` says it of dimensions, where it is one of sizes."""

    condition: Expr
    test: e.Expr | None
    holds: bool
    tried: bool = False
    """Whether the other way is compiled, or looked at, too."""

    @property
    def known(self) -> e.Expr | None:
        """What is known of dimensions where this is so."""
        return self.test if self.test is None or self.holds else arith.simplify(e.Not(self.test))


class Undecided(Exception):
    """Both branches of an If may be taken, and their outputs differ in rank or element type.

    What follows in the graph then depends on the branch (``tail_duplication``); never leaves this package.
    """

    def __init__(self, node: OnnxNode, condition: Expr, test: e.Expr | None) -> None:
        super().__init__(node.label)
        self.node, self.condition, self.test = node, condition, test

    def fact(self, holds: bool, tried: bool = False) -> Fact:
        """That the condition ``holds``, or does not; ``tried``: the other branch is looked at too."""
        return Fact(self.condition, self.test, holds, tried)


def decided(facts: Sequence[Fact], condition: Expr, test: Any) -> bool | None:
    """Which way a condition goes, whose value is ``test`` as far as it is known, if that is certain."""
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
    """Whether ``test`` holds of dimensions; Undecided where it is open, as of an If."""
    chosen = decided(node.importer.facts, node.const(True, "bool"), test)
    if chosen is None:
        condition = shapes.materialise(node, shapes.objects([test]), "bool")
        raise Undecided(node, condition, test)
    return chosen


def as_bool(test: Any) -> e.Expr | None:
    """A condition on dimensions as a bool; None where there is none."""
    if not isinstance(test, e.Expr):
        return None
    return test if test.dtype == "bool" else e.NotEqual(*e.match(test, 0))
