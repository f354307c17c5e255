"""TVM's ``relay.ty``: types, which here are our own that can be compared with ``==``."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from enum import IntEnum
from typing import Any as Anything
from weakref import WeakSet

import numpy as np

from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import Node, postorder, rewrite
from tvmlite.core.span import Span
from tvmlite.relay.ir import types
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.dims import dim, normal_dim
from tvmlite.te import expr as te
from tvmlite.tvm.absent import missing, refusing
from tvmlite.tvm.lazy import later

_DTYPES = {"float": "float32", "int": "int32", "uint": "uint32", "uint1": "bool"}
"""TVM's other names of dtypes."""

_numbers = itertools.count(1)

_computed: WeakSet[te.SizeVar] = WeakSet()


_show = later("relay.text.printer", "show_type")


class Type(Node):
    """A type. Two are equal if they are of one kind and their parts are."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and same_type(self, other)

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very type."""
        return self is other

    @property
    def span(self) -> None:
        """Where a program wrote the type: nobody knows."""
        return None

    def __str__(self) -> str:
        return _show(self)

    def __repr__(self) -> str:
        return str(self)

    def __hash__(self) -> int:
        return hash((isinstance(self, types.TensorType), getattr(self, "dtype", None)))


class Extent(int):
    """An extent that is a number, which TVM's programs ask for as ``value``."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return int(self) == (other.value if isinstance(other, te.Const) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    @property
    def value(self) -> int:
        """The number."""
        return int(self)

    @property
    def dtype(self) -> str:
        """The dtype of extents."""
        return "int32"


class Any(te.SizeVar):
    """An extent that is known when the program runs only; each is one of its own."""

    def __init__(self) -> None:
        super().__init__(f"any_{next(_numbers)}", "int64")

    def __repr__(self) -> str:
        return "?"


class TensorType(Type, types.TensorType):
    """A tensor's shape and dtype. Extents are numbers, ``Any()``, or expressions over variables of ``te``.

    One ``Any()`` several times, as in ``(Any(),) * 3``, are as many extents.
    """

    def __init__(self, shape: Anything, dtype: Anything = "float32") -> None:
        self._set(_apart(extents(shape)), _DTYPES.get(str(dtype), str(dtype)))

    @classmethod
    def of(cls, given: types.TensorType) -> TensorType:
        """The type of ours as one of these, with the extents that it has in common as they are."""
        made = object.__new__(cls)
        made._set(given.shape, given.dtype)
        return made

    def _set(self, shape: tuple[Anything, ...], dtype: str) -> None:
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype)
        types.TensorType.__post_init__(self)
        shape = tuple(Extent(one) if isinstance(one, int) else one for one in self.shape)
        object.__setattr__(self, "shape", shape)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The extents, all of which must be numbers."""
        if not self.is_static:
            raise TypeInferError(f"concrete_shape: {self} has extents that are no numbers", Span.of_caller())
        return tuple(int(extent) for extent in self.shape)  # type: ignore[arg-type]


class TupleType(Type, types.TupleType):
    """Several types as one."""

    def __init__(self, fields: Iterable[Anything]) -> None:
        object.__setattr__(self, "fields", tuple(adopted(field) for field in fields))


class FuncType(Type, types.FuncType):
    """The type of a function."""

    def __init__(
        self,
        arg_types: Iterable[Anything] = (),
        ret_type: Anything = None,
        type_params: Anything = None,
        type_constraints: Anything = None,
        **core: Anything,
    ) -> None:
        if type_params or type_constraints:
            missing("relay.FuncType with type_params", "types are written in full")()
        params = core.get("params", arg_types)
        object.__setattr__(self, "params", tuple(adopted(param) for param in params))
        object.__setattr__(self, "result", adopted(core.get("result", ret_type)))

    @property
    def arg_types(self) -> tuple[Anything, ...]:
        """The types of the parameters."""
        return self.params

    @property
    def ret_type(self) -> Anything:
        """The type of the result."""
        return self.result

    @property
    def type_params(self) -> tuple[Anything, ...]:
        """Variables for types: none."""
        return ()

    type_constraints = type_params


class TypeKind(IntEnum):
    """TVM's kinds of types, of which values have the first."""

    Type, ShapeVar, BaseType, Constraint, AdtHandle, TypeData = 0, 1, 2, 4, 5, 6


class IncompleteType(Type):
    """A type that is to be inferred, equal only to itself; as the type of a part, any is as another."""

    def __init__(self, kind: int = TypeKind.Type) -> None:
        object.__setattr__(self, "kind", TypeKind(kind))

    def __str__(self) -> str:
        return "_"


INCOMPLETE = IncompleteType()


