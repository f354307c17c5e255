"""Checks that a module is well formed: what every pass may rely on and must keep.

- Every variable is bound by a parameter or a Let around its use; a function's body refers to nothing
  outside the function (functions are closed).
- A variable is bound once; parameters of a function differ.
- Types fit, everywhere; a call of an operator carries exactly the attributes of that operator.
- A group (``Primitive``) holds calls of operators, tuples, projections and constants only.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvmlite.core.errors import VerifyError
from tvmlite.core.node import postorder
from tvmlite.relay import op as operators
from tvmlite.relay.infer import type_of
from tvmlite.relay.ir import Call, Constant, Expr, Function, Let, Module, Tuple, TupleGetItem, Var


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
        for node in postorder(one.body):
            if isinstance(node, Call):
                _check_attributes(node)
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
    lets = [node for node in postorder(function.body) if isinstance(node, Let)]
    for binder, var in [*((function, p) for p in function.params), *((let, let.var) for let in lets)]:
        if not isinstance(var, Var):
            raise VerifyError(f"a {type(var).__name__} is bound as a variable", binder.span)
        if var in bound and (bound[var] is not binder or isinstance(binder, Function)):
            raise VerifyError(f"variable %{var.name} is bound twice", var.span or binder.span)
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
        else:
            free[node] = _union(free[child] for child in node.children())  # type: ignore[index]
    loose = sorted(free[function.body] - set(function.params), key=lambda var: var.name)
    if loose:
        raise VerifyError(
            f"variable %{loose[0].name} is not bound where it is used", loose[0].span or function.span
        )


def _union(sets: Iterable[frozenset[Var]]) -> frozenset[Var]:
    """The union; one of ``sets`` itself where it holds all others, so that deep graphs share them."""
    result: frozenset[Var] = frozenset()
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
    given = [name for name, _ in call.attrs]
    if given != sorted(row.attrs):
        wrong = sorted(set(given) ^ set(row.attrs))
        if not wrong:
            raise VerifyError(f"{call.op}: attributes are not sorted by name", call.span)
        what = "missing" if wrong[0] in row.attrs else "unknown"
        raise VerifyError(f"{call.op}: attribute {wrong[0]!r} is {what}", call.span)


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
