"""TVM's type inference: infers the types of unannotated variables from operators and calls that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import same_type, type_of
from tvmlite.relay.ir.types import FuncType, TupleType
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import Function, GlobalVar, Var, adopt
from tvmlite.tvm.relay.graph.inferred import mark
from tvmlite.tvm.relay.graph.untyped import solved


def infer(root: Any, signatures: Mapping[str, Any] | None = None) -> Any:
    """``root`` with types for all variables; ``root`` itself if they have types already. ``signatures`` has
    the types of the module's functions by name. A mismatch or an undetermined type is a TypeInferError."""
    inference = _Inference(signatures or {})
    while True:
        known = len(inference.types)
        made = inference.run(root)
        if not inference.unknown:
            break
        if len(inference.types) == known:
            var = inference.unknown[0]
            raise TypeInferError(
                f"InferType: the type of %{var.name} is not determined",
                var.span,
                hint=f'write its shape: relay.var("{var.name}", shape=(1, 3), dtype="float32")',
            )
    made = adopt(made)
    type_of(made)
    mark(made)
    return made


class _Inference:
    """The state of inference, which visits the graph repeatedly until no more types are found."""

    def __init__(self, signatures: Mapping[str, Any]) -> None:
        self.types: dict[nodes.Var, Any] = {}
        """The types found for unannotated variables."""
        self.unknown: list[nodes.Var] = []
        """The variables of the last visit whose types were not known when they were used."""
        self._signatures = signatures
        self._typed: dict[nodes.Var, nodes.Var] = {}

    def run(self, root: Any) -> Any:
        """Visit the graph once; return ``root`` with the types known so far."""
        self.unknown = []
        self._done: dict[Any, Any] = {}
        self._open: set[Any] = set()
        self._functions: dict[nodes.Var, Any] = {}
        self._results: dict[Any, Any] = {}
        stack: list[tuple[Any, int]] = [(root, 0)]
        while stack:
            node, phase = stack.pop()
            if node in self._done:
                continue
            following = self._step(node, phase)
            if following is None:
                self._done[node] = self._made(node)
            else:
                stack.append((node, phase + 1))
                stack.extend((one, 0) for one in reversed(following) if one not in self._done)
        return self._done[root]

    def _step(self, node: Any, phase: int) -> list[Any] | None:
        """The nodes to visit before ``node`` in this phase, or None if ``node`` can be built."""
        match node:
            case nodes.Call(op=str()):
                return list(node.args) if phase == 0 else None
            case nodes.Function(body=nodes.Call(op=nodes.Var()) as body) if phase == 0:
                self._results[body] = getattr(node, "declared", None)
                return [body]
            case nodes.Call():
                if phase == 1:
                    self._called(node)
                return [list(node.args), [node.op], None][phase]
            case nodes.If(condition=condition, then=then, otherwise=otherwise):
                called = [one for one in (then, otherwise) if _calls_variable(one)]
                if phase == 1 and len(called) == 1:  # both branches have one type
                    self._results[called[0]] = self._type(otherwise if called[0] is then else then)
                others = [one for one in (condition, then, otherwise) if one not in called]
                return [others, called, None][phase]
            case nodes.Let(var=var, value=value, body=body):
                later = isinstance(value, nodes.Function) and not self._are_known(value.params)
                if phase == 0:
                    self._functions[var] = value
                    return [] if later else [value]
                if phase == 1:
                    if not later:
                        self._solve_let(var, self._type_of_value(value))
                    return [body]
                return [value] if phase == 2 else None
        return list(node.children()) if phase == 0 else None

    def _called(self, call: nodes.Call) -> None:
        """Give the parameters of the called function the types of the arguments."""
        types = [self._type(arg) for arg in call.args]
        result = self._results.get(call)
        if isinstance(call.op, Var) and ty.is_complete(result) and None not in types:
            self._solve_var(call.op, ty.FuncType(types, result))
        function: Any = self._functions.get(call.op, call.op) if isinstance(call.op, nodes.Var) else call.op
        if isinstance(function, nodes.Function) and len(function.params) == len(call.args):
            for param, type_ in zip(function.params, types, strict=True):
                self._solve_var(param, type_)
            result = getattr(function, "declared", None)
            if isinstance(call.op, Var) and function is not call.op and ty.is_complete(result):
                self._solve_var(call.op, ty.FuncType([self._type_of_var(p) for p in function.params], result))

    def _solve_var(self, var: nodes.Var, type_: Any) -> None:
        if type_ is not None and not ty.is_complete(var.type) and var not in self.types:
            self.types[var] = ty.adopted(type_)

    def _solve_let(self, var: nodes.Var, type_: Any) -> None:
        """Give a let's variable its value's type, also if its annotation has unknown extents."""
        self._solve_var(var, type_)
        if type_ is None or var in self.types or same_type(var.type, type_):
            return
        if _may_be(var.type, type_):
            self.types[var] = ty.adopted(type_)

    def _are_known(self, params: Any) -> bool:
        return all(ty.is_complete(self._type_of_var(param)) for param in params)

    def _type_of_var(self, var: nodes.Var) -> Any:
        return self.types.get(var, var.type)

    def _type(self, node: Any) -> Any:
        """The type of the node that was built for ``node``, or None if it is not known yet."""
        made = self._done.get(node)
        if isinstance(node, nodes.Var):
            type_ = (
                self._signatures.get(node.name) if isinstance(node, GlobalVar) else self._type_of_var(node)
            )
            return type_ if ty.is_complete(type_) else None
        if made is None or made in self._open:
            return None
        return type_of(made)

    def _type_of_value(self, value: Any) -> Any:
        """The type of a let's value. For a function that calls itself, the result type is that of a branch
        without the call."""
        known = self._type(value)
        if known is not None or not isinstance(value, nodes.Function) or not self._are_known(value.params):
            return known
        result = self._result(value.body)
        return result and ty.FuncType([self._type_of_var(param) for param in value.params], result)

    def _result(self, body: Any) -> Any:
        """The type of ``body``, from whichever branch has a known type."""
        while isinstance(body, nodes.Let):
            body = body.body
        if isinstance(body, nodes.If):
            return self._result(body.then) or self._result(body.otherwise)
        return self._type(body)

    def _made(self, node: Any) -> Any:
        """Build ``node`` from its visited parts, and find types of variables in it."""
        if isinstance(node, GlobalVar):
            return self._global(node)
        if isinstance(node, nodes.Var):
            return self._var(node)
        if isinstance(node, nodes.Call):
            self._solve(node)
        if isinstance(node, nodes.If) and isinstance(node.condition, nodes.Var):
            self._solve_var(node.condition, ty.TensorType((), "bool"))
        changes: dict[str, Any] = {}
        made = node.map_children(self._new)
        match node:
            case nodes.Call(op=nodes.Expr() as op) if self._new(op) is not op:
                changes["op"] = self._new(op)
            case nodes.Function(params=params):
                changes["params"] = tuple(map(self._var, params))
            case nodes.Let(var=var):
                self._solve_let(var, self._type_of_value(node.value))
                changes["var"] = self._var(var)
        changes = {name: value for name, value in changes.items() if not _is_same(value, getattr(node, name))}
        made = made._with(changes) if changes else made
        parts = [*made.children(), *([made.op] if isinstance(made, nodes.Call) else [])]
        bound = made.params if isinstance(made, nodes.Function) else ()
        if any(part in self._open for part in (*parts, *bound)):
            self._open.add(made)
        elif isinstance(made, Function):
            _check_result(made)
        return made

    def _solve(self, call: nodes.Call) -> None:
        """Find the types of arguments that are unannotated variables from the operator or the parameters."""
        if not isinstance(call.op, str):
            for type_, arg in zip(self._types_of_params(call.op), call.args, strict=False):
                if isinstance(arg, nodes.Var) and ty.is_complete(type_):
                    self._solve_var(arg, type_)
            return
        types = [self._type(arg) for arg in call.args]
        for index, type_ in solved(call, types).items():
            if isinstance(call.args[index], nodes.Var):
                self._solve_var(call.args[index], type_)  # type: ignore[arg-type]

    def _types_of_params(self, function: Any) -> Sequence[Any]:
        """The parameter types of ``function``, or of the function that a variable refers to, if known."""
        if isinstance(function, nodes.Function):
            return [self._type_of_var(param) for param in function.params]
        type_ = self._type(function)
        return type_.params if isinstance(type_, FuncType) else ()

    def _new(self, child: Any) -> Any:
        return self._var(child) if isinstance(child, Var) else self._done[child]

    def _global(self, var: GlobalVar) -> Any:
        type_ = self._signatures.get(var.name)
        if type_ is None:
            raise TypeInferError(f"InferType: the module has no function @{var.name}", var.span)
        return GlobalVar(var.name, type_, var.span)

    def _var(self, var: nodes.Var) -> nodes.Var:
        """``var`` with its type, or ``var`` itself, recorded as unknown, if there is none yet."""
        if var not in self.types:
            if ty.is_complete(var.type):
                return var
            self.unknown.append(var)
            self._open.add(var)
            return var
        if var not in self._typed:
            self._typed[var] = Var(var.name, self.types[var], var.span)
        return self._typed[var]


