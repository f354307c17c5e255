"""The types of Relay expressions: tensors, whose dimensions may have names, tuples and functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, TypeAlias, Union

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError, TypeInferError
from tvmlite.core.node import Node, postorder, substitute
from tvmlite.core.span import Span
from tvmlite.relay.ir import attributes
from tvmlite.relay.ir.dims import (
    Binding,
    Dim,
    Shape,
    broadcast_shapes,
    dim,
    evaluate_attrs,
    evaluate_dim,
    evaluate_shape,
    is_symbolic,
    normal_dim,
    num_elements,
    same_dim,
    same_shape,
    show_dim,
    show_shape,
)
from tvmlite.te import expr as te

__all__ = [
    "Binding", "Dim", "FuncType", "Shape", "TensorType", "TupleType", "Type", "bind_dims",
    "broadcast_shapes", "dim", "dims_of", "evaluate_attrs", "evaluate_dim", "evaluate_shape",
    "is_symbolic", "map_dims", "normal_dim", "num_elements", "same_dim", "same_shape", "same_type",
    "show_dim", "show_shape", "show_type", "tensor_type",
]  # fmt: skip


_EXTENTS = {int, te.SizeVar}
"""The classes of most extents, which need no further check."""


@dataclass(frozen=True, eq=False, repr=False)
class TensorType(Node):
    """The shape and dtype of an array. A string in a shape is the dimension with that name."""

    shape: Shape
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if type(self.shape) is not tuple or not {*map(type, self.shape)} <= _EXTENTS:
            object.__setattr__(self, "shape", _extents(self.shape))
        if type(self.dtype) is not str or not dtypes.is_known(self.dtype):
            object.__setattr__(self, "dtype", dtypes.check(self.dtype))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every extent is a number."""
        return all(isinstance(d, int) for d in self.shape)

    def __str__(self) -> str:
        return show_type(self)

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class TupleType(Node):
    """The type of a tuple."""

    fields: tuple[Type, ...]

    def __post_init__(self) -> None:
        _check_types(self, "fields")

    def __str__(self) -> str:
        return show_type(self)

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class FuncType(Node):
    """The type of a function."""

    params: tuple[Type, ...]
    result: Type

    def __post_init__(self) -> None:
        _check_types(self, "params")
        if not isinstance(self.result, TYPES):
            raise _type_error("FuncType: result", self.result)

    def __str__(self) -> str:
        return show_type(self)

    __repr__ = __str__


Type: TypeAlias = Union[TensorType, TupleType, FuncType]

TYPES = (TensorType, TupleType, FuncType)


def tensor_type(shape: Any, dtype: str = "float32") -> TensorType:
    """A TensorType of ``shape``, a single extent or several."""
    extents: Any = (shape,) if isinstance(shape, (int, str, te.Expr)) else shape
    return TensorType(extents, dtype)


def _extents(shape: Any) -> Shape:
    """``shape`` in the form that a TensorType stores: a tuple of ints and expressions."""
    if not isinstance(shape, (tuple, list, np.ndarray)):
        raise _type_error("TensorType: shape", shape, "a tuple of integers and dimensions")
    extents: list[Dim] = []
    for position, given in enumerate(shape):
        whole = isinstance(given, (np.integer, int)) and not isinstance(given, bool)
        extent = dim(given) if isinstance(given, str) else int(given) if whole else given
        if type(extent) is not int and not (isinstance(extent, te.Expr) and extent.dtype == "int64"):
            raise _type_error(f"TensorType: shape[{position}]", extent, "an integer or a dimension")
        extents.append(extent)
    return tuple(extents)


def _check_types(node: Any, name: str) -> None:
    """Check that the field ``name`` holds types only; convert a list to a tuple."""
    value, where = getattr(node, name), f"{type(node).__name__}: {name}"
    if not isinstance(value, (tuple, list)):
        raise _type_error(where, value, "a tuple of types")
    for position, one in enumerate(value):
        if not isinstance(one, TYPES):
            raise _type_error(f"{where}[{position}]", one)
    object.__setattr__(node, name, tuple(value))


def _type_error(what: str, given: Any, expected: str = "a type") -> TypeInferError:
    return TypeInferError(f"{what} is {attributes.show(given)}, expected {expected}", Span.of_caller())


def same_type(a: Type, b: Type) -> bool:
    """Whether two types are proved equal, dimension by dimension."""
    match a, b:
        case TensorType(), TensorType():
            return a.dtype == b.dtype and same_shape(a.shape, b.shape)
        case TupleType(), TupleType():
            return len(a.fields) == len(b.fields) and all(map(same_type, a.fields, b.fields))
        case FuncType(), FuncType():
            return (
                len(a.params) == len(b.params)
                and all(map(same_type, a.params, b.params))
                and same_type(a.result, b.result)
            )
    return False


