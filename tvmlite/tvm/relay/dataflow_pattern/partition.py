"""Matches of a pattern as calls of functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvmlite.tvm.ir.transform import called
from tvmlite.tvm.relay.dataflow_pattern.groups import PARTITIONED, groups
from tvmlite.tvm.relay.dataflow_pattern.patterns import DFPattern, FunctionPattern
from tvmlite.tvm.relay.expr import Call, adopt, expr_of
from tvmlite.tvm.relay.graph.visit import rebuilt


def partition(
    pattern: DFPattern,
    expr: Any,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Any], Any] | None = None,
) -> Any:
    """``expr`` with each match of ``pattern`` for which ``check`` holds as the call of a function with
    ``attrs``, and the names of its operators as ``PartitionedFromPattern``."""
    expr = expr_of("partition: expr", expr)
    if isinstance(pattern, FunctionPattern):  # a function that is not called is a function already
        return expr
    found = groups(pattern, expr)
    made: dict[Any, Any] = {}

    def rule(pre: Any, post: Any) -> Any:
        if pre not in found or (check is not None and not called(check, pre)):
            return post
        group = found[pre]
        function = group.function.with_attr({PARTITIONED: group.name, **dict(attrs or {})})
        return Call(function, [made[one] for one in group.inputs])

    return adopt(rebuilt(expr, made, rule)) if found else expr
