"""Passes that give inputs other extents, from which all other types follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from tvmlite.core.errors import ConfigError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import FunctionPass, ModulePass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay.expr import Function, Var, adopt
from tvmlite.tvm.relay.graph.visit import in_order, rebuilt
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.infer_type import typed
from tvmlite.tvm.relay.ty import TensorType


def ChangeBatch(data: Mapping[Any, int], batch_size: int = 16) -> Pass:
    """The pass that gives each variable of ``data`` the extent ``batch_size`` along the axis that stands
    behind it: ``{mod["main"].params[0]: 0}``. Attributes stay as they are, the shape of a reshape among them.
    """

    def rule(function: Any) -> Any:
        params = [param for param in function.params if param in data]
        return _with_params(
            function, {param: _resized("ChangeBatch", param, data[param], batch_size) for param in params}
        )

    resize = over_functions("ChangeBatch", 0, rule)
    return FunctionPass(resize.info, lambda mod, context: typed(resize.transform(mod, context)))


def FlexibleShapeDispatch(
    buckets: Sequence[int],
    axis: int = 0,
    auto_pad: bool = False,
    pad_value: float = 0,
    input_indices: Sequence[int] | None = None,
    affects_output: bool = True,
) -> Pass:
    """The pass that lets the inputs at ``input_indices`` (the first) have any extent along ``axis``, one for
    all of them. It is one function of every extent: that there are ``buckets``, and what lies between them is
    padded, is of no account. ``tvmlite.compile(mod, shape={...})`` adds kernels for some extents.
    """
    chosen = list(input_indices or (0,))

    def run(mod: IRModule, context: PassContext) -> IRModule:
        main = mod["main"]
        wrong = [index for index in chosen if not -len(main.params) <= index < len(main.params)]
        if wrong:
            raise ConfigError(
                f"FlexibleShapeDispatch: input_indices is {chosen}, main has {len(main.params)} parameters",
                Span.of_caller(),
            )
        sizes = {str(extent) for param in main.params for extent in getattr(param.type, "shape", ())}
        size = next(name for name in map("any_size_{}".format, count()) if name not in sizes)
        params = [main.params[index] for index in chosen]
        made = mod.copy()
        made["main"] = _with_params(
            main, {param: _resized("FlexibleShapeDispatch", param, axis, size) for param in params}
        )
        return typed(made)

    return ModulePass(PassInfo(0, "FlexibleShapeDispatch"), run)


def _with_params(function: Any, given: Mapping[Any, Var]) -> Any:
    """``function`` with those of its parameters that are ``given`` replaced. The types of its result and of
    variables that it binds, which may follow from theirs, are left to be inferred."""
    if not given:
        return function
    made: dict[Any, Any] = dict(given)
    for node in in_order(function.body):
        bound = [node.var] if isinstance(node, nodes.Let) else getattr(node, "params", ())
        made.update({var: Var(var.name, None, var.span) for var in bound})
    params = [given.get(param, param) for param in function.params]
    return Function(params, adopt(rebuilt(function.body, made)), attrs=dict(function.attrs))


def _resized(what: str, param: Any, axis: int, size: int | str) -> Var:
    """``param`` with the extent ``size`` along ``axis``; errors are ``what``'s."""
    type_ = tensor_type_of(param)
    shape: list[Any] = list(type_.shape)
    if not -len(shape) <= axis < len(shape):
        raise ConfigError(f"{what}: axis is {axis}, {param.name} has {len(shape)} axes", Span.of_caller())
    shape[axis] = size
    return Var(param.name, TensorType(shape, type_.dtype), param.span)