def dims_of(item: Any) -> list[te.SizeVar]:
    """The distinct named dimensions in a dimension, shape, type or attribute, in order of appearance."""
    found: dict[te.SizeVar, None] = {}
    stack = [item]
    while stack:
        match stack.pop():
            case te.Expr() as extent:
                found.update((node, None) for node in postorder(extent) if isinstance(node, te.SizeVar))
            case tuple() | list() as items:
                stack.extend(reversed(items))
            case TensorType(shape=shape):
                stack.extend(reversed(shape))
            case TupleType(fields=fields):
                stack.extend(reversed(fields))
            case FuncType(params=params, result=result):
                stack.extend((result, *reversed(params)))
    return list(found)


def map_dims(item: Any, rule: Callable[[te.Expr], Dim]) -> Any:
    """Apply ``rule`` to each expression in a dimension, shape, type or attribute; return the same object if
    nothing changed."""
    match item:
        case te.Expr():
            return rule(item)
        case tuple():
            made = tuple([map_dims(one, rule) for one in item])
            return item if all(map(is_, made, item)) else made
        case TensorType() | TupleType() | FuncType():
            fields = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
            changed = {name: map_dims(value, rule) for name, value in fields.items()}
            same = all(changed[name] is value for name, value in fields.items())
            return item if same else type(item)(**changed)
    return item


def show_type(type_: Type) -> str:
    """A type as Relay text: ``Tensor[(1, 3, h, w), float32]``, ``(A, B)``, ``fn (A) -> B``."""
    match type_:
        case TensorType():
            return f"Tensor[{show_shape(type_.shape)}, {type_.dtype}]"
        case TupleType():
            items = [show_type(field) for field in type_.fields]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        case FuncType():
            return f"fn ({', '.join(map(show_type, type_.params))}) -> {show_type(type_.result)}"


def bind_dims(
    types: Sequence[Type],
    arrays: Sequence[Any],
    names: Sequence[str] | None = None,
    outer: Binding | None = None,
) -> dict[te.SizeVar, int]:
    """The values of the named dimensions of ``types``, given ``arrays`` of those types.

    Tuples match tuples. An extent that is a single named dimension binds it. Other dimensions take their
    values from ``outer``, the binding around a call, or by solving expressions that are linear in a single
    unknown. Then every extent is checked: a rank or extent that does not fit is an InputError that names the
    argument (``names``, or its position).
    """
    pairs: list[tuple[str, Dim, int]] = []
    for position, (type_, array) in enumerate(zip(types, arrays, strict=True)):
        _pair_extents(type_, array, names[position] if names else f"argument {position}", pairs)
    binding: dict[te.SizeVar, int] = {}
    for name, extent, value in pairs:
        if isinstance(extent, te.SizeVar) and binding.setdefault(extent, value) != value:
            raise InputError(
                f"{name}: dimension {extent.name!r} is {value}, elsewhere it is {binding[extent]}"
            )
    binding = {**(outer or {}), **binding}
    _solve([pair for pair in pairs if isinstance(pair[1], te.Expr)], binding)
    for name, extent, value in pairs:
        wanted = evaluate_dim(extent, binding)
        if wanted != value:
            expected = str(wanted) if isinstance(extent, int) else f"{show_dim(extent)} = {wanted}"
            raise InputError(f"{name}: an extent is {value}, expected {expected}")
    return binding


def _pair_extents(type_: Type, array: Any, name: str, pairs: list[tuple[str, Dim, int]]) -> None:
    if isinstance(type_, TupleType):
        if not isinstance(array, (tuple, list)) or len(array) != len(type_.fields):
            raise InputError(f"{name}: expected a tuple of {len(type_.fields)} values")
        for index, (field, value) in enumerate(zip(type_.fields, array, strict=True)):
            _pair_extents(field, value, f"{name}.{index}", pairs)
    elif isinstance(type_, TensorType):
        shape = np.shape(array)
        if len(shape) != type_.ndim:
            raise InputError(f"{name}: shape is {shape}, expected {show_shape(type_.shape)}")
        pairs.extend((name, extent, value) for extent, value in zip(type_.shape, shape, strict=True))


def _solve(pairs: list[tuple[str, Dim, int]], binding: dict[te.SizeVar, int]) -> None:
    """Bind dimensions that occur only inside expressions that are linear in a single unknown."""
    progress = True
    while progress:
        progress = False
        for _, extent, value in pairs:
            unknown = [v for v in dims_of(extent) if v not in binding]
            if len(unknown) != 1:
                continue
            value_at_0, value_at_1 = (evaluate_dim(extent, {**binding, unknown[0]: x}) for x in (0, 1))
            known = {name: te.const(number, "int64") for name, number in binding.items()}
            linear = unknown[0] * (value_at_1 - value_at_0) + value_at_0
            if value_at_1 != value_at_0 and same_dim(substitute(extent, known), linear):
                binding[unknown[0]] = (value - value_at_0) // (value_at_1 - value_at_0)
                progress = True
