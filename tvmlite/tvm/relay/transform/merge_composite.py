"""``MergeComposite``: what patterns of a table match becomes calls of functions with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import FunctionPass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay.dataflow_pattern.partition import partition
from tvmlite.tvm.relay.dataflow_pattern.patterns import DFPattern
from tvmlite.tvm.relay.transform.infer_type import typed


def MergeComposite(pattern_table: Sequence[Any]) -> Pass:
    """The pass that makes a call of a function, whose attribute ``Composite`` is a name, of each match of a
    pattern. ``pattern_table`` has tuples of a name, a pattern and, where not every match is meant, a function
    that says of an expression whether it is; an earlier pattern is matched before a later one."""
    for index, row in enumerate(pattern_table):
        if not isinstance(row, (tuple, list)) or len(row) not in (2, 3) or not isinstance(row[1], DFPattern):
            raise InputError(
                f"MergeComposite: pattern_table[{index}] is {show(row)}, expected a name, a pattern and "
                "perhaps a check",
                Span.of_caller(),
            )

    def run(mod: IRModule, context: PassContext) -> IRModule:
        mod = typed(mod)
        for name, pattern, *check in pattern_table:
            made = mod.copy()
            for var, function in mod.functions.items():
                if isinstance(function, nodes.Function):
                    given = check[0] if check else None
                    made[var] = partition(pattern, function, {"Composite": name}, given)
            mod = typed(made)
        return mod

    return FunctionPass(PassInfo(0, "MergeComposite"), run)
