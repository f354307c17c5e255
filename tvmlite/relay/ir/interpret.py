"""Evaluates Relay on numpy arrays, operator by operator, with the operators' references."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Union

import numpy as np

from tvmlite.core import config
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ExecutionError, InputError, VerifyError
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import (
    UNLIMITED_TRIP_COUNT,
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
    Binding,
    FuncType,
    TensorType,
    TupleType,
    Type,
    bind_dims,
    evaluate_attrs,
    evaluate_dim,
)
from tvmlite.te import expr as te

Value: TypeAlias = Union[np.ndarray, tuple["Value", ...]]
"""The value of an expression: an array, or a tuple of values."""


def interpret(target: Module | Function, args: Sequence[Any] | Mapping[str, Any]) -> Value:
    """The result of ``target`` (of ``main``, for a module) for ``args``, given in order or by parameter name.

    Named dimensions take their values from the arguments' shapes. A wrong number of arguments, or an argument
    with a wrong rank, extent or dtype, is an InputError that names the parameter.
    """
    function = target.main if isinstance(target, Module) else target
    type_of(function)
    values = _arguments(function, args)
    frame = _Frame.of(function, values)
    return _run(function.body, frame)


def trace(target: Module | Function, args: Sequence[Any] | Mapping[str, Any]) -> dict[Expr, Value]:
    """The value of every expression that ``interpret`` evaluates, including those in called functions."""
    function = target.main if isinstance(target, Module) else target
    type_of(function)
    frame = _Frame.of(function, _arguments(function, args), seen={})
    _run(function.body, frame)
    assert frame.seen is not None
    return {**frame.seen, **frame.values}


@dataclass
class _Frame:
    """The state of one call of a function: the values of its nodes and of its named dimensions.

    ``seen``, if given, collects the values in functions that it calls.
    """

    values: MutableMapping[Expr, Value]
    binding: dict[te.SizeVar, int]
    seen: dict[Expr, Value] | None = None
    inner: dict[Call, _Frame] = field(default_factory=dict)

    @staticmethod
    def of(
        function: Function,
        args: Sequence[Value],
        outer: Binding | None = None,
        seen: dict[Expr, Value] | None = None,
    ) -> _Frame:
        names = [p.name for p in function.params]
        binding = dict(bind_dims([p.type for p in function.params], args, names, outer))
        return _Frame(dict(zip(function.params, args, strict=True)), binding, seen)


def _run(root: Expr, frame: _Frame) -> Value:
    """Evaluate ``root`` on demand, with an explicit stack: a branch that is not taken is never evaluated."""
    stack: list[tuple[Expr, _Frame]] = [(root, frame)]
    while stack:
        node, where = stack[-1]
        if node in where.values:
            stack.pop()
            continue
        needed = _step(node, where)
        if needed:
            stack.extend(reversed(needed))
        else:
            stack.pop()
    return frame.values[root]


def _step(node: Expr, frame: _Frame) -> list[tuple[Expr, _Frame]]:
    """Compute the value of ``node`` in ``frame``, or return the expressions to evaluate before it."""
    values = frame.values
    missing = [(child, frame) for child in _needed_children(node, frame) if child not in values]
    if missing:
        return missing
    match node:
        case Constant():
            node.check_unchanged()
            values[node] = node.data
        case Tuple(fields):
            values[node] = tuple(values[f] for f in fields)
        case TupleGetItem(value, index):
            values[node] = values[value][index]
        case If():
            values[node] = values[_taken_branch(node, values)]
        case Let(body=body) | LetDims(body=body):
            values[node] = values[body]
        case Loop():
            values[node] = _loop(node, frame)
        case Call(op=Function() as function, args=args):
            if node not in frame.inner:
                frame.inner[node] = _Frame.of(function, [values[a] for a in args], frame.binding, frame.seen)
            inner = frame.inner[node]
            if function.body not in inner.values:
                return [(function.body, inner)]
            if frame.seen is not None:
                frame.seen.update(inner.values)
            values[node] = frame.inner.pop(node).values[function.body]
        case Call():
            values[node] = call_reference(node, [values[a] for a in node.args], frame.binding)
        case Var(name):
            raise VerifyError(f"variable %{name} is not bound here", node.span)
        case _:
            raise VerifyError(f"a {type(node).__name__} has no value of its own", getattr(node, "span", None))
    return []


def _needed_children(node: Expr, frame: _Frame) -> Sequence[Expr]:
    """The children that ``node`` needs next; children that are evaluated lazily only when they are needed."""
    values = frame.values
    match node:
        case If(condition):
            return [condition] if condition not in values else [_taken_branch(node, values)]
        case Let(var, value, body):
            if value not in values:
                return [value]
            values[var] = values[value]
            return [body]
        case LetDims(dims, value, body):
            if value not in values:
                return [value]
            frame.binding.update(zip(dims, _extents(node, values[value]), strict=True))
            return [body]
        case Loop():
            return [*node.initial, *([] if node.condition is None else [node.condition])]
        case Function():
            return ()
    return list(node.children())  # type: ignore[arg-type]


def _extents(node: LetDims, value: Value) -> list[int]:
    found = np.asarray(value).reshape(-1).tolist()
    for dim, extent in zip(node.dims, found, strict=True):
        if extent < 0:
            raise ExecutionError(negative_extent(node, dim), node.span)
    return found


def negative_extent(node: LetDims, dim: te.SizeVar) -> str:
    """The message of the error for a negative extent at run time."""
    return f"{_where(node)}the extent {dim.name} must not be negative"


def too_many_iterations(node: Loop) -> str:
    """The message of the error for a loop that exceeds the limit on iterations."""
    return f"{_where(node)}a loop of more than {config.loop_limit()} iterations (TVMLITE_LOOP_LIMIT)"


def takes_too_long(node: Loop) -> str:
    """The message of the error for a loop without a number of iterations that exceeds the time limit."""
    limit = f"{config.loop_seconds()} seconds (TVMLITE_LOOP_SECONDS)"
    return f"{_where(node)}a loop without a number of iterations that runs for more than {limit}"


def _where(node: Loop | LetDims) -> str:
    return f"{node.span.note}: " if node.span is not None and node.span.note else ""


def _loop(node: Loop, frame: _Frame) -> Value:
    """Run the iterations one after the other, each with its own values in front of those outside the loop."""
    states = [frame.values[one] for one in node.initial]
    trip_count, iteration, rows = evaluate_dim(node.trip_count, frame.binding), 0, []
    continues = node.condition is None or bool(frame.values[node.condition])
    end = time.monotonic() + config.loop_seconds() if trip_count >= UNLIMITED_TRIP_COUNT else math.inf
    while continues and iteration < trip_count:
        if node.condition is not None and iteration >= config.loop_limit():
            raise ExecutionError(too_many_iterations(node), node.span)
        if time.monotonic() > end:
            raise ExecutionError(takes_too_long(node), node.span)
        bound: dict[Expr, Value] = {node.index: np.asarray(iteration, np.int64)}
        bound.update(zip(node.states, states, strict=True))
        values = ChainMap(bound, frame.values)
        made = _run(node.body, _Frame(values, dict(frame.binding), frame.seen))
        assert isinstance(made, tuple)
        continues = node.condition is None or bool(made[0])
        states = list(made[1 : 1 + len(states)])
        rows.append(made[1 + len(states) :])
        iteration += 1
    type_ = type_of(node)
    assert isinstance(type_, TupleType)
    stacked = []
    for place, row in enumerate(type_.fields[len(states) : -1]):
        assert isinstance(row, TensorType)
        shape = tuple(evaluate_dim(d, frame.binding) for d in row.shape) if not rows else ()
        stacked.append(
            np.stack([r[place] for r in rows]) if rows else np.empty(shape, dtypes.numpy_of(row.dtype))
        )
    return (*states, *stacked, np.asarray(iteration, np.int64))


def _taken_branch(node: If, values: Mapping[Expr, Value]) -> Expr:
    return node.then if bool(values[node.condition]) else node.otherwise


def call_reference(call: Call, args: Sequence[Value], binding: Binding | None = None) -> Value:
    """Apply the operator's numpy reference to ``args``; ``binding`` has values for symbolic attributes."""
    assert isinstance(call.op, str)
    row = operators.get(call.op, call.span)
    attrs = evaluate_attrs(call.attrs, binding or {})
    arrays = args[0] if row.num_inputs is None else args
    if attrs is not call.attrs and row.evaluated is not None:
        attrs = row.evaluated(call, dict(attrs), np.shape(arrays[0]))
    concrete = call if attrs is call.attrs else dataclasses.replace(call, attrs=attrs)
    with np.errstate(all="ignore"):  # infinities and NaNs are values here
        result = row.reference(concrete, *arrays)
    return _as_value(result, type_of(call), row.name)


