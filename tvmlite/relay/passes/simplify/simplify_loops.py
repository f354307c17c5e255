"""Remove states from loops that do not change or are not needed.

TensorFlow's ``while`` carries weights and bounds as states that each iteration passes on unchanged. Once
replaced by their initial values, weights are constants, which are packed and folded as usual. A loop that
only counts iterations for another (``relay.onnx.control``) needs only the states that its condition needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tvmlite.core.node import Node, postorder, reachable_from, substitute
from tvmlite.relay.ir.nodes import (
    Constant,
    Expr,
    Loop,
    Tuple,
    TupleGetItem,
    Var,
    constant,
    with_lets,
    without_lets,
)
from tvmlite.relay.passes.graph_pass import graph_pass


@graph_pass
def simplify_loops(body: Expr) -> Expr:
    """Of loops that are read field by field, replace states that never change by their initial values; remove
    states and rows that neither a result nor the condition needs; without a condition, replace the bool that
    says whether to continue."""
    nodes = [node for node in postorder(body) if isinstance(node, Expr)]
    used = _fields_used(nodes, body)
    done: dict[Expr, Expr] = {}
    fields: dict[Expr, dict[int, Expr]] = {}
    for node in nodes:
        if isinstance(node, TupleGetItem) and node.value in fields:
            done[node] = fields[node.value][node.index]
            continue
        new = done[node] = node.map_children(done.__getitem__)
        if isinstance(new, Loop) and node in used:
            done[node], changed = _simplified(new, used[node])
            if done[node] is not new:
                fields[node] = changed
    return done[body]


def _fields_used(nodes: list[Expr], body: Expr) -> dict[Expr, set[int]]:
    """The fields of each loop that are used, for loops that are used through their fields only."""
    used: dict[Expr, set[int]] = {node: set() for node in nodes if isinstance(node, Loop)}
    used_whole = {body}
    for node in nodes:
        if isinstance(node, TupleGetItem) and node.value in used:
            used[node.value].add(node.index)
        else:
            used_whole.update(node.children())  # type: ignore[arg-type]
    return {node: fields for node, fields in used.items() if node not in used_whole}


def _simplified(loop: Loop, used: set[int]) -> tuple[Loop, dict[int, Expr]]:
    """``loop`` without what is not needed, and the new expressions of its fields, by number; ``loop`` itself
    if all is needed."""
    lets, inner = without_lets(loop.body)
    assert isinstance(inner, Tuple)
    results = inner.fields
    count, total = len(loop.states), len(results) - 1
    same = {k: loop.initial[k] for k, var in enumerate(loop.states) if results[1 + k] is var}
    continues = results[0]
    if loop.condition is None and not isinstance(continues, Constant):
        continues = constant(True, "bool")
    rows = [k for k in range(count, total) if k in used]
    needed = _needed(
        loop.states, results, used, [continues, *(results[1 + k] for k in rows), *(let.value for let in lets)]
    )
    kept = [k for k in range(count) if k in needed and k not in same] + rows
    if len(kept) == total and continues is results[0]:
        return loop, {}
    body = with_lets(lets, Tuple((continues, *(results[1 + k] for k in kept)), loop.span))
    states = [k for k in kept if k < count]
    made = dataclasses.replace(
        loop,
        states=tuple(loop.states[k] for k in states),
        initial=tuple(loop.initial[k] for k in states),
        body=substitute(body, {loop.states[k]: value for k, value in same.items()}),
    )
    fields = {k: TupleGetItem(made, place, loop.span) for place, k in enumerate([*kept, total])}
    return made, {**fields, **same}


def _needed(
    states: tuple[Var, ...], results: tuple[Expr, ...], used: set[int], roots: list[Expr]
) -> set[int]:
    """The states that are in ``used``, or that ``roots`` or another needed state's next value depends on."""
    numbers = {var: k for k, var in enumerate(states)}

    def computed_from(node: Expr) -> Sequence[Node]:
        return [results[1 + numbers[node]]] if node in numbers else node.children()  # type: ignore[index]

    first = [*roots, *(states[k] for k in used if k < len(states))]
    return {numbers[node] for node in reachable_from(first, computed_from) if node in numbers}
