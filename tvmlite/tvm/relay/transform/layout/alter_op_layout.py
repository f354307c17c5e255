"""``AlterOpLayout``: layouts chosen by the program's rules, or else layouts that suit this machine."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import type_of
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import FunctionPass, Pass, PassContext, PassInfo, called
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import adopt, expr_of
from tvmlite.tvm.relay.graph.attrs import Attrs
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.transform.functions import of_ours, over_functions
from tvmlite.tvm.relay.transform.layout.rewriter import LayoutRewriter

RULE = "FTVMAlterOpLayout"
"""The operator attribute that holds a rule of the program."""


def AlterOpLayout() -> Pass:
    """A pass that changes layouts of operators. If operators of the module have rules of the program
    (``relay.op.register_alter_op_layout``), each rule, ``rule(attrs, inputs, types, result_type)``, returns
    the replacement for a call, and later operators adopt its layout if they can. Without such rules, the pass
    converts convolution networks to blocked layouts for this machine."""

    def ours(module: nodes.Module) -> nodes.Module:
        return passes.by_name(Target.parse("native"))["alter_op_layout"](module)

    def run(mod: IRModule, context: PassContext) -> IRModule:
        chosen = of_ours("AlterOpLayout", 3, ours)
        if _has_rules(mod):
            chosen = over_functions("AlterOpLayout", 3, _by_rules, infer=True)
        return chosen.transform(mod, context)

    return FunctionPass(PassInfo(3, "AlterOpLayout", ["InferType"]), run)


def _by_rules(function: Any) -> Any:
    return adopt(LayoutRewriter(_altered).run(function))


def _altered(call: nodes.Call, attrs: dict[str, Any], args: list[Any]) -> Any:
    """The call that the operator's rule returns; None if there is no rule or it returns None."""
    rule = Op(str(call.op)).get_attr(RULE)
    if rule is None:
        return None
    types = [ty.adopted(type_of(arg)) for arg in call.args]
    given = called(
        rule,
        Attrs(nodes.canonical(attrs)),
        [adopt(arg) for arg in args],
        types,
        ty.adopted(type_of(call)),
    )
    if given is None:
        return None
    made = expr_of(f"{call.op}: the result of its rule", given)
    if not isinstance(made, nodes.Call):
        raise UnsupportedError(
            f"AlterOpLayout: the rule of {call.op} gives {show(made)}, expected a call of an operator",
            call.span,
        )
    return made


def _has_rules(mod: IRModule) -> bool:
    return any(
        isinstance(node, nodes.Call) and isinstance(node.op, str) and Op(str(node.op)).has_attr(RULE)
        for function in mod.functions.values()
        if isinstance(function, nodes.Function)
        for node in postorder(function)
    )
