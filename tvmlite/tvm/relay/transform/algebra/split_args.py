"""``SplitArgs``: splits concatenations of more arrays than a function may have arguments."""

from __future__ import annotations

from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import ConfigError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.op import make
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.visit import rewritten
from tvmlite.tvm.relay.transform.functions import over_functions


def SplitArgs(max_function_args: int) -> Pass:
    """A pass that splits concatenations of more than ``max_function_args - 1`` arrays (one argument is for
    the result) into parts, each followed by a fusion barrier. With 0 or less there is no limit, as for
    CPUs."""
    most = arguments.whole("SplitArgs: max_function_args", max_function_args, ConfigError) - 1
    if most == 0:
        raise arguments.refused("SplitArgs: max_function_args", 1, "0, or 2 and more", ConfigError)

    def rule(node: Any) -> Any:
        match node:
            case nodes.Call(op="concatenate", args=(nodes.Tuple(fields=fields),)) if len(fields) > most > 0:
                starts = range(0, len(fields), most)
                parts = [_concatenated(node, fields[start : start + most]) for start in starts]
                return _concatenated(node, [make("annotation.stop_fusion", part) for part in parts])
        return node

    return over_functions("SplitArgs", 1, lambda function: adopt(rewritten(function, rule)), infer=True)


def _concatenated(call: nodes.Call, fields: Any) -> Any:
    return call._with({"args": (nodes.Tuple(tuple(fields)),)})
