"""User-defined lowering rules for existing intrinsics, such as ``"tir.exp"``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.tensor.intrinsics import TABLE
from tvmlite.te.tensor.registry import lowering_rule
from tvmlite.tvm.written import plain


def with_rules(function: ir.Function) -> ir.Function:
    """Replace calls of intrinsics in ``function`` by the results of the rules of
    ``register_intrin_lowering``, to which rules are not applied again. User-defined intrinsics were already
    replaced when they were called."""

    def rule(node: Any) -> Any:
        if not isinstance(node, e.Call) or node.name not in TABLE:
            return node
        own = lowering_rule(node.name)
        return node if own is None else e.cast(node.dtype, plain(own(node)))

    body = rewrite(function.body, rule)
    return function if body is function.body else replace(function, body=body)
