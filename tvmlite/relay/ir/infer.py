"""Infers the type of every expression from the types of its parts, once, and caches it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import postorder_from, substitute
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.attributes import describe
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
from tvmlite.relay.ir.types import (
    FuncType,
    TensorType,
    TupleType,
    Type,
    broadcast_shapes,
    is_symbolic,
    map_dims,
    normal_dim,
    num_elements,
    same_dim,
    same_shape,
    same_type,
    show_dim,
    show_shape,
    show_type,
)
from tvmlite.te import expr as te

__all__ = [
    "broadcast_shapes", "dependencies", "infer", "is_scalar", "known_type", "num_elements", "same_dim",
    "same_shape", "same_type", "show_type", "tensor_type_of", "type_of", "walk",
]  # fmt: skip

_types: WeakKeyDictionary[Expr, Type] = WeakKeyDictionary()


def type_of(expr: Expr) -> Type:
    """The type of ``expr``. An error is a TypeInferError with the span of the innermost ill-typed node.

    Nodes are immutable, so the type is cached for as long as the node lives.
    """
    if not isinstance(expr, Expr):
        raise TypeInferError(f"type_of: expr is {describe(expr)}, expected a relay expression")
    known = _types.get(expr)
    if known is not None:
        return known
    stack: list[tuple[Expr, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if node in _types:
            continue
        if ready:
            _types[node] = _type_of(node)
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(list(dependencies(node))))
    return _types[expr]


def tensor_type_of(expr: Expr) -> TensorType:
    """The type of ``expr``, which must be a tensor; otherwise a TypeInferError."""
    type_ = type_of(expr)
    if not isinstance(type_, TensorType):
        raise TypeInferError(f"a tensor is needed here, this is {show_type(type_)}", _span(expr))
    return type_


def known_type(expr: Expr) -> Type | None:
    """The type of ``expr`` if it has already been inferred, else None."""
    return _types.get(expr)


def walk(root: Expr) -> Iterator[Expr]:
    """Every node reachable from ``root``, including called functions, once each, dependencies first."""
    return postorder_from([root], dependencies)


def infer(module: Module) -> Module:
    """Infer, and so check, the types of all functions of ``module``; return ``module``."""
    for function in module.functions.values():
        type_of(function)
    return module


def dependencies(node: Expr) -> Iterator[Expr]:
    """The children of ``node``, and the function that it calls, unless it calls an operator."""
    yield from node.children()  # type: ignore[misc]
    if isinstance(node, Call) and isinstance(node.op, Expr):
        yield node.op


def is_scalar(type_: Type, dtype: str | None = None) -> bool:
    """Whether ``type_`` is a rank-0 tensor (of dtype ``dtype``, if given)."""
    return isinstance(type_, TensorType) and not type_.shape and dtype in (None, type_.dtype)


def _type_of(node: Expr) -> Type:
    match node:
        case Var():
            return normal_type(node.type, f"variable %{node.name}", node)
        case Constant():
            return TensorType(tuple(node.shape), dtypes.check(node.dtype))
        case Tuple(fields):
            return TupleType(tuple(_types[field] for field in fields))
        case TupleGetItem():
            return _field(node)
        case Function(params, body):
            return FuncType(tuple(type_of(p) for p in params), _types[body])
        case Let(var, value, body):
            declared, actual = type_of(var), _types[value]
            if not same_type(declared, actual):
                raise TypeInferError(
                    f"let %{var.name}: declared {show_type(declared)}, its value is {show_type(actual)}",
                    _span(node),
                )
            return _types[body]
        case LetDims():
            return _let_dims(node)
        case If():
            return _if(node)
        case Loop():
            return _loop(node)
        case Call(op=Function() as function):
            return _function_call(node, [f"parameter %{param.name}" for param in function.params])
        case Call(op=Expr() as value):
            signature = _types[value]
            if not isinstance(signature, FuncType):
                raise TypeInferError(f"{show_type(signature)} is called, which is no function", _span(node))
            return _function_call(node, [f"parameter {at}" for at in range(len(signature.params))])
        case Call():
            return _operator_call(node)
    raise AssertionError(f"no type rule for {type(node).__name__}")


def _field(node: TupleGetItem) -> Type:
    type_ = _types[node.value]
    if not isinstance(type_, TupleType):
        raise TypeInferError(f"field {node.index} of {show_type(type_)}, which is no tuple", _span(node))
    if not 0 <= node.index < len(type_.fields):
        raise TypeInferError(f"field {node.index} of a tuple of {len(type_.fields)}", _span(node))
    return type_.fields[node.index]


def _let_dims(node: LetDims) -> Type:
    count, value = len(node.dims), _types[node.value]
    vector = isinstance(value, TensorType) and value.dtype == "int64" and value.shape == (count,)
    if not vector and not (count == 1 and is_scalar(value, "int64")):
        names = ", ".join(d.name for d in node.dims)
        raise TypeInferError(
            f"let dims: {names} stand for {show_type(value)}, expected int64 and {count} elements",
            _span(node),
        )
    return _types[node.body]


def _if(node: If) -> Type:
    condition, then, otherwise = (_types[child] for child in node.children())  # type: ignore[index]
    if not is_scalar(condition, "bool"):
        raise TypeInferError(f"if: the condition is {show_type(condition)}, expected a bool", _span(node))
    if not same_type(then, otherwise):
        raise TypeInferError(
            f"if: one branch is {show_type(then)}, the other {show_type(otherwise)}", _span(node)
        )
    return then


def _loop(node: Loop) -> Type:
    """The type of a loop: the last states, the stacked rows, and the number of iterations."""

    def check(holds: bool, what: str, hint: str | None = None) -> None:
        if not holds:
            raise TypeInferError(f"loop: {what}", _span(node), hint)

    states = tuple(type_of(state) for state in node.states)
    made = _types[node.body]
    check(
        isinstance(made, TupleType) and bool(made.fields), f"the body is {show_type(made)}, expected a tuple"
    )
    assert isinstance(made, TupleType)
    continues, *after = made.fields
    next_states, rows = after[: len(states)], after[len(states) :]
    check(
        len(node.initial) == len(states) == len(next_states),
        f"{len(states)} states, {len(node.initial)} given",
    )
    check(is_scalar(type_of(node.index), "int64"), f"the index is {show_type(type_of(node.index))}")
    check(is_scalar(continues, "bool"), f"the continue flag is {show_type(continues)}, expected a bool")
    if node.condition is not None:
        check(is_scalar(_types[node.condition], "bool"), "the condition is no bool")
        check(not rows, "a loop with a condition cannot return rows: their number is not known")
    for var, initial, next_state in zip(node.states, node.initial, next_states, strict=True):
        check(
            same_type(type_of(var), _types[initial]) and same_type(type_of(var), next_state),
            f"state %{var.name} is {show_type(type_of(var))}, it begins as {show_type(_types[initial])} and "
            f"becomes {show_type(next_state)}",
            "the type of a state is fixed: allocate all rows at the start, and write each with scatter_nd",
        )
    stacked: list[Type] = []
    for row in rows:
        check(isinstance(row, TensorType), f"a row is {show_type(row)}, expected a tensor")
        assert isinstance(row, TensorType)
        stacked.append(TensorType((normal_dim(node.trip_count), *row.shape), row.dtype))
    return TupleType((*states, *stacked, TensorType((), "int64")))


def _operator_call(node: Call) -> Type:
    assert isinstance(node.op, str)
    row = operators.get(node.op, node.span)
    types: Sequence[Type] = [_types[arg] for arg in node.args]
    expected = 1 if row.num_inputs is None else row.num_inputs
    if len(types) != expected:
        raise TypeInferError(f"{row.name}: takes {expected} arguments, {len(types)} given", _span(node))
    if row.num_inputs is None:
        if not isinstance(types[0], TupleType):
            raise TypeInferError(f"{row.name}: takes one tuple, given {show_type(types[0])}", _span(node))
        types = types[0].fields
    operators.check_attributes(row, node)
    _check_attributes(node, row)
    given = [_argument_type(row, position, type_, node) for position, type_ in enumerate(types)]
    return normal_type(row.infer(node, *given), row.name, node)


def _argument_type(
    row: operators.Operator, position: int, type_: Type, node: Call
) -> TensorType | tuple[TensorType, ...]:
    """An argument's type as the type relation of ``row`` receives it: a tensor type, or a tuple of them if
    the operator takes a tuple."""
    is_tuple = row.num_inputs is not None and row.argument_names[position] in row.tuples
    is_tuple = is_tuple or (row.any_types and isinstance(type_, TupleType))
    fields = type_.fields if is_tuple and isinstance(type_, TupleType) else (type_,)
    tensors = tuple(one for one in fields if isinstance(one, TensorType))
    if is_tuple != isinstance(type_, TupleType) or len(tensors) != len(fields):
        expected = "a tuple of tensors" if is_tuple else "a tensor"
        raise TypeInferError(
            f"{row.name}: argument {position} is {show_type(type_)}, expected {expected}", _span(node)
        )
    return tensors if is_tuple else tensors[0]


def _check_attributes(node: Call, row: operators.Operator) -> None:
    """Raise a TypeInferError for a dimension in an attribute that must be a number at compile time."""
    for name, value in node.attrs:
        if is_symbolic(value) and name not in row.open_attrs:
            raise TypeInferError(
                f"{row.name}: {name} is {_show_attribute(value)}, expected numbers known at compile time",
                _span(node),
                hint=f"dimensions may be in {', '.join(row.open_attrs)}" if row.open_attrs else None,
            )


def _show_attribute(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_show_attribute, value))})"
    return show_dim(value) if isinstance(value, te.Expr) else str(value)


def _function_call(node: Call, names: Sequence[str]) -> Type:
    """The type of a call of a function; ``names`` describe its parameters in errors."""
    assert isinstance(node.op, Expr)
    signature = _types[node.op]
    assert isinstance(signature, FuncType)
    given = [_types[arg] for arg in node.args]
    if len(given) != len(signature.params):
        raise TypeInferError(
            f"a function of {len(signature.params)} parameters is given {len(given)} arguments", _span(node)
        )
    bound: dict[te.Expr, te.Expr] = {}
    for param, type_ in zip(signature.params, given, strict=True):
        _bind(param, type_, bound)
    for name, wanted, type_ in zip(names, signature.params, given, strict=True):
        if not same_type(_substituted(wanted, bound), type_):
            raise TypeInferError(f"{name} is {show_type(wanted)}, given {show_type(type_)}", _span(node))
    return _substituted(signature.result, bound)


def _bind(param: Type, given: Type, bound: dict[te.Expr, te.Expr]) -> None:
    """Bind each named dimension of ``param`` to the first extent of ``given`` at the same position."""
    match param, given:
        case TensorType(shape), TensorType(extents) if len(shape) == len(extents):
            for extent, value in zip(shape, extents, strict=True):
                if isinstance(extent, te.SizeVar):
                    bound.setdefault(extent, te.convert(value, "int64"))
        case TupleType(fields), TupleType(others) if len(fields) == len(others):
            for field, other in zip(fields, others, strict=True):
                _bind(field, other, bound)


def _substituted(type_: Type, bound: dict[te.Expr, te.Expr]) -> Type:
    """``type_`` with its named dimensions replaced as ``bound`` says."""
    if all(name is value for name, value in bound.items()):
        return type_

    return map_dims(type_, lambda extent: normal_dim(substitute(extent, bound)))


def normal_type(type_: Type, what: str, node: Expr) -> Type:
    """``type_`` with canonical extents; an error that names ``what`` if one is negative or far too large."""
    if isinstance(type_, TupleType):
        return TupleType(tuple(normal_type(field, what, node) for field in type_.fields))
    if not isinstance(type_, TensorType):
        return type_
    if not all(isinstance(d, (int, te.SizeVar)) for d in type_.shape):
        type_ = TensorType(tuple(normal_dim(d) for d in type_.shape), type_.dtype)
    elements = dtypes.bytes_of(type_.dtype)
    for extent in type_.shape:
        if isinstance(extent, int):
            if extent < 0:
                raise TypeInferError(
                    f"{what}: shape {show_shape(type_.shape)} has the negative extent {show_dim(extent)}",
                    _span(node),
                )
            elements *= max(extent, 1)
    if elements >= 2**63:
        raise TypeInferError(f"{what}: shape {show_shape(type_.shape)} is beyond any memory", _span(node))
    return type_


def _span(node: Expr):
    return getattr(node, "span", None)
