"""The graph IR: immutable, typed expressions that may share subexpressions. Passes map expressions to others.

A model is a ``Module`` whose function ``main`` computes its outputs from its parameters. As nodes are
immutable, the type of a node never changes: ``infer.type_of`` computes it once and caches it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from tvmlite.core import mapped
from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import Node, Printable, postorder
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import canonical_value
from tvmlite.relay.ir.types import TYPES, Dim, Type, tensor_type
from tvmlite.te import expr as te

Attrs: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Expr(Printable):
    """A Relay expression. ``span`` is where the user wrote it: a line of Python or an ONNX node.

    ``x + y``, ``-x``, ``x < y`` and ``x.astype("int8")`` build calls of operators. An expression with several
    results can be indexed, counted and unpacked (``relay.ir.overloads``). ``x == y`` tests for the same node.
    """

    def __post_init__(self) -> None:
        """Convert lists to tuples; raise a TypeInferError if a field has a value of a wrong type."""
        for name, kinds, several in _FIELDS[type(self)]:
            value = getattr(self, name)
            if several:
                if type(value) is not tuple:
                    value = _as_tuple(self, name, value)
                for position, one in enumerate(value):
                    if not isinstance(one, kinds):
                        raise _field_type_error(self, f"{name}[{position}]", one, kinds)
            elif not isinstance(value, kinds):
                raise _field_type_error(self, name, value, kinds)

    def _with(self, changes: dict[str, Any]) -> Any:
        """A copy of this node with ``changes``, which come from rewriting and are not checked."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.update(changes)
        return made

    if TYPE_CHECKING:  # set in relay.ir.overloads: they need the operators, which need this module

        def __neg__(self) -> Call: ...
        def __add__(self, other: Any) -> Call: ...
        def __radd__(self, other: Any) -> Call: ...
        def __sub__(self, other: Any) -> Call: ...
        def __rsub__(self, other: Any) -> Call: ...
        def __mul__(self, other: Any) -> Call: ...
        def __rmul__(self, other: Any) -> Call: ...
        def __truediv__(self, other: Any) -> Call: ...
        def __rtruediv__(self, other: Any) -> Call: ...
        def __lt__(self, other: Any) -> Call: ...
        def __le__(self, other: Any) -> Call: ...
        def __gt__(self, other: Any) -> Call: ...
        def __ge__(self, other: Any) -> Call: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Expr]: ...
        def __getitem__(self, index: Any) -> Any: ...
        def astype(self, dtype: Any) -> Call:
            """Cast every element to ``dtype``."""
            ...