def _is_same(new: Any, old: Any) -> bool:
    if isinstance(new, tuple):
        return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
    return new is old


def _check_result(function: Function) -> None:
    declared = function.__dict__.get("declared")
    if declared is None or not ty.is_complete(declared):
        return
    found = type_of(function.body)
    if not ty.same_type(declared, found) and not _may_be(declared, found):
        raise TypeInferError(f"the result is written as {declared}, it is {ty.adopted(found)}", function.span)


def _may_be(declared: Any, found: Any) -> bool:
    """Whether ``found`` equals ``declared`` except for extents that are known only at run time."""
    if isinstance(declared, TupleType) and isinstance(found, TupleType):
        return len(declared.fields) == len(found.fields) and all(map(_may_be, declared.fields, found.fields))
    if isinstance(declared, FuncType) or isinstance(found, FuncType) or isinstance(declared, TupleType):
        return ty.same_type(declared, found)
    if getattr(declared, "dtype", None) != getattr(found, "dtype", None) or declared.ndim != found.ndim:
        return False
    return all(
        ty.is_unknown(a) or ty.is_unknown(b) or a == b or ty.extent(a) is b
        for a, b in zip(declared.shape, found.shape, strict=True)
    )


def _calls_variable(node: Any) -> bool:
    """Whether ``node`` calls a function through a variable, as a recursive loop function does."""
    return isinstance(node, nodes.Call) and isinstance(node.op, Var)
