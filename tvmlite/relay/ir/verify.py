"""Checks that a module is well formed: the invariants that every pass may rely on and must keep.

- Every variable is bound by a parameter, a Let or a Loop around its use; a function's body refers to nothing
  outside the function (functions are closed).
- A variable is bound once; the parameters of a function are distinct.
- A dimension that comes from data is bound once, by a LetDims around its uses, and does not leave the branch
  or the loop that binds it.
- All types are consistent; a call of an operator has exactly the attributes of that operator.
- The files of a model that constants are read from have not changed since the import (else a ModelError).
- A group (``Primitive``) holds calls of operators, tuples, projections, variables and constants only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tvmlite.core.errors import VerifyError
from tvmlite.core.node import Node, postorder
from tvmlite.core.span import Span
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    LetDims,
    Loop,
    Module,
    Tuple,
    TupleGetItem,
    Var,
)
from tvmlite.relay.ir.types import dims_of
from tvmlite.te import expr as te


def verify(module: Module) -> None:
    """Raise a VerifyError (or TypeInferError) that names what is wrong if ``module`` is malformed."""
    if "main" not in module.functions:
        raise VerifyError(f"a module needs a 'main'; this one has {', '.join(module.functions) or 'nothing'}")
    for function in module.functions.values():
        verify_function(function)


def verify_function(function: Function) -> None:
    """Check ``function`` and every function it calls."""
    bound: dict[Var, Expr] = {}
    for one in _functions(function):
        _check_bindings(one, bound)
        _check_closed(one)
        _check_dims(one)
        for node in postorder(one.body):
            if isinstance(node, Call):
                _check_attributes(node)
            elif isinstance(node, Constant):
                node.check_unchanged()
        if dict(one.attrs).get("Primitive"):
            _check_group(one)
    type_of(function)


def _functions(root: Function) -> list[Function]:
    """``root`` and the functions in its body, called or not, recursively, once each."""
    found: dict[Function, None] = {}
    stack: list[Function] = [root]
    while stack:
        function = stack.pop()
        if function in found:
            continue
        found[function] = None
        for node in postorder(function.body):
            if isinstance(node, Call) and isinstance(node.op, Function):
                stack.append(node.op)
            elif isinstance(node, Function):
                stack.append(node)
    return list(found)


def _check_bindings(function: Function, bound: dict[Var, Expr]) -> None:
    """Check that each variable has one binder; ``bound`` collects the binders."""
    nodes = list(postorder(function.body))
    binders: list[tuple[Expr, Var]] = [(function, param) for param in function.params]
    binders += [(node, node.var) for node in nodes if isinstance(node, Let)]
    binders += [(node, v) for node in nodes if isinstance(node, Loop) for v in (node.index, *node.states)]
    for binder, var in binders:
        if not isinstance(var, Var):
            raise VerifyError(f"a {type(var).__name__} is bound as a variable", span_of(binder))
        if var in bound and (bound[var] is not binder or isinstance(binder, Function)):
            raise VerifyError(f"variable %{var.name} is bound twice", var.span or span_of(binder))
        bound[var] = binder


def _check_closed(function: Function) -> None:
    """Check that every variable in the body is bound around its use.

    ``free[node]`` are the variables that must be bound around ``node``; a Let binds its own in its body.
    """
    free: dict[Expr, frozenset[Var]] = {}
    for node in postorder(function.body):
        assert isinstance(node, Expr)
        if isinstance(node, Var):
            free[node] = frozenset((node,))
        elif isinstance(node, Function):
            free[node] = frozenset()
        elif isinstance(node, Let):
            free[node] = free[node.value] | (free[node.body] - {node.var})
        elif isinstance(node, Loop):
            around = [] if node.condition is None else [node.condition]
            inside = free[node.body] - {node.index, *node.states}
            free[node] = _union([*(free[one] for one in (*around, *node.initial)), inside])
        else:
            free[node] = _union(free[child] for child in node.children())  # type: ignore[index]
    unbound = sorted(free[function.body] - set(function.params), key=lambda var: var.name)
    if unbound:
        raise VerifyError(
            f"variable %{unbound[0].name} is not bound where it is used", unbound[0].span or function.span
        )


def _check_dims(function: Function) -> None:
    """Check that dimensions of a LetDims in ``function`` are bound once and used only inside that LetDims.

    ``free[node]`` are the dimensions in attributes at and below ``node`` that must be bound around it.
    """
    nodes = list(postorder(function.body))
    lets: dict[te.SizeVar, LetDims] = {}
    for node in nodes:
        for dim in node.dims if isinstance(node, LetDims) else ():
            assert isinstance(node, LetDims)
            if lets.setdefault(dim, node) is not node:
                raise VerifyError(f"dimension {dim.name} is bound twice", span_of(node))
    if not lets:
        return
    free: dict[Node, frozenset[te.SizeVar]] = {}
    for node in nodes:
        free_here = _union(free[child] for child in node.children())
        match node:
            case LetDims(dims, value, body):
                free_here = free[value] | (free[body] - frozenset(dims))
            case Call(op, _, attrs):
                mentioned = dims_of([value for _, value in attrs])
                if isinstance(op, Function):
                    mentioned = dimensions_of(op)
                free_here |= lets.keys() & frozenset(mentioned)
            case Loop(trip_count=trip_count):
                free_here |= lets.keys() & frozenset(dims_of(trip_count))
        free[node] = free_here
    if unbound := sorted(free[function.body], key=lambda dim: dim.name):
        raise VerifyError(
            f"dimension {unbound[0].name} is used where it is not bound",
            span_of(lets[unbound[0]]) or function.span,
        )
    _check_dims_stay_inside(nodes)


def _check_dims_stay_inside(nodes: Iterable[Node]) -> None:
    """Check that the types of branches and loops mention no dimension that is bound inside them."""
    for node in nodes:
        if not isinstance(node, (If, Loop)):
            continue
        inside = {
            dim
            for block in ((node.then, node.otherwise) if isinstance(node, If) else (node.body,))
            for one in postorder(block)
            if isinstance(one, LetDims)
            for dim in one.dims
        }
        leaving = [dim for dim in dims_of(type_of(node)) if dim in inside]
        if leaving:
            raise VerifyError(f"dimension {leaving[0].name} leaves the block that binds it", node.span)


def dimensions_of(function: Function) -> list[te.SizeVar]:
    """The dimensions in the attributes of calls in ``function``."""
    return dims_of([value for n in postorder(function.body) if isinstance(n, Call) for _, value in n.attrs])


def span_of(node: Node) -> Span | None:
    """The source location of ``node``, if it has one."""
    return getattr(node, "span", None)


Item = TypeVar("Item")


def _union(sets: Iterable[frozenset[Item]]) -> frozenset[Item]:
    """The union; one of ``sets`` itself if it contains all others, so that deep graphs share them."""
    result: frozenset[Item] = frozenset()
    for one in sets:
        if not one <= result:
            result = one if result <= one else result | one
    return result


def _check_attributes(call: Call) -> None:
    if isinstance(call.op, Function):
        if call.attrs:
            raise VerifyError("a call of a function has attributes", call.span)
        return
    row = operators.get(call.op, call.span)
    if not row.any_attrs and [name for name, _ in call.attrs] != sorted(row.attrs):
        raise VerifyError(operators.wrong_names(row, call).message, call.span)


def _check_group(group: Function) -> None:
    for node in postorder(group.body):
        inside = isinstance(node, (Var, Constant, Tuple, TupleGetItem)) or (
            isinstance(node, Call) and isinstance(node.op, str)
        )
        if not inside:
            raise VerifyError(
                f"a fused group holds a {type(node).__name__}; only calls of operators may stand in it",
                getattr(node, "span", None) or group.span,
            )
