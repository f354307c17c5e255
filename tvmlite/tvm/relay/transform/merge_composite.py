"""``MergeComposite``: replaces matches of patterns by calls of named functions."""

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
    """A pass that replaces each match of a pattern by a call of a function whose attribute ``Composite`` is
    the pattern's name. ``pattern_table`` has tuples of a name, a pattern and, optionally, a predicate that
    accepts or rejects a matched expression; earlier patterns have priority."""
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
