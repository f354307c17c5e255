"""Let groups that differ in constants only share one kernel, which takes the constants as arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder, rewrite, substitute
from tvmlite.relay.entry.canonical_dims import with_canonical_extents
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Var
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.text import printer

ARITHMETIC = ("add", "subtract", "multiply", "divide")
"""Operators with the same formula for a float that is known at compile time and for one that is not."""

QUANTIZATION = ("qnn.quantize", "qnn.dequantize")
"""Operators for which this holds for floats (scales) and integers (zero points)."""


@graph_pass
def share_kernels(body: Expr) -> Expr:
    """Replace scalar constants in groups by parameters if the groups are otherwise equal::

        fn(p0) { multiply(p0, 0.5f) }(x)         fn(p0, p1) { multiply(p0, p1) }(x, 0.5f)
        fn(p0) { multiply(p0, 0.25f) }(y)  -->   fn(p0, p1) { multiply(p0, p1) }(y, 0.25f)

    So the layers of a quantized model, each with its own scales, are one kernel that is compiled and tuned
    once. A constant that is the same in all groups is left in them.
    """
    by_text: dict[str, dict[Function, list[Constant]]] = {}
    for node in postorder(body):
        if isinstance(node, Call) and isinstance(node.op, Function):
            numbers = list(_scalar_constants(node.op))
            if numbers:
                text = printer.show(with_canonical_extents(_with_parameters(node.op, numbers))[0])
                by_text.setdefault(text, {})[node.op] = numbers
    varying = {
        group: found for groups in by_text.values() for group, found in _differing_constants(groups).items()
    }
    if not varying:
        return body
    shared = {group: _with_parameters(group, numbers) for group, numbers in varying.items()}

    def sharing(node: Expr) -> Expr:
        if isinstance(node, Call) and isinstance(node.op, Function) and node.op in shared:
            return dataclasses.replace(node, op=shared[node.op], args=(*node.args, *varying[node.op]))
        return node

    return rewrite(body, sharing)


def _scalar_constants(group: Function) -> Iterator[Constant]:
    """The distinct scalar constants in ``group`` that nothing but these operators reads, in order of first
    use."""
    found: dict[Constant, None] = {}
    others: set[Expr] = set()
    for node in postorder(group.body):
        for child in node.children():
            if isinstance(node, Call) and isinstance(child, Constant) and _can_be_parameter(child, node):
                found[child] = None
            elif isinstance(child, Expr):
                others.add(child)
    return (one for one in found if one not in others)


def _can_be_parameter(constant: Constant, reader: Call) -> bool:
    """Whether ``constant`` is a scalar and an operand of ``reader`` that could be a parameter."""
    known = QUANTIZATION if not dtypes.is_float(constant.dtype.name) else ARITHMETIC + QUANTIZATION
    return constant.shape == () and reader.op in known


def _differing_constants(groups: dict[Function, list[Constant]]) -> dict[Function, list[Constant]]:
    """For each of ``groups``, which are equal apart from their constants, the constants that differ."""
    columns: Sequence[tuple[Constant, ...]] = list(zip(*groups.values(), strict=True))
    places = [k for k, column in enumerate(columns) if len({one.data.tobytes() for one in column}) > 1]
    return {group: [numbers[k] for k in places] for group, numbers in groups.items()} if places else {}


def _with_parameters(group: Function, numbers: list[Constant]) -> Function:
    """``group`` with additional parameters at the end in place of ``numbers``."""
    count = len(group.params)
    params = [Var(f"p{count + k}", type_of(one), one.span) for k, one in enumerate(numbers)]
    body = substitute(group.body, dict(zip(numbers, params, strict=True)))
    return dataclasses.replace(group, params=(*group.params, *params), body=body)