@dataclass(frozen=True, eq=False, repr=False)
class Var(Expr):
    """A typed variable: a function's parameter, or bound by a Let or a Loop. Equal only to itself."""

    name: str
    type: Type
    span: Span | None = None
    identity: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Expr):
    """An array known at compile time. ``data`` is never written.

    Where the elements do not matter, read ``shape``, ``dtype``, ``size`` and ``nbytes`` of this node instead
    of those of ``data``: a ``DeferredConstant`` computes its elements at each access to ``data``.
    """

    data: np.ndarray
    span: Span | None = None

    def __post_init__(self) -> None:
        """Turn numpy scalars, which arithmetic on arrays of rank 0 returns, back into arrays of rank 0."""
        if isinstance(self.data, np.generic):
            object.__setattr__(self, "data", np.asarray(self.data))
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return self.data.shape

    @property
    def dtype(self) -> np.dtype:
        """The element type, as a numpy dtype."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.size * self.dtype.itemsize

    def check_unchanged(self) -> None:
        """Raise a ModelError if the elements are in a file that was written to after it was imported."""
        mapped.check_unchanged(self.data)

    def write_to(self, out: np.ndarray) -> None:
        """Write the elements to ``out``, of the same shape and dtype."""
        mapped.copy(out, self.data)


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expr):
    """``op`` applied to ``args``.

    ``op`` is an operator's name, or a Function (a fused group). ``attrs`` are fixed at compile time: (name,
    value) pairs, sorted by name. The values are ints, floats, strings, bools, None, te expressions over
    dimensions, and tuples of these.
    """

    op: str | Function
    args: tuple[Expr, ...]
    attrs: Attrs = ()
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("args",)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_attrs(self)

    def __getitem__(self, name: str | int) -> Any:
        """The attribute called ``name``; if ``name`` is a number, that one of several results."""
        if type(name) is not str:
            return super().__getitem__(name)
        for key, value in self.attrs:
            if key == name:
                return value
        raise TypeInferError(f"{self.op}: this call has no attribute {name!r}", Span.of_caller())

    def get(self, name: str, default: Any = None) -> Any:
        """The value of the attribute ``name``, or ``default`` if there is none."""
        for key, value in self.attrs:
            if key == name:
                return value
        return default


@dataclass(frozen=True, eq=False, repr=False)
class Function(Expr):
    """A function of ``params`` that computes ``body``. A fused group has the attribute ``Primitive`` = 1."""

    params: tuple[Var, ...]
    body: Expr
    attrs: Attrs = ()
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("body",)
    binders: ClassVar[tuple[str, ...]] = ("params",)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_attrs(self)

    def __call__(self, *args: Expr) -> Call:
        """A call of this function with ``args``."""
        return Call(self, args, (), Span.of_caller())


@dataclass(frozen=True, eq=False, repr=False)
class Let(Expr):
    """``body`` with ``var`` bound to ``value``, which is evaluated once, before ``body``."""

    var: Var
    value: Expr
    body: Expr
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("value", "body")
    binders: ClassVar[tuple[str, ...]] = ("var",)


@dataclass(frozen=True, eq=False, repr=False)
class LetDims(Expr):
    """``body`` with the dimensions ``dims`` bound to the elements of ``value``, which is evaluated before
    ``body``.

    ``value`` is an int64 vector with one element per dimension, or a scalar for one dimension. A negative
    element is an error at run time. Data-dependent dimensions are written this way: an operator counts,
    LetDims names the count, and the types in ``body`` mention the name.
    """

    dims: tuple[te.SizeVar, ...]
    value: Expr
    body: Expr
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("value", "body")


def without_lets(body: Expr) -> tuple[list[LetDims], Expr]:
    """Split ``body`` into the LetDims around its value, outermost first, and the value."""
    lets: list[LetDims] = []
    while isinstance(body, LetDims):
        lets.append(body)
        body = body.body
    return lets, body


def with_lets(lets: Sequence[LetDims], value: Expr) -> Expr:
    """Wrap ``value`` in ``lets``: the inverse of ``without_lets``."""
    for let in reversed(lets):
        value = replace(let, body=value)
    return value


@dataclass(frozen=True, eq=False, repr=False)
class If(Expr):
    """``then`` if the rank-0 bool ``condition`` is true, else ``otherwise``; only one is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("condition", "then", "otherwise")


UNLIMITED_TRIP_COUNT = 2**31 - 1
"""The number of iterations from which on a loop counts as unlimited, as exporters write it."""


@dataclass(frozen=True, eq=False, repr=False)
class Loop(Expr):
    """Evaluates ``body`` repeatedly; each iteration passes its ``states`` to the next.

    ``index`` is the number of the iteration, an int64 scalar from 0. ``states`` are bound to ``initial`` in
    the first iteration, later to what the previous iteration returned. ``body`` is a tuple: a bool scalar,
    whether to continue; the next states; rows. There are at most ``trip_count`` iterations, and none if
    ``condition`` is false. If ``condition`` is None, there are exactly ``trip_count``, the bool is ignored,
    and the rows are stacked along a new first axis of that extent; otherwise there are no rows. The value of
    a loop is the tuple of the last states, the stacked rows, and the number of iterations, an int64 scalar.
    """

    index: Var
    states: tuple[Var, ...]
    trip_count: Dim
    condition: Expr | None
    initial: tuple[Expr, ...]
    body: Expr
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("condition", "initial", "body")
    binders: ClassVar[tuple[str, ...]] = ("index", "states")


