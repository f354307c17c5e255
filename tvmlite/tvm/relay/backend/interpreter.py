"""An interpreter in numpy, operator by operator, for recursive functions and functions as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.relay.ir.interpret import call_reference, interpret
from tvmlite.relay.ir.types import bind_dims
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.expr import GlobalVar
from tvmlite.tvm.relay.graph.calls import inlined


@dataclass(eq=False)
class Closure:
    """A function with the values of its free variables."""

    function: nodes.Function
    variables: Mapping[Any, Any]


class Interpreter:
    """Evaluates expressions of a typed module."""

    def __init__(self, module: IRModule) -> None:
        self._module = module

    def run(self, function: nodes.Function, args: Sequence[Any]) -> Any:
        """Evaluate ``function`` on arrays and tuples of arrays."""
        if any(isinstance(node, (nodes.Loop, nodes.LetDims)) for node in walk(function)):
            return interpret(inlined(function), args)
        return self.apply(Closure(function, {}), args)

    def apply(self, closure: Closure, args: Sequence[Any]) -> Any:
        """Evaluate a closure on arguments."""
        function = closure.function
        if len(args) != len(function.params):
            raise InputError(f"{len(function.params)} arguments expected, {len(args)} given")
        pairs = list(zip(function.params, args, strict=True))
        plain = [(param, arg) for param, arg in pairs if not _has_function(arg)]
        arrays = [arg for _, arg in plain]
        binding = bind_dims([one.type for one, _ in plain], arrays, [one.name for one, _ in plain])
        for param, arg in plain:
            _check_dtype(param, arg)
        variables = {**closure.variables, **dict(pairs)}
        return self._value(function.body, variables, binding)

    def _value(self, root: Any, variables: dict[Any, Any], binding: Any) -> Any:
        """The value of ``root``. Lets extend a copy of ``variables``."""
        while isinstance(root, nodes.Let):
            variables = dict(variables)
            variables[root.var] = self._value(root.value, variables, binding)
            if isinstance(root.value, nodes.Function):
                variables[root.var].variables = variables
            root = root.body
        done: dict[Any, Any] = {}
        stack: list[tuple[Any, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in done:
                continue
            if ready:
                done[node] = self._step(node, done, variables, binding)
            else:
                stack.append((node, True))
                stack.extend((one, False) for one in _needed_first(node))
        return done[root]

    def _step(self, node: Any, done: Mapping[Any, Any], variables: dict[Any, Any], binding: Any) -> Any:
        match node:
            case GlobalVar(name=name):
                return Closure(self._module[name], {})
            case nodes.Var():
                return variables[node]
            case nodes.Constant(data=data):
                return np.asarray(data)
            case nodes.Function():
                return Closure(node, variables)
            case nodes.Tuple(fields=fields):
                return tuple(done[field] for field in fields)
            case nodes.TupleGetItem(value=value, index=index):
                return done[value][index]
            case nodes.Call(op=str(), args=args):
                return call_reference(node, [done[arg] for arg in args], binding)
            case nodes.Call(op=op, args=args):
                return self.apply(done[op], [done[arg] for arg in args])
            case nodes.If(condition=condition, then=then, otherwise=otherwise):
                return self._value(then if done[condition] else otherwise, variables, binding)
        return self._value(node, variables, binding)


def _needed_first(node: Any) -> Sequence[Any]:
    match node:
        case nodes.If(condition=condition):
            return (condition,)
        case nodes.Call(op=nodes.Expr() as op, args=args):
            return (op, *args)
        case nodes.Function() | nodes.Let():
            return ()
    return node.children()


def _has_function(value: Any) -> bool:
    return any(map(_has_function, value)) if isinstance(value, tuple) else isinstance(value, Closure)


def _check_dtype(param: nodes.Var, arg: Any) -> None:
    wanted = getattr(type_of(param), "dtype", None)
    if wanted is not None and np.asarray(arg).dtype != np.dtype(wanted):
        raise InputError(f"{param.name}: dtype is {np.asarray(arg).dtype}, expected {wanted}")


__getattr__ = refusing(__name__)