def _as_value(result: Any, type_: Type, name: str) -> Value:
    """``result`` as arrays, after asserting that the reference returned what the type promises."""
    if isinstance(type_, TupleType):
        fields = tuple(result)
        assert len(fields) == len(type_.fields), f"{name}: {len(fields)} results, {len(type_.fields)} typed"
        return tuple(_as_value(r, t, name) for r, t in zip(fields, type_.fields, strict=True))
    array = np.asarray(result)
    assert isinstance(type_, TensorType)
    assert dtypes.check(array.dtype) == type_.dtype, f"{name}: reference gives {array.dtype}, type is {type_}"
    assert array.ndim == type_.ndim, f"{name}: reference gives shape {array.shape}, type is {type_}"
    assert all(a == b for a, b in zip(array.shape, type_.shape, strict=True) if isinstance(b, int)), (
        f"{name}: reference gives shape {array.shape}, type is {type_}"
    )
    return array


def _arguments(function: Function, args: Sequence[Any] | Mapping[str, Any]) -> list[Value]:
    names = [p.name for p in function.params]
    if isinstance(args, Mapping):
        wrong = sorted(set(args) ^ set(names))
        if wrong:
            verb = "is missing" if wrong[0] in names else "is unknown"
            raise InputError(f"input {wrong[0]!r} {verb}; the inputs are {', '.join(names) or 'none'}")
        args = [args[name] for name in names]
    if len(args) != len(names):
        raise InputError(f"{len(args)} arguments given, {len(names)} expected: {', '.join(names) or 'none'}")
    return [_argument(p.type, value, p.name) for p, value in zip(function.params, args, strict=True)]


def _argument(type_: Type, value: Any, name: str) -> Value:
    if isinstance(type_, TupleType):
        if not isinstance(value, (tuple, list)) or len(value) != len(type_.fields):
            raise InputError(f"input {name!r}: expected a tuple of {len(type_.fields)} values")
        pairs = zip(type_.fields, value, strict=True)
        return tuple(_argument(one, item, f"{name}.{i}") for i, (one, item) in enumerate(pairs))
    if isinstance(type_, FuncType):
        raise InputError(f"input {name!r} is a function: only arrays can be given")
    array = (
        value if isinstance(value, np.ndarray) else np.asarray(value, getattr(value, "dtype", type_.dtype))
    )
    if dtypes.check(array.dtype) != type_.dtype:
        raise InputError(f"input {name!r}: dtype is {array.dtype}, expected {type_.dtype}")
    return array