@dataclass(frozen=True, eq=False, repr=False)
class Tuple(Expr):
    """A tuple of values."""

    fields: tuple[Expr, ...]
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("fields",)


@dataclass(frozen=True, eq=False, repr=False)
class TupleGetItem(Expr):
    """The field of a tuple at ``index``."""

    value: Expr
    index: int
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("value",)


@dataclass(frozen=True, eq=False, repr=False)
class Module(Printable):
    """Functions by name; ``main`` is the model. ``output_names`` are the names of the outputs, if known.

    If inputs or outputs are sequences, ``attrs`` has ``inputs`` and ``outputs``: rows of a name and the
    number of parameters or results that are its elements, None for a single array. ``squeezed`` has rows of
    an output's index and the axes that the caller must remove from it if all of them have extent 1.
    ``values`` maps names in the model file to expressions of ``main``; passes drop it.
    """

    functions: Mapping[str, Function]
    output_names: tuple[str, ...] = ()
    attrs: Attrs = field(default=())
    values: Mapping[str, Expr] = field(default_factory=dict, repr=False)
    not_compared: ClassVar[frozenset[str]] = frozenset({"span", "values"})
    as_html: ClassVar[Callable[[Any], str]]

    def __post_init__(self) -> None:
        given = self.functions
        if not isinstance(given, Mapping):
            raise _field_type_error(self, "functions", given, (Mapping,))
        for name, function in given.items():
            if not isinstance(name, str):
                raise _field_type_error(self, "a name in functions", name, (str,))
            if not isinstance(function, Function):
                raise _field_type_error(self, f"functions[{name!r}]", function, (Function,))
        if type(self.output_names) is not tuple:
            _as_tuple(self, "output_names", self.output_names)
        for position, one in enumerate(self.output_names):
            if not isinstance(one, str):
                raise _field_type_error(self, f"output_names[{position}]", one, (str,))
        if not isinstance(self.values, Mapping):
            raise _field_type_error(self, "values", self.values, (Mapping,))
        _check_attrs(self)

    @staticmethod
    def from_expr(expr: Expr) -> Module:
        """A module whose ``main`` is ``expr``, or a function of the free variables of ``expr``."""
        if isinstance(expr, Function):
            return Module({"main": expr})
        return Module({"main": Function(free_variables(postorder(expr)), expr)})

    @property
    def main(self) -> Function:
        """The model's function."""
        return self.functions["main"]

    def with_main(self, main: Function) -> Module:
        """This module with ``main`` replaced; the same object if ``main`` is unchanged."""
        if main is self.main:
            return self
        return Module({**self.functions, "main": main}, self.output_names, self.attrs)

    def unnamed(self) -> Module:
        """This module without ``values``, which would keep alive expressions that passes have removed."""
        return Module(self.functions, self.output_names, self.attrs) if self.values else self

    def __getitem__(self, name: str) -> Function:
        return self.functions[name]

    def __deepcopy__(self, memo: object) -> Module:
        """A module with copied tables that shares the functions, which are immutable."""
        return Module(dict(self.functions), self.output_names, self.attrs, dict(self.values))

    def astext(self, show_meta_data: bool = True) -> str:
        """This module as text. With ``show_meta_data``, large constants are included (``relay.parse``)."""
        return Module.as_text(self, show_meta_data)

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows; ``relay.text.notebook`` sets ``as_html``."""
        return Module.as_html(self)


_SPAN = ("span", (Span, NoneType), False)

_FIELDS: dict[type, tuple[tuple[str, tuple[type, ...], bool], ...]] = {
    Expr: (),
    Var: (("name", (str,), False), ("type", TYPES, False), _SPAN),
    Constant: (("data", (np.ndarray,), False), _SPAN),
    Call: (("op", (str, Function), False), ("args", (Expr,), True), _SPAN),
    Function: (("params", (Var,), True), ("body", (Expr,), False), _SPAN),
    Let: (("var", (Var,), False), ("value", (Expr,), False), ("body", (Expr,), False), _SPAN),
    LetDims: (("dims", (te.SizeVar,), True), ("value", (Expr,), False), ("body", (Expr,), False), _SPAN),
    If: (("condition", (Expr,), False), ("then", (Expr,), False), ("otherwise", (Expr,), False), _SPAN),
    Loop: (
        ("index", (Var,), False), ("states", (Var,), True), ("trip_count", (int, te.Expr), False),
        ("condition", (Expr, NoneType), False), ("initial", (Expr,), True), ("body", (Expr,), False), _SPAN,
    ),
    Tuple: (("fields", (Expr,), True), _SPAN),
    TupleGetItem: (("value", (Expr,), False), ("index", (int,), False), _SPAN),
}  # fmt: skip
"""The fields of each node class: name, accepted types, and whether the field is a tuple of such values."""


def _as_tuple(node: Node, name: str, value: Any) -> tuple[Any, ...]:
    """Return the field ``name`` as a tuple, and store it in ``node``: users may pass lists."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise _field_type_error(node, name, value, (tuple,))
    object.__setattr__(node, name, tuple(value))
    return tuple(value)


