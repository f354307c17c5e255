"""Checks that a module is well formed: what every pass may rely on and must keep.

- Every variable is bound by a parameter or a Let around its use; a function's body refers to nothing
  outside the function (functions are closed).
- A variable is bound once; parameters of a function differ.
- A dimension that comes from data is bound once, by the LetDims around its uses, and does not leave the
  branch or the loop that binds it.
- Types fit, everywhere; a call of an operator carries exactly the attributes of that operator.
- Constants that are read from a model's file are still what it says (else a ModelError).
- A group (``Primitive``) holds calls of operators, tuples, projections and constants only.
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
    """Raise a VerifyError (or TypeInferError) that names what is wrong with ``module``."""
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
    """``root`` and the functions called from it, each once."""
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
    """Each variable has one binder."""
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
    """Every variable reached from the body is bound on the way.

    ``free[node]`` are the variables a node needs from around it; a Let takes its own from its body.
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
    loose = sorted(free[function.body] - set(function.params), key=lambda var: var.name)
    if loose:
        raise VerifyError(
            f"variable %{loose[0].name} is not bound where it is used", loose[0].span or function.span
        )


def _check_dims(function: Function) -> None:
    """Every dimension that a LetDims of ``function`` binds is used inside that, and stays there.

    ``free[node]`` are those that the attributes in and below ``node`` need from around it.
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
        below = _union(free[child] for child in node.children())
        match node:
            case LetDims(dims, value, body):
                below = free[value] | (free[body] - frozenset(dims))
            case Call(op, _, attrs):
                mentioned = dims_of([value for _, value in attrs])
                if isinstance(op, Function):
                    mentioned = dimensions_of(op)
                below |= lets.keys() & frozenset(mentioned)
            case Loop(turns=turns):
                below |= lets.keys() & frozenset(dims_of(turns))
        free[node] = below
    if loose := sorted(free[function.body], key=lambda dim: dim.name):
        raise VerifyError(
            f"dimension {loose[0].name} is used where it is not bound",
            span_of(lets[loose[0]]) or function.span,
        )
    _check_blocks(nodes)


def _check_blocks(nodes: Iterable[Node]) -> None:
    """The types of branches and loops mention no dimension that is bound inside."""
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
    """The dimensions that the attributes in ``function`` mention."""
    return dims_of([value for n in postorder(function.body) if isinstance(n, Call) for _, value in n.attrs])


def span_of(node: Node) -> Span | None:
    """Where ``node`` was written, if it knows."""
    return getattr(node, "span", None)


Item = TypeVar("Item")


def _union(sets: Iterable[frozenset[Item]]) -> frozenset[Item]:
    """The union; one of ``sets`` itself where it holds all others, so that deep graphs share them."""
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
