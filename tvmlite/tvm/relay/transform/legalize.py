"""``Legalize`` and ``AlterOpLayout``: calls of operators replaced by what rules say of them."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder, rewrite
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import Pass, PassContext, PassInfo, called
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import adopt, expr_of
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.functions import of_ours, over_functions

_ALTER = "FTVMAlterOpLayout"


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> Pass:
    """The pass that asks the rule of each call's operator, ``rule(attrs, args, types)``, for another
    expression; None leaves the call as it is. A program gives rules by ``relay.op.register_op_attr``."""

    def rule(node: Any) -> Any:
        if not isinstance(node, nodes.Call) or not isinstance(node.op, str):
            return node
        own = Op(node.op).get_attr(legalize_map_attr_name)
        if own is None:
            return node
        call = adopt(node)
        types = [ty.adopted(type_of(one)) for one in (*call.args, call)]
        made = called(own, call.attrs, list(call.args), types)
        return node if made is None else expr_of(f"{node.op}: what its rule gives", made)

    def legal(function: Any) -> Any:
        return adopt(rewrite(function, rule))

    return over_functions("Legalize", 1, legal, infer=True)


def AlterOpLayout() -> Pass:
    """The pass that puts the channels of convolution networks in blocks, for the machine at hand.

    Rules of a program's own for layouts are an UnsupportedError.
    """

    def run(module: nodes.Module) -> nodes.Module:
        return passes.by_name(Target.parse("native"))["alter_op_layout"](module)

    ours = of_ours("AlterOpLayout", 3, run)

    def checked(mod: IRModule, context: PassContext) -> IRModule:
        for function in mod.functions.values():
            for node in postorder(function) if isinstance(function, nodes.Function) else ():
                if not isinstance(node, nodes.Call) or not isinstance(node.op, str):
                    continue
                if Op(node.op).has_attr(_ALTER):
                    raise UnsupportedError(
                        f"AlterOpLayout: {node.op} has a rule of the program's own, which is not supported",
                        Span.of_caller(),
                        hint="relay.transform.Legalize asks such rules",
                    )
        return ours.transform(mod, context)

    return Pass(PassInfo(3, "AlterOpLayout"), checked)