def _check_attrs(node: Any) -> None:
    """Check that ``attrs`` is a tuple of (name, value) pairs; convert a mapping to pairs sorted by name."""
    given = node.attrs
    if isinstance(given, Mapping):
        given = canonical({str(name): value for name, value in given.items()})
        object.__setattr__(node, "attrs", given)
    for pair in given if isinstance(given, tuple) else (None,):
        if type(pair) is not tuple or len(pair) != 2 or type(pair[0]) is not str:
            raise _field_type_error(node, "attrs", given, (dict,))


def _field_type_error(node: Any, name: str, value: Any, accepted: tuple[type, ...]) -> TypeInferError:
    """The error for a field ``name`` whose ``value`` has none of the types ``accepted``."""
    expected = " or ".join("None" if kind is NoneType else kind.__name__ for kind in accepted)
    given = "None" if value is None else f"a {type(value).__name__}"
    span = getattr(node, "span", None)
    return TypeInferError(
        f"{type(node).__name__}: {name} is {given}, expected {expected}",
        span if isinstance(span, Span) else Span.of_caller(),
    )


def free_variables(nodes: Iterable[Node]) -> tuple[Var, ...]:
    """The variables among ``nodes``, in order of appearance, that no node among them binds."""
    found: dict[Var, None] = {}
    bound: set[Var] = set()
    for node in nodes:
        match node:
            case Var():
                found[node] = None
            case Function(params=variables):
                bound.update(variables)
            case Let(var=var):
                bound.add(var)
            case Loop(index=index, states=states):
                bound.update((index, *states))
    return tuple(var for var in found if var not in bound)


def canonical(attrs: Mapping[str, Any]) -> Attrs:
    """``attrs`` in the form that a Call stores: pairs sorted by name."""
    return tuple(sorted(((name, canonical_value(value)) for name, value in attrs.items()), key=itemgetter(0)))


def constant(value: Any, dtype: Any = None) -> Constant:
    """A Constant of ``value``: anything that numpy can convert to an array."""
    return Constant(np.asarray(value, dtype=dtype))


def var(name: str, shape: Any = None, dtype: str = "float32", type: Type | None = None) -> Var:
    """A variable ``name`` of type ``type``, or of ``shape`` and ``dtype``. A string in ``shape`` is the
    dimension with that name (``types.dim``)."""
    return Var(name, type if type is not None else tensor_type(() if shape is None else shape, dtype))
