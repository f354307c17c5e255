"""``tvm.tir.analysis``: structural equality of expressions, and verification of SSA form."""

from __future__ import annotations

from typing import Any

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.attributes import structurally_equal
from tvmlite.tvm.written import Let


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions have the same structure; each variable equals only itself."""
    return structurally_equal(lhs, rhs)


def verify_ssa(func: Any) -> bool:
    """Whether each variable in ``func`` is bound at most once, by a parameter, a statement or a ``Let``
    expression. Several ``Let`` expressions may bind a variable to equal values."""
    bound = {one for one in func.params if isinstance(one, e.Var)}
    values: dict[e.Var, e.Expr] = {}
    for node in postorder(func.body):
        for name in getattr(node, "binders", ()):
            var = getattr(node, name)
            again = var in values and isinstance(node, Let) and structurally_equal(values[var], node.value)
            if var in bound and not again:
                return False
            bound.add(var)
            if isinstance(node, Let):
                values[var] = node.value
    return True


__getattr__ = refusing(__name__)
