"""``relay.ty``: TVM's type classes, derived from ours; they can be compared with ``==``."""

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
"""TVM's short names of dtypes."""

_numbers = itertools.count(1)

_computed: WeakSet[te.SizeVar] = WeakSet()


_show = later("relay.text.printer", "show_type")


class Type(Node):
    """The base class of types. Two types are equal if they are of one kind and their parts are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and same_type(self, other)

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other

    @property
    def span(self) -> None:
        """None: the source location of a type is not recorded."""
        return None

    def __str__(self) -> str:
        return _show(self)

    def __repr__(self) -> str:
        return str(self)

    def __hash__(self) -> int:
        return hash((isinstance(self, types.TensorType), getattr(self, "dtype", None)))


class Extent(int):
    """A known extent: an integer that also has TVM's ``value`` and ``dtype``."""

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
    """An extent that is known only at run time; every instance is another extent."""

    def __init__(self) -> None:
        super().__init__(f"any_{next(_numbers)}", "int64")

    def __repr__(self) -> str:
        return "?"


class TensorType(Type, types.TensorType):
    """A tensor's shape and dtype. Extents are numbers, ``Any()``, or expressions over variables of ``te``.

    An ``Any()`` used several times in a shape, as in ``(Any(),) * 3``, is replaced by distinct ones.
    """

    def __init__(self, shape: Anything, dtype: Anything = "float32") -> None:
        self._set(_apart(extents(shape)), _DTYPES.get(str(dtype), str(dtype)))

    @classmethod
    def of(cls, given: types.TensorType) -> TensorType:
        """The ``TensorType`` of this class for a type of ours; repeated extents stay the same."""
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
        """The extents as ints; a TypeInferError if one is not a number."""
        if not self.is_static:
            raise TypeInferError(f"concrete_shape: {self} has extents that are no numbers", Span.of_caller())
        return tuple(int(extent) for extent in self.shape)  # type: ignore[arg-type]


class TupleType(Type, types.TupleType):
    """The type of a tuple, with the types of its fields."""

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
        """The type variables: always ``()``."""
        return ()

    type_constraints = type_params


class TypeKind(IntEnum):
    """TVM's kinds of types; values have ``Type``."""

    Type, ShapeVar, BaseType, Constraint, AdtHandle, TypeData = 0, 1, 2, 4, 5, 6


class IncompleteType(Type):
    """A type that is still to be inferred, equal only to itself. As a part of another type, every instance is
    replaced by ``INCOMPLETE``."""

    def __init__(self, kind: int = TypeKind.Type) -> None:
        object.__setattr__(self, "kind", TypeKind(kind))

    def __str__(self) -> str:
        return "_"


INCOMPLETE = IncompleteType()


def adopted(given: Anything) -> Anything:
    """``given`` as a type of this module: a type of ours, None for a type to infer, or a scalar's dtype."""
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
    """Whether ``type_`` has no part that is still to be inferred."""
    match type_:
        case types.TensorType():
            return True
        case types.TupleType(fields=fields):
            return all(map(is_complete, fields))
        case types.FuncType(params=params, result=result):
            return all(map(is_complete, (*params, result)))
    return False


def extents(shape: Anything) -> tuple[Anything, ...]:
    """The extents of ``shape`` in the form that types have: one extent, or an iterable of them."""
    if isinstance(shape, (int, np.integer, str, te.Expr)):
        shape = (shape,)
    if not isinstance(shape, Iterable):
        raise TypeInferError(f"a shape is {show(shape)}, expected extents", Span.of_caller())
    return tuple(map(extent, shape))


def _apart(shape: tuple[Anything, ...]) -> tuple[Anything, ...]:
    """``shape`` with a new ``Any()`` for each repetition of one."""
    met: set[Anything] = set()
    made = []
    for one in shape:
        made.append(Any() if isinstance(one, Any) and one in met else one)
        met.add(one)
    return tuple(made)


def extent(given: Anything) -> Anything:
    """One extent: an int, or an int64 expression in which variables are dimensions of the same names."""
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
    """``given`` in int64, with our dimensions for variables. Float arithmetic is allowed if all its values
    are whole: sums and products of whole numbers, as in ``round(n * 2.0)``."""

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
    """Whether two types are equal. As in TVM, an ``Any()`` equals any other, and any extent that is computed
    from a tensor."""
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
    """Whether ``extent`` is an ``Any()`` or an expression with one."""
    return isinstance(extent, te.Expr) and any(isinstance(node, Any) for node in postorder(extent))


def _is_computed(extent: Anything) -> bool:
    return isinstance(extent, te.Expr) and any(node in _computed for node in postorder(extent))


def computed(name: str) -> te.SizeVar:
    """A new extent that a tensor has at run time, as in ``relay.zeros(shape, "float32")``."""
    made = dim(name)
    _computed.add(made)
    return made


def scalar_type(dtype: Anything) -> TensorType:
    """The type of a scalar."""
    return TensorType((), dtype)


__getattr__ = refusing(__name__)
