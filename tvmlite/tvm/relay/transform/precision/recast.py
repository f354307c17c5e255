"""``recast``: computes selected operators in another dtype, between casts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.visit import in_order, rewritten


def recast(
    expr: Any,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] | None = None,
    skip_layers: Sequence[int] | None = None,
) -> Any:
    """Recast a function or a module: cast the operands of the operators ``ops`` (default ``nn.conv2d``) to
    ``dtype``, set their attribute ``out_dtype``, if they have one, and cast their results back.

    ``skip_layers`` has the indices of calls to skip, in execution order; a negative index counts from the
    end.
    """
    if isinstance(expr, IRModule):
        made = expr.copy()
        made["main"] = recast(expr["main"], dtype, out_dtype, ops, skip_layers)
        return made
    names = ["nn.conv2d"] if ops is None else list(ops)
    total = sum(isinstance(node, nodes.Call) and node.op in names for node in in_order(expr))
    wrong = [place for place in skip_layers or () if not -total <= place < total]
    if wrong:
        raise InputError(
            f"recast: skip_layers has {wrong[0]}, there are {total} calls of {', '.join(names)}",
            Span.of_caller(),
        )
    skipped = {place % total for place in skip_layers or ()}
    places = count()

    def rule(node: Any) -> Any:
        if not isinstance(node, nodes.Call) or node.op not in names or next(places) in skipped:
            return node
        attrs = dict(node.attrs)
        changed = {"out_dtype": out_dtype} if "out_dtype" in attrs else {}
        args = [_cast(arg, dtype) for arg in node.args]
        made = make(str(node.op), *args, **{**attrs, **changed}, span=node.span)
        return make("cast", made, dtype=tensor_type_of(node).dtype, span=node.span)

    return adopt(rewritten(expr, rule))


def _cast(arg: Any, dtype: str) -> Any:
    """``arg``, or all fields of a tuple, cast to ``dtype``."""
    if isinstance(arg, nodes.Tuple):
        return nodes.Tuple(tuple(_cast(field, dtype) for field in arg.fields), arg.span)
    return make("cast", arg, dtype=dtype, span=arg.span)
