"""TVM's ``FoldConstant``: evaluates expressions of constants and inlines lets of constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import call_reference
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.ir.module import IRModule, as_function
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.calls import substitute_ops, with_ops
from tvmlite.tvm.relay.transform.functions import over_functions

_KEPT = (
    "full", "full_like", "ones_like", "zeros_like", "copy", "on_device", "annotation.stop_fusion",
    "nn.batch_norm", "nn.dropout",
)  # fmt: skip
"""Operators that are not folded: a large array of one value is faster to fill than to read, and
``SimplifyInference`` handles the operators of training."""

_SHAPES = ("shape_of", "ndarray_size")


def FoldConstant(fold_qnn: bool = False) -> Pass:
    """A pass that evaluates expressions of constants; quantized operators only with ``fold_qnn``."""
    return over_functions(
        "FoldConstant", 2, lambda one: adopt(folded(one, fold_qnn)), infer=True, required=()
    )


def FoldConstantExpr(expr: Any, mod: Any, fold_qnn: bool = False) -> Any:
    """``expr`` with constants folded."""
    made = FoldConstant(fold_qnn)(IRModule.from_expr(as_function(expr)))["main"]
    return made if isinstance(expr, nodes.Function) else made.body


def folded(function: Any, fold_qnn: bool) -> Any:
    """``function`` with constants folded."""

    def rule(node: Any) -> Any:
        match node:
            case nodes.Let(var=var, value=nodes.Constant() as value, body=body):
                return substitute_ops(body, {var: value})
            case nodes.TupleGetItem(value=nodes.Tuple(fields=fields), index=index):
                return fields[index]
            case nodes.If(condition=nodes.Constant(data=data), then=then, otherwise=otherwise):
                return then if data else otherwise
            case nodes.Call(op=str()):
                return evaluated(node, fold_qnn)
        return node

    while True:
        made = with_ops(rewrite(function, rule), lambda op: rewrite(op, rule) if not _is_group(op) else op)
        if made is function:
            return function
        function = made


def _is_group(op: Any) -> bool:
    return not isinstance(op, nodes.Function) or bool(dict(op.attrs).get("Primitive"))


def evaluated(call: nodes.Call, fold_qnn: bool = False) -> Any:
    """``call`` as a constant if its operands are constants, or if it is a known shape; else ``call``."""
    name = str(call.op)
    if name in _SHAPES:
        return _shape(call)
    quantized = name.startswith("qnn.") and not fold_qnn
    if not call.args or name in _KEPT or quantized or not all(map(_is_constant, call.args)):
        return call
    return _as_constant(call_reference(call, [_value(arg) for arg in call.args]))


def _shape(call: nodes.Call) -> Any:
    """The shape, or number of elements, as a constant if it is known; else ``call``."""
    type_ = type_of(call.args[0])
    if not isinstance(type_, TensorType) or not type_.is_static:
        return call
    extents = np.asarray(type_.shape, dtypes.numpy_of(call["dtype"]))
    return nodes.Constant(extents if call.op == "shape_of" else np.prod(extents, dtype=extents.dtype))


def _is_constant(arg: Any) -> bool:
    return isinstance(arg, nodes.Constant) or (
        isinstance(arg, nodes.Tuple) and bool(arg.fields) and all(map(_is_constant, arg.fields))
    )


def _value(arg: Any) -> Any:
    return tuple(map(_value, arg.fields)) if isinstance(arg, nodes.Tuple) else np.asarray(arg.data)


def _as_constant(value: Any) -> Any:
    if isinstance(value, tuple):
        return nodes.Tuple(tuple(map(_as_constant, value)))
    return nodes.Constant(value)
