"""Random arguments that a function accepts: right dtypes, small sizes, indices within their axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.relay.ir.interpret import Value, interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Var
from tvmlite.relay.ir.op import is_selection
from tvmlite.relay.ir.types import Binding, TensorType, TupleType, Type, dims_of, evaluate_dim
from tvmlite.te import expr as te

LARGEST_INTEGER = 9
"""The largest value of random integers that are not indices; the smallest is 0."""

_SIZES = ((2, 3, 4, 5), (1,), (8, 12), (16, 24), (32, 64), (128, 160), (256,))
"""The choices for open dimensions in successive tries: small ones first, as they are fast."""

_TRIES = 3


def random_inputs(function: Function, seed: int = 0) -> tuple[list[Value], Value]:
    """Random arguments for ``function``, and its result for them.

    Floats are normally distributed; integers are 0 to 9, or within the axes that they index. Open dimensions
    get small sizes; if those do not fit the model, larger ones are tried. An InputError if no try fits.
    """
    rng = np.random.default_rng(seed)
    limits, last = _IndexLimits(function), ""
    for binding in _bindings(function, rng):
        for highest in (LARGEST_INTEGER, 1, 0):
            arguments = [
                _draw(p.type, binding, min(highest, limits(p, binding)), rng) for p in function.params
            ]
            try:
                return arguments, interpret(function, arguments)
            except TvmliteError as error:
                last = error.message
    raise InputError(
        f"no random input was found that the model accepts{f' (the last: {last})' if last else ''}",
        hint="give inputs that it does: verify={name: array, ...}",
    )


def _bindings(function: Function, rng: np.random.Generator) -> Iterator[Binding]:
    """Values for the open dimensions of the parameters for which every extent is at least 1."""
    names = dims_of([p.type for p in function.params])
    extents = _extents(function)
    if not names:
        yield {}
        return
    for choices in _SIZES:
        for _ in range(_TRIES):
            binding = {name: int(rng.choice(choices)) for name in names}
            if all(evaluate_dim(extent, binding) > 0 for extent in extents):
                yield binding


def _extents(function: Function) -> list[te.Expr]:
    """All extents in ``function`` that are determined by the open dimensions of its parameters."""
    names = set(dims_of([p.type for p in function.params]))
    found: dict[te.Expr, None] = {}
    for node in walk(function.body):
        for tensor in _tensors(type_of(node)):
            found |= {
                d: None for d in tensor.shape if isinstance(d, te.Expr) and names.issuperset(dims_of(d))
            }
    return list(found)


def _tensors(type_: Type) -> Iterator[TensorType]:
    if isinstance(type_, TensorType):
        yield type_
    elif isinstance(type_, TupleType):
        for field in type_.fields:
            yield from _tensors(field)


def _draw(type_: Type, binding: Binding, highest: int, rng: np.random.Generator) -> Value:
    if isinstance(type_, TupleType):
        return tuple(_draw(one, binding, highest, rng) for one in type_.fields)
    assert isinstance(type_, TensorType), "a parameter is a tensor or a tuple of them"
    shape = tuple(evaluate_dim(extent, binding) for extent in type_.shape)
    if dtypes.is_float(type_.dtype):
        values = rng.standard_normal(shape)
    else:
        values = rng.integers(0, 1 if type_.dtype == "bool" else highest, shape, endpoint=True)
    return np.asarray(values).astype(dtypes.numpy_of(type_.dtype))


class _IndexLimits:
    """The largest integer that each parameter may hold, given the axes that its elements index."""

    def __init__(self, function: Function) -> None:
        self.extents: dict[Var, list[int | te.Expr]] = {}
        for node in walk(function.body):
            if isinstance(node, Call) and node.op == "assume_indices":
                source = _source(node.args[0])
                if isinstance(source, Var):
                    self.extents.setdefault(source, []).extend(node["extents"])

    def __call__(self, parameter: Var, binding: Mapping[te.SizeVar, int]) -> int:
        known = [
            evaluate_dim(extent, binding)
            for extent in self.extents.get(parameter, ())
            if all(name in binding for name in dims_of(extent))
        ]
        return max(min(known) - 1, 0) if known else LARGEST_INTEGER


def _source(value: Expr) -> Expr:
    """The value that the elements of ``value`` come from."""
    while isinstance(value, Call) and (is_selection(value.op) or value.op == "cast"):
        value = value.args[0]
    return value
