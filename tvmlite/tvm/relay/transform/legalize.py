"""``Legalize``: replaces operator calls by rules that programs register."""

from __future__ import annotations

from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.tvm.ir.transform import Pass, called
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import adopt, expr_of
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.functions import over_functions

RULE = "FTVMLegalize"
"""The default name of the operator attribute that holds the rule."""


def Legalize(legalize_map_attr_name: str = RULE) -> Pass:
    """A pass that replaces each call by the result of its operator's rule, ``rule(attrs, args, types)``; None
    keeps the call. Rules are registered with ``relay.op.register_op_attr``. With ``FTVMLegalize``, the pass
    also removes a clip to the bounds of the dtype after ``qnn.requantize``."""

    def rule(node: Any) -> Any:
        if not isinstance(node, nodes.Call) or not isinstance(node.op, str):
            return node
        own = Op(node.op).get_attr(legalize_map_attr_name)
        if own is None:
            return _without_bounds(node) if legalize_map_attr_name == RULE else node
        call = adopt(node)
        types = [ty.adopted(type_of(one)) for one in (*call.args, call)]
        made = called(own, call.attrs, list(call.args), types)
        return node if made is None else expr_of(f"{node.op}: the result of its rule", made)

    def legal(function: Any) -> Any:
        return adopt(rewrite(function, rule))

    return over_functions("Legalize", 1, legal, infer=True)


def _without_bounds(call: nodes.Call) -> Any:
    """The ``qnn.requantize`` before a clip to its dtype's bounds; ``call`` itself for other calls."""
    match call:
        case nodes.Call(op="clip", args=(nodes.Call(op="qnn.requantize") as given,)):
            bounds = (call["a_min"], call["a_max"])
            return given if bounds == dtypes.limits(given["out_dtype"]) else call
    return call
