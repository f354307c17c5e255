"""Replace open dimensions by numbers: specialize a module for any sizes to given sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder, substitute
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Function, If, Let, LetDims, Loop, Module, Tuple, Var
from tvmlite.relay.ir.types import Dim, dim, dims_of, is_symbolic, map_dims, normal_dim, same_type
from tvmlite.te import expr as te


def bind_dimensions(
    sizes: Mapping[str, int], renamed: Mapping[te.SizeVar, te.SizeVar] | None = None
) -> Callable[[Module], Module]:
    """The pass that replaces the open dimensions named in ``sizes`` by numbers.

    ``renamed`` maps data-dependent dimensions to new names, for a graph that is used next to the original;
    its variables are then copies too.

    A name that is not in the shape of an input is an InputError. Assumptions about sizes (``assume``,
    ``assume_shape``) are removed where the numbers prove them.
    """

    def bind(module: Module) -> Module:
        known = [size.name for size in dims_of([p.type for p in module.main.params])]
        for name in sizes:
            if name not in known:
                listed = ", ".join(map(repr, known)) or "none"
                raise InputError(f"there is no open dimension {name!r}; there are {listed}")
        if not sizes:
            return module
        numbers = {dim(name): te.const(value, "int64") for name, value in sizes.items()}
        binder = _Binder(numbers, renamed)
        functions = {name: binder.function(one) for name, one in module.functions.items()}
        named = binder.expression(Tuple(tuple(module.values.values())))
        values = dict(zip(module.values, named.fields, strict=True))
        return dataclasses.replace(module, functions=functions, values=values)

    bind.__name__ = "bind_dimensions"
    return bind


def with_numbers(root: Any, numbers: Mapping[te.SizeVar, int]) -> Any:
    """``root`` with dimensions replaced by ``numbers``."""
    binder = _Binder({size: te.const(value, "int64") for size, value in numbers.items()}, None)
    return binder.expression(root)


class _Binder:
    """Rebuilds expressions with dimensions replaced by numbers."""

    def __init__(
        self, numbers: Mapping[te.SizeVar, te.Const], renamed: Mapping[te.SizeVar, te.SizeVar] | None
    ) -> None:
        self.numbers: dict[te.SizeVar, te.Expr] = {**numbers, **(renamed or {})}
        self.renamed = renamed or {}
        self.copies = renamed is not None
        self.variables: dict[Var, Var] = {}
        self.functions: dict[Function, Function] = {}

    def function(self, function: Function) -> Function:
        """``function`` and the functions it calls, innermost first; they nest no deeper than groups do."""
        if function not in self.functions:
            params = tuple(self.variable(p) for p in function.params)
            made = dataclasses.replace(function, params=params, body=self.expression(function.body))
            self.functions[function] = made
        return self.functions[function]

    def variable(self, var: Var) -> Var:
        if var not in self.variables:
            bound = self.value(var.type)
            same = bound is var.type and not self.copies
            self.variables[var] = var if same else dataclasses.replace(var, type=bound)
        return self.variables[var]

    def expression(self, root: Any) -> Any:
        """``root`` with the numbers in it; an If whose condition they decide is replaced by the branch taken.

        The other branch is not rebuilt: it may have no valid type with these numbers.
        """
        done: dict[Any, Any] = {}
        stack: list[tuple[Any, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in done:
                continue
            needed = list(node.children())
            branch = None
            if isinstance(node, If):
                branch = self._known_branch(node, done) if node.condition in done else node.condition
                needed = needed if branch is None else [branch]
            if ready and all(one in done for one in needed):
                done[node] = self._rebuilt(node, done) if branch is None else done[branch]
            else:
                stack.append((node, True))
                stack.extend((one, False) for one in reversed(needed) if one not in done)
        return done[root]

    def _known_branch(self, node: If, done: Mapping[Any, Any]) -> Any:
        """The branch that is taken if the condition, already rebuilt in ``done``, is constant; else None."""
        condition = done[node.condition]
        for one in postorder(condition):
            is_symbolic_call = isinstance(one, Call) and any(is_symbolic(value) for _, value in one.attrs)
            if (
                is_symbolic_call
                or not isinstance(one, (Call, Constant, Tuple))
                or isinstance(getattr(one, "op", ""), Function)
            ):
                return None
        return node.then if bool(interpret(Function((), condition), [])) else node.otherwise

    def _rebuilt(self, node: Any, done: Mapping[Any, Any]) -> Any:
        if isinstance(node, Var):
            return self.variable(node)
        if isinstance(node, Function):
            return self.function(node)
        made = node.map_children(done.__getitem__)
        if isinstance(made, Let):
            return dataclasses.replace(made, var=self.variable(made.var))
        if isinstance(made, LetDims):
            return dataclasses.replace(made, dims=tuple(self.renamed.get(one, one) for one in made.dims))
        if isinstance(made, Loop):
            index, *states = map(self.variable, (made.index, *made.states))
            return dataclasses.replace(
                made, index=index, states=tuple(states), trip_count=self.value(made.trip_count)
            )
        if not isinstance(made, Call):
            return made
        if isinstance(made.op, Function):
            return dataclasses.replace(made, op=self.function(made.op))
        if any(is_symbolic(value) for _, value in made.attrs):
            attrs = tuple((name, self.value(value)) for name, value in made.attrs)
            made = dataclasses.replace(made, attrs=attrs)
        return made.args[0] if _is_proved_assumption(made) else made

    def value(self, value: Any) -> Any:
        """An attribute, shape or type with the numbers in it; the same object if it has none."""
        return map_dims(value, self._dim)

    def _dim(self, value: te.Expr) -> Dim:
        if value.dtype != "bool" and self.numbers.keys().isdisjoint(dims_of(value)):
            return value
        made = normal_dim(substitute(value, self.numbers))
        return bool(made) if value.dtype == "bool" and isinstance(made, int) else made


def _is_proved_assumption(call: Call) -> bool:
    """Whether ``call`` only states an assumption that is known to hold."""
    if call.op == "assume_shape":
        return same_type(type_of(call), type_of(call.args[0]))
    if call.op == "assume":
        return all(condition is True for condition in call["conditions"])
    return False
