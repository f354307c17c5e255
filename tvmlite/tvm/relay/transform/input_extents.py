"""Passes that change extents of inputs; all other types are inferred from them."""

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
    """A pass that changes an extent of parameters to ``batch_size``. ``data`` maps each parameter to the axis
    to change: ``{mod["main"].params[0]: 0}``. Attributes are not changed, not even the shape of a reshape.
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
    """A pass that makes the extent of ``axis`` unknown in the inputs ``input_indices`` (default: the first);
    they all have the same extent. Unlike in TVM, one function handles every extent: ``buckets``,
    ``auto_pad``, ``pad_value`` and ``affects_output`` have no effect. ``tvmlite.compile(mod, shape={...})``
    adds kernels for some extents.
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
    """``function`` with its parameters replaced by those in ``given``. The annotations of the result and of
    bound variables are removed, as they may depend on the parameters' types."""
    if not given:
        return function
    made: dict[Any, Any] = dict(given)
    for node in in_order(function.body):
        bound = [node.var] if isinstance(node, nodes.Let) else getattr(node, "params", ())
        made.update({var: Var(var.name, None, var.span) for var in bound})
    params = [given.get(param, param) for param in function.params]
    return Function(params, adopt(rebuilt(function.body, made)), attrs=dict(function.attrs))


def _resized(what: str, param: Any, axis: int, size: int | str) -> Var:
    """A variable like ``param`` with the extent ``size`` along ``axis``; ``what`` begins error messages."""
    type_ = tensor_type_of(param)
    shape: list[Any] = list(type_.shape)
    if not -len(shape) <= axis < len(shape):
        raise ConfigError(f"{what}: axis is {axis}, {param.name} has {len(shape)} axes", Span.of_caller())
    shape[axis] = size
    return Var(param.name, TensorType(shape, type_.dtype), param.span)
