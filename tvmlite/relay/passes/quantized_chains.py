"""Find arithmetic whose last bits matter: where its result is rounded to steps, a bit may change a step."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, TupleGetItem, Var
from tvmlite.relay.ir.op import Fuse, Rounding
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.passes.patterns import is_float


def quantized_chains(body: Expr) -> frozenset[Expr]:
    """The nodes from which a chain of element-wise and injective operators and reductions leads to a step.

    A chain begins at the last sum of products, which is included. Before it, rounding depends on the order of
    summation, in which no two compilers agree, except for integers, where it does not matter.
    """
    chained: set[Expr] = set()
    for node in reversed(list(postorder(body))):
        if isinstance(node, Expr) and (
            _rounds_to_steps(node) or (node in chained and _continues_chain(node))
        ):
            chained.update(_parts(node))
    return frozenset(chained)


def exactly_determined(body: Expr) -> frozenset[Expr]:
    """The nodes whose value the model determines exactly: they depend on inputs, constants and integers
    through no sum of fractions and no transcendental function."""
    exact: set[Expr] = set()
    for node in postorder(body):
        if isinstance(node, Expr) and (
            _is_integral(node) or (_rounds_once(node) and exact.issuperset(_parts(node)))
        ):
            exact.add(node)
    return frozenset(exact)


def _parts(node: Expr) -> list[Expr]:
    return [child for child in node.children() if isinstance(child, Expr)]


def _is_integral(node: Expr) -> bool:
    """Whether ``node`` is a tensor of integers or bools, which are exact whatever they are computed from."""
    type_ = type_of(node)
    return isinstance(type_, TensorType) and not dtypes.is_float(type_.dtype)


def _rounds_once(node: Expr) -> bool:
    match node:
        case Var() | Constant() | Tuple() | TupleGetItem():
            return True
        case Call(op=str() as name) if operators.is_known(name):
            return operators.get(name).rounding is not Rounding.MANY
        case _:
            return False


def _rounds_to_steps(node: Expr) -> bool:
    match node:
        case Call(op="cast", args=(x,)):
            return is_float(x) and dtypes.is_int(tensor_type_of(node).dtype)
        case Call(op=str() as name) if operators.is_known(name):
            return operators.get(name).rounding is Rounding.STEPS
        case _:
            return False


def _continues_chain(node: Expr) -> bool:
    match node:
        case Tuple() | TupleGetItem():
            return True
        case Call(op=str() as name) if operators.is_known(name):
            row = operators.get(name)
            return row.fuse <= Fuse.COMM_REDUCE or row.rounding is not Rounding.MANY
        case _:
            return False
