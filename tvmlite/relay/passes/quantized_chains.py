"""Which arithmetic is rounded to steps at its end, so that its last bit may decide a whole step."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.relay.infer import tensor_type_of
from tvmlite.relay.ir import Call, Expr, Tuple, TupleGetItem
from tvmlite.relay.op import OPERATORS, Fuse
from tvmlite.relay.passes.patterns import is_float

STEPS = ("round", "floor", "ceil", "trunc", "qnn.quantize")
"""Operators of floats whose results are steps; so is a cast to integers."""


def quantized_chains(body: Expr) -> frozenset[Expr]:
    """The nodes from which a chain of elementwise operators, views, minima and maxima leads to a step.

    A chain begins at the last sum of products, that one included: what is summed up before is rounded as the
    order of the sum has it, and no two compilers agree on that but for whole numbers.
    """
    inside: set[Expr] = set()
    for node in reversed(list(postorder(body))):
        if isinstance(node, Expr) and (_is_step(node) or (node in inside and _keeps_bits(node))):
            inside.update(child for child in node.children() if isinstance(child, Expr))
    return frozenset(inside)


def _is_step(node: Expr) -> bool:
    match node:
        case Call(op="cast", args=(x,)):
            return is_float(x) and dtypes.is_int(tensor_type_of(node).dtype)
        case Call(op=str() as name):
            return name in STEPS
        case _:
            return False


def _keeps_bits(node: Expr) -> bool:
    match node:
        case Tuple() | TupleGetItem():
            return True
        case Call(op=str() as name) if name in OPERATORS:
            return OPERATORS[name].fuse <= Fuse.COMM_REDUCE or name.startswith("nn.max_pool")
        case _:
            return False
