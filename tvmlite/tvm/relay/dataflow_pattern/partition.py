"""``partition``: moves the matches of a pattern into functions."""

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
    """Replace each match of ``pattern`` in ``expr`` that ``check`` accepts by the call of a function. The
    function has the attributes ``attrs``, and its operators' names as ``PartitionedFromPattern``."""
    expr = expr_of("partition: expr", expr)
    if isinstance(pattern, FunctionPattern):  # a match is a function already
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
