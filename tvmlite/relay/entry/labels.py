"""Human-readable names of kernels: operators, the model's node, and the shape of the result.

Tables, profiles and pages use the same name for the same kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.relay.entry.lower import anchor_call, operator_calls
from tvmlite.relay.ir.blocks import order, runs_of
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Function
from tvmlite.relay.ir.types import TensorType, TupleType, Type, show_dim

MOST_OPERATORS = 4
"""The number of operators in a label; if there are more, the rest is counted."""


def label(group: Function) -> str:
    """``conv2d+add+relu /stem/conv/Conv 1x64x56x56``

    The node is that of the operator that decides the schedule, or else the first node in the group; a graph
    that was not imported has none.
    """
    names = [str(call.op) for call in operator_calls(group)]
    return " ".join(filter(None, (operators(names), node(group), shape(type_of(group.body)))))


def of_calls(main: Function) -> list[str]:
    """The label of each kernel that ``main`` calls, in the order of the calls."""
    return [label(run.call.op) for run in runs_of(order(main)) if isinstance(run.call.op, Function)]


def operators(names: Sequence[str]) -> str:
    """``conv2d+add+relu``; ``add+exp+log+sub+5 more``"""
    short = [name.removeprefix("nn.").removeprefix("contrib_") for name in names]
    more = len(short) - MOST_OPERATORS
    return "+".join(short if more <= 1 else [*short[:MOST_OPERATORS], f"{more} more"])


def node(group: Function) -> str:
    """The name of the group's node in the model; empty if it has none."""
    calls = operator_calls(group)
    if not calls:
        return ""
    named = (one.span.node for one in (anchor_call(group), *calls) if one.span is not None)
    return next(filter(None, named), "")


def shape(type_: Type) -> str:
    """``1x64x56x56``; ``batchx(n + 1)``; for a tuple, the shapes of its fields."""
    if isinstance(type_, TupleType):
        return ", ".join(map(shape, type_.fields))
    if not isinstance(type_, TensorType):
        return ""
    extents = (show_dim(extent) for extent in type_.shape)
    return "x".join(text if text.isalnum() else f"({text})" for text in extents) or "scalar"