def adopted(given: Anything) -> Anything:
    """A type of ours as one of these; None is one to be inferred, a dtype's name a scalar's."""
    match given:
        case None | IncompleteType():
            return INCOMPLETE
        case Type():
            return given
        case str():
            return TensorType((), given)
        case types.TensorType():
            return TensorType.of(given)
        case types.TupleType(fields=fields):
            return TupleType(fields)
        case types.FuncType(params=params, result=result):
            return FuncType(params, result)
    raise TypeInferError(f"a type is {show(given)}, expected relay.TensorType or the like", Span.of_caller())


def is_complete(type_: Anything) -> bool:
    """Whether nothing of ``type_`` is to be inferred."""
    match type_:
        case types.TensorType():
            return True
        case types.TupleType(fields=fields):
            return all(map(is_complete, fields))
        case types.FuncType(params=params, result=result):
            return all(map(is_complete, (*params, result)))
    return False


def extents(shape: Anything) -> tuple[Anything, ...]:
    """A shape as types have it, of what TVM's programs write."""
    if isinstance(shape, (int, np.integer, str, te.Expr)):
        shape = (shape,)
    if not isinstance(shape, Iterable):
        raise TypeInferError(f"a shape is {show(shape)}, expected extents", Span.of_caller())
    return tuple(map(extent, shape))


def _apart(shape: tuple[Anything, ...]) -> tuple[Anything, ...]:
    """``shape`` with another ``Any()`` where one stands again."""
    met: set[Anything] = set()
    made = []
    for one in shape:
        made.append(Any() if isinstance(one, Any) and one in met else one)
        met.add(one)
    return tuple(made)


def extent(given: Anything) -> Anything:
    """One extent: an int, or an int64 expression over our dimensions, which have the names of variables."""
    if isinstance(given, (int, np.integer)):
        return int(given)
    if isinstance(given, str):
        return dim(given)
    if isinstance(given, te.Const):
        return int(given.value)
    if isinstance(given, te.Expr):
        return given if given.dtype == "int64" and isinstance(given, te.SizeVar) else normal_dim(_long(given))
    try:
        return operator.index(getattr(given, "value", given))
    except TypeError:
        raise TypeInferError(
            f"an extent is {show(given)}, expected an integer or a variable of te", Span.of_caller()
        ) from None


_ROUNDED = ("ceil", "floor", "round", "trunc")


def _long(given: te.Expr) -> te.Expr:
    """``given`` with variables as our dimensions, in int64. In floats there may be sums and products of whole
    numbers, ``round(n * 2.0)``, which are whole themselves."""

    def rule(node: Anything) -> Anything:
        if isinstance(node, te.Const) and node.value == int(node.value):
            return te.const(int(node.value), "int64")
        if isinstance(node, te.Call) and node.name in _ROUNDED and node.args[0].dtype == "int64":
            return node.args[0]
        if isinstance(node, te.Const | te.Div):
            raise TypeInferError(f"an extent has {node}, expected whole numbers", Span.of_caller())
        if isinstance(node, te.Var):
            return node if isinstance(node, te.SizeVar) and node.dtype == "int64" else dim(node.name)
        if isinstance(node, te.Cast):
            return node.value
        return node

    return rewrite(given, rule)


def same_type(a: Anything, b: Anything) -> bool:
    """Whether two types are equal; an ``Any()`` equals any other, and what a tensor gives, as in TVM."""
    match a, b:
        case types.TensorType(), types.TensorType():
            return (
                a.dtype == b.dtype
                and len(a.shape) == len(b.shape)
                and all(map(_same_extent, a.shape, b.shape))
            )
        case types.TupleType(), types.TupleType():
            return len(a.fields) == len(b.fields) and all(map(same_type, a.fields, b.fields))
        case types.FuncType(), types.FuncType():
            mine, others = (*a.params, a.result), (*b.params, b.result)
            return len(mine) == len(others) and all(map(same_type, mine, others))
    return a is b and isinstance(a, IncompleteType)


def _same_extent(a: Anything, b: Anything) -> bool:
    if is_unknown(a) or is_unknown(b):
        return all(is_unknown(one) or _is_computed(one) for one in (a, b))
    return types.same_dim(a, b)


def is_unknown(extent: Anything) -> bool:
    """Whether ``extent`` is, or is computed of, one that is known when the program runs only."""
    return isinstance(extent, te.Expr) and any(isinstance(node, Any) for node in postorder(extent))


def _is_computed(extent: Anything) -> bool:
    return isinstance(extent, te.Expr) and any(node in _computed for node in postorder(extent))


def computed(name: str) -> te.SizeVar:
    """A new extent that a tensor gives when the program runs: ``relay.zeros(shape, "float32")``."""
    made = dim(name)
    _computed.add(made)
    return made


def scalar_type(dtype: Anything) -> TensorType:
    """The type of a scalar."""
    return TensorType((), dtype)


__getattr__ = refusing(__name__)
