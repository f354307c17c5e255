"""Inputs that share a dimension's name with others, but whose extent is fixed by the graph.

Exporters give one name to dimensions of different inputs that are not equal, and runtimes do not always check
it. If the graph runs for one number only (``x`` of ``(batch, width)`` is multiplied by a weight of 256 rows),
the dimension of that input is fixed to the number, and the name remains with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvmlite.core.node import Node, postorder, reachable_from
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function, If, Loop, Var
from tvmlite.relay.ir.types import Dim, TensorType
from tvmlite.te import expr as te


def fixed_shapes(main: Function) -> dict[str, tuple[Dim, ...]]:
    """Return, by input name, the shape it has in every run that succeeds.

    Only inputs with a dimension that must be a certain number and shares its name with one that need not.
    """
    inputs = {p: p.type.shape for p in main.params if isinstance(p.type, TensorType)}
    fixed: dict[Var, dict[te.SizeVar, int]] = {}
    for data, dimension, number in _fixed_dimensions(main.body):
        for one in postorder(data):
            if isinstance(one, Var) and dimension in inputs.get(one, ()):
                fixed.setdefault(one, {})[dimension] = number
    return {
        one.name: tuple(numbers.get(d, d) if isinstance(d, te.SizeVar) else d for d in inputs[one])
        for one, numbers in fixed.items()
        if any(d in inputs[other] and d not in fixed.get(other, ()) for d in numbers for other in inputs)
    }


def _fixed_dimensions(body: Expr) -> Iterator[tuple[Expr, te.SizeVar, int]]:
    """What every run requires of named dimensions: a value, the dimension in its shape, its number."""
    for node in _always_evaluated(body):
        if isinstance(node, Call) and node.op == "assume_shape":
            (data,) = node.args
            for have, want in zip(tensor_type_of(data).shape, node["newshape"], strict=True):
                if isinstance(have, te.SizeVar) and isinstance(want, int):
                    yield data, have, want


def _always_evaluated(body: Expr) -> Iterator[Node]:
    """The nodes below ``body``, without those inside branches and loops, which a run may skip."""

    def evaluated(node: Node) -> Sequence[Node]:
        match node:
            case If(condition):
                return [condition]
            case Loop(condition=condition, initial=initial):
                return [*initial, *([] if condition is None else [condition])]
        return node.children()

    return reachable_from([body], evaluated)
