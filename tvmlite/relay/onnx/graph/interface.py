"""A model's inputs and outputs that are not plain arrays: sequences, passed as lists, and optionals.

The number of arrays in a sequence input is fixed at import, by ``shape={"x": [(2, 3), (2, 5)]}``; so is
whether an optional is present: by its shape, or by ``shape={"x": None}``, which omits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import onnx

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir import infer
from tvmlite.relay.ir.nodes import Attrs, Expr, Tuple, TupleGetItem, Var, canonical
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.relay.onnx.graph.node import NOTHING

TypeOf = Callable[[onnx.ValueInfoProto, Any], TensorType]
"""Return the type of a declared array, given the caller's shape or None."""


def declare(one: onnx.ValueInfoProto, given: bool, override: Any, type_of: TypeOf, what: str) -> Expr:
    """Return the value of a graph's input: a variable, a Tuple of variables, or ``NOTHING``."""
    kind, optional = one.type, one.type.HasField("optional_type")
    if optional:
        kind = kind.optional_type.elem_type
        if not given:
            raise UnsupportedError(
                f"{what} is optional: whether it is there must be known",
                hint=f"give shape={{{one.name!r}: (...)}}, or shape={{{one.name!r}: None}} to leave it out",
            )
        if override is None:
            return NOTHING
    if not kind.HasField("sequence_type"):
        return Var(one.name, type_of(onnx.ValueInfoProto(name=one.name, type=kind), override))
    if not given:
        raise UnsupportedError(
            f"{what} is a sequence: how many arrays it holds must be known",
            hint=f"give shape={{{one.name!r}: [(...), (...)]}}, a shape for each of them",
        )
    if not isinstance(override, (list, tuple)) or not all(isinstance(s, (list, tuple)) for s in override):
        raise ModelError(f"{what}: shape is {override!r}, expected a list of shapes, one for each array")
    return Tuple(tuple(_element(one.name, i, kind, shape, type_of) for i, shape in enumerate(override)))


def _element(name: str, index: int, kind: onnx.TypeProto, shape: Any, type_of: TypeOf) -> Var:
    own = f"{name}.{index}"
    return Var(own, type_of(onnx.ValueInfoProto(name=own, type=kind.sequence_type.elem_type), shape))


def ranks(outputs: Iterable[onnx.ValueInfoProto]) -> dict[str, int | None]:
    """Return the names of ``outputs``, each with its rank if that is declared."""
    declared = {one.name: one.type.tensor_type for one in outputs}
    return {name: len(one.shape.dim) if one.HasField("shape") else None for name, one in declared.items()}


def unpack_sequence(value: Expr) -> Expr:
    """Return a sequence computed by an If as a Tuple of its elements, and other values as they are."""
    made = infer.type_of(value)
    if isinstance(value, Tuple) or not isinstance(made, TupleType):
        return value
    return Tuple(tuple(TupleGetItem(value, i) for i in range(len(made.fields))))


def flat(value: Expr) -> tuple[Expr, ...]:
    """Return the arrays of an input or output."""
    return value.fields if isinstance(value, Tuple) else (value,)


def flat_names(name: str, value: Expr) -> tuple[str, ...]:
    """Return the names of the arrays of an input or output."""
    return tuple(f"{name}.{i}" for i in range(len(value.fields))) if isinstance(value, Tuple) else (name,)


def attributes(
    inputs: Sequence[tuple[str, Expr]],
    outputs: Sequence[tuple[str, Expr]],
    names: Sequence[str],
    squeezed: Mapping[str, tuple[int, ...]],
) -> Attrs:
    """Return the module's attributes: arrays that form lists, if any, and axes that outputs lose if 1.

    ``names`` are those of all output arrays.
    """
    made: dict[str, Any] = {}
    if any(isinstance(value, Tuple) for _, value in (*inputs, *outputs)):
        made |= {"inputs": [*map(_sequence_length, inputs)], "outputs": [*map(_sequence_length, outputs)]}
    if squeezed:
        made["squeezed"] = [(names.index(name), axes) for name, axes in squeezed.items()]
    return canonical(made)


def _sequence_length(named: tuple[str, Expr]) -> tuple[str, int | None]:
    name, value = named
    return name, len(value.fields) if isinstance(value, Tuple) else None
