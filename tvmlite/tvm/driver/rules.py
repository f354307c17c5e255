"""Rules of a program's own for intrinsics that there are already, such as ``"tir.exp"``."""

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
    """``function`` with calls of intrinsics replaced by what ``register_intrin_lowering`` says of them, which
    is not looked at again. Intrinsics of a program's own became what they are when they were called."""

    def rule(node: Any) -> Any:
        if not isinstance(node, e.Call) or node.name not in TABLE:
            return node
        own = lowering_rule(node.name)
        return node if own is None else e.cast(node.dtype, plain(own(node)))

    body = rewrite(function.body, rule)
    return function if body is function.body else replace(function, body=body)
