"""``gradient``: makes a function that returns the result of another and the gradients of its parameters."""

from __future__ import annotations

from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ConfigError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.tvm.ir.module import IRModule, as_function
from tvmlite.tvm.ir.transform import ModulePass, Pass, PassContext, PassInfo
from tvmlite.tvm.relay.expr import Function, GlobalVar, adopt
from tvmlite.tvm.relay.graph.calls import inlined, to_core
from tvmlite.tvm.relay.transform.gradient import elementwise, layers, shapes
from tvmlite.tvm.relay.transform.gradient.rule import zeros_like
from tvmlite.tvm.relay.transform.infer_type import typed

_RULES = {**elementwise.RULES, **shapes.RULES, **layers.RULES}

_MODES = ("higher_order", "first_order")


def gradient(expr: Any, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """Make a function of the parameters of ``expr`` that returns a tuple of its result and a tuple of
    gradients: those of the sum of the result's elements by each parameter. ``mod`` has the functions that
    ``expr`` calls.

    In both modes, calls and lets are inlined, so that the result can be differentiated again. A recursive
    function or an operator without a rule is an error.
    """
    if mode not in _MODES:
        raise ConfigError(f"gradient: mode is {show(mode)}, expected {' or '.join(_MODES)}", Span.of_caller())
    module = IRModule() if mod is None else mod.copy()
    if isinstance(expr, GlobalVar):
        name = expr.name
    else:
        name = next(
            name for name in ("main", *(f"main{n}" for n in range(len(module)))) if name not in module
        )
        module[name] = as_function(expr)
    return _with_gradients(inlined(to_core(typed(module)).functions[name]))


def FirstOrderGradient() -> Pass:
    """A pass that replaces every function by one that also returns the gradients of its parameters."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        made = mod.copy()
        for var, function in mod.functions.items():
            if isinstance(function, nodes.Function):
                made[var] = gradient(var, mod)
        return typed(made)

    return ModulePass(PassInfo(0, "FirstOrderGradient"), run)


def _with_gradients(function: Any) -> Function:
    found = _Reverse(function)
    gradients = [_whole(param, found.gradients.get(param)) for param in function.params]
    return Function(function.params, adopt(nodes.Tuple((function.body, nodes.Tuple(tuple(gradients))))))


class _Reverse:
    """The reverse traversal from a function's result to its parameters, which collects gradients."""

    def __init__(self, function: Any) -> None:
        order = list(postorder(function.body))
        self.gradients: dict[Any, Any] = {}
        self._reached = set(filter(_is_differentiable, function.params))
        for node in order:
            if any(child in self._reached for child in node.children()):
                self._reached.add(node)
        self._add(function.body, _ones(function.body))
        for node in reversed(order):
            if node in self.gradients:
                self._pass_on(node, self.gradients[node])

    def _pass_on(self, node: Any, gradient: Any) -> None:
        match node:
            case nodes.Call(op=str()) if str(node.op) in _RULES:
                for arg, one in zip(node.args, _RULES[str(node.op)](node, gradient), strict=True):
                    self._add(arg, one)
            case nodes.Tuple(fields=fields):
                for field, one in zip(fields, gradient, strict=True):
                    self._add(field, one)
            case nodes.TupleGetItem(value=value, index=index):
                type_ = type_of(value)
                assert isinstance(type_, TupleType)
                self._add(value, tuple(gradient if n == index else None for n in range(len(type_.fields))))
            case nodes.If(condition=condition, then=then, otherwise=otherwise):
                if isinstance(gradient, tuple):
                    raise UnsupportedError(
                        "gradient: an If with a tuple result", node.span, "use one If for each field"
                    )
                self._add(then, nodes.If(condition, gradient, zeros_like(gradient), node.span))
                self._add(otherwise, nodes.If(condition, zeros_like(gradient), gradient, node.span))
            case nodes.Var() | nodes.Constant():
                pass
            case _:
                what = str(node.op) if isinstance(node, nodes.Call) else type(node).__name__
                raise UnsupportedError(f"gradient: there is no rule for {what}", node.span)

    def _add(self, node: Any, gradient: Any) -> None:
        """Add ``gradient``, from one reader of ``node``, to the gradient of ``node``."""
        if gradient is None or node not in self._reached:
            return
        known = self.gradients.get(node)
        self.gradients[node] = gradient if known is None else _sum(known, gradient)


def _is_differentiable(param: Any) -> bool:
    def has_floats(type_: Any) -> bool:
        if isinstance(type_, TupleType):
            return any(map(has_floats, type_.fields))
        return isinstance(type_, TensorType) and dtypes.is_float(type_.dtype)

    return has_floats(param.type)


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(
            b if a is None else a if b is None else _sum(a, b) for a, b in zip(one, other, strict=True)
        )
    return make("add", one, other)


def _fields(node: Any) -> list[Any] | None:
    """The fields of ``node`` if it is a tuple, else None."""
    type_ = type_of(node)
    if not isinstance(type_, TupleType):
        return None
    if isinstance(node, nodes.Tuple):
        return list(node.fields)
    return [nodes.TupleGetItem(node, index) for index in range(len(type_.fields))]


def _ones(node: Any) -> Any:
    fields = _fields(node)
    return make("ones_like", node) if fields is None else tuple(map(_ones, fields))


def _whole(node: Any, gradient: Any) -> Any:
    """The ``gradient`` of ``node`` as an expression, with zeros for None."""
    fields = _fields(node)
    if fields is None:
        return zeros_like(node) if gradient is None else gradient
    parts = [None] * len(fields) if gradient is None else gradient
    return nodes.Tuple(tuple(map(_whole, fields, parts)))
