"""``relay.expr``: the nodes of graphs, derived from ours, with TVM's constructors and field names.

All parts of a node of this module are nodes of this module. ``adopt`` converts an expression that our
builders, passes or parser made. Our passes accept these nodes without conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import substitute
from tvmlite.core.span import Span
from tvmlite.relay import const as _core_const
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import dependencies, known_type, type_of
from tvmlite.relay.ir.nodes import canonical
from tvmlite.runtime.ndarray import NDArray
from tvmlite.tvm.absent import missing, refusing
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.graph.adopt import ADOPTED, NAMED, SURFACE, adopt
from tvmlite.tvm.relay.graph.attrs import Attrs, plain_attrs
from tvmlite.tvm.relay.graph.operators import Operators
from tvmlite.tvm.relay.op.op import Op

_astext = later("relay.text.printer", "astext")
_pretty = later("relay.text.printer", "pretty")
_inferred = later("relay.transform.infer_type", "InferTypeLocal")


class RelayExpr(Operators, nodes.Expr):
    """The base class of expressions. An expression is equal only to itself."""

    @property
    def checked_type(self) -> Any:
        """The type, inferred now if it is not known yet, together with the types of unannotated variables."""
        if any(isinstance(node, nodes.Var) and node.type is ty.INCOMPLETE for node in _unknown(self)):
            return _inferred(self)
        return ty.adopted(type_of(self))

    @property
    def _checked_type_(self) -> Any:
        return self.checked_type

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other

    def struct_info(self) -> Any:
        """Raise an error: this method belongs to TVM's Relax."""
        return missing("struct_info", "checked_type is the type of a relay expression")()

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The expression in TVM's text format."""
        return _astext(self, show_meta_data, annotate)

    def as_text(self, show_meta_data: bool = False) -> str:  # type: ignore[override]
        """The text that ``str()`` gives: without large constants."""
        return _pretty(self, show_meta_data)


def _unknown(root: Any) -> Iterator[Any]:
    """The nodes of ``root`` whose types are not known yet, and the variables that they bind."""
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if node in seen or known_type(node) not in (None, ty.INCOMPLETE):
            continue
        seen.add(node)
        yield node
        stack.extend(dependencies(node))


def _set(node: Any, **fields: Any) -> None:
    node.__dict__.update(fields)
    ADOPTED.mark(node)


def _exprs(what: str, given: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(expr_of(f"{what}[{position}]", one) for position, one in enumerate(given))


def expr_of(what: str, given: Any) -> Any:
    """``given`` as an operator or a node of this module; a TypeInferError that names ``what`` otherwise."""
    given = getattr(given, "tuple_value", given) if not isinstance(given, nodes.Expr) else given
    if isinstance(given, Op):
        return given
    if not isinstance(given, nodes.Expr):
        raise TypeInferError(f"{what} is {show(given)}, expected a relay expression", Span.of_caller())
    return adopt(given)


class Var(RelayExpr, nodes.Var):
    """A local variable. Without a ``type_annotation``, its type is inferred."""

    def __init__(
        self, name_hint: str = "", type_annotation: Any = None, span: Span | None = None, **core: Any
    ) -> None:
        name = core.get("name", name_hint)
        if not isinstance(name, str):
            raise TypeInferError(f"Var: name_hint is {show(name)}, expected a string", Span.of_caller())
        type_ = ty.adopted(core.get("type", type_annotation))
        _set(self, name=name, type=type_, span=span or Span.of_caller())

    @property
    def name_hint(self) -> str:
        """The name, which need not be unique."""
        return self.name

    @property
    def vid(self) -> Var:
        """The identity that distinguishes variables of one name: the variable itself."""
        return self

    @property
    def type_annotation(self) -> Any:
        """The type as it was written, or None if it is to be inferred."""
        return None if self.type is ty.INCOMPLETE else self.type


class GlobalVar(RelayExpr, nodes.Var):
    """A reference to a function of a module by its name."""

    identity: ClassVar[bool] = False

    def __init__(
        self, name_hint: str = "", type_annot: Any = None, span: Span | None = None, **core: Any
    ) -> None:
        name, type_ = core.get("name", name_hint), core.get("type", type_annot)
        _set(self, name=name, type=ty.adopted(type_), span=span)

    @property
    def name_hint(self) -> str:
        """The function's name."""
        return self.name

    def __call__(self, *args: Any) -> Call:
        """The call of the function with ``args``."""
        return Call(self, args)


class Constant(RelayExpr, nodes.Constant):
    """An array known at compile time; ``data`` is a ``tvm.nd.NDArray``."""

    def __init__(self, data: Any, span: Span | None = None) -> None:
        _set(self, data=np.asarray(data).view(NDArray), span=span)


class Call(RelayExpr, nodes.Call):
    """``op`` (an operator, a function or an expression whose value is a function) applied to ``args``.
    ``type_args`` only matter for structural comparison, as the types of the arguments are inferred."""

    def __init__(
        self, op: Any, args: Iterable[Any] = (), attrs: Any = None, type_args: Any = None, span: Any = None
    ) -> None:
        op = Op(op) if isinstance(op, str) else expr_of("Call: op", op)
        args = _exprs("Call: args", args)
        given = plain_attrs(attrs)
        if isinstance(op, Op):
            given = {**op.defaults(), **given}
        span = span if isinstance(span, Span) else Span.of_caller()
        _set(self, op=op, args=args, attrs=Attrs(canonical(given)), span=span)
        if type_args:
            self.__dict__["given_types"] = tuple(map(ty.adopted, type_args))

    def __getitem__(self, name: Any) -> Any:
        """The attribute ``name``, a string; for an integer, that result of a call with several."""
        return nodes.Call.__getitem__(self, name) if isinstance(name, str) else super().__getitem__(name)

    @property
    def type_args(self) -> tuple[Any, ...]:
        """The ``type_args`` that were given; else the argument types of an operator's call, or ``()`` for a
        function, as there are no type variables."""
        given = self.__dict__.get("given_types", ())
        if given or not isinstance(self.op, Op):
            return given
        return tuple(ty.adopted(type_of(arg)) for arg in self.args)


class Function(RelayExpr, nodes.Function):
    """A function with the parameters ``params`` and the result ``body``."""

    def __init__(
        self,
        params: Iterable[Any],
        body: Any,
        ret_type: Any = None,
        type_params: Any = None,
        attrs: Any = None,
        virtual_devices_: Any = None,
        span: Any = None,
    ) -> None:
        if type_params:
            missing("relay.Function with type_params", "types are written in full")()
        params = _exprs("Function: params", params)
        for position, one in enumerate(params):
            if not isinstance(one, Var):
                raise TypeInferError(
                    f"Function: params[{position}] is {show(one)}, expected a relay.Var", Span.of_caller()
                )
        _set(
            self,
            params=params,
            body=expr_of("Function: body", body),
            attrs=Attrs(canonical(plain_attrs(attrs))),
            declared=None if ret_type is None else ty.adopted(ret_type),
            span=span if isinstance(span, Span) else Span.of_caller(),
        )

    @property
    def ret_type(self) -> Any:
        """The result type as it was written or, if possible, inferred; else None."""
        declared = self.__dict__.get("declared")
        if declared is not None:
            return declared
        try:
            return ty.adopted(type_of(self.body))
        except TypeInferError:
            return None

    @property
    def type_params(self) -> tuple[Any, ...]:
        """The type variables: always ``()``."""
        return ()

    def with_attr(self, attr_key_or_dict: Any, attr_value: Any = None) -> Function:
        """A copy of this function with an attribute, or the attributes of a dict, added."""
        more = attr_key_or_dict if isinstance(attr_key_or_dict, dict) else {attr_key_or_dict: attr_value}
        made = {**dict(self.attrs), **plain_attrs(more)}
        return adopt(self._with({"attrs": Attrs(canonical(made))}))

    def without_attr(self, attr_key: str) -> Function:
        """A copy of this function without the attribute ``attr_key``."""
        kept = tuple(pair for pair in self.attrs if pair[0] != attr_key)
        return adopt(self._with({"attrs": Attrs(kept)}))

    def __call__(self, *args: Any) -> Call:
        """The call of this function with ``args``."""
        return Call(self, args)


class Let(RelayExpr, nodes.Let):
    """``body``, with ``variable`` bound to ``value``."""

    def __init__(
        self, variable: Any = None, value: Any = None, body: Any = None, span: Any = None, **core: Any
    ) -> None:
        var, value, body = _exprs("Let", (core.get("var", variable), value, body))
        _set(self, var=var, value=value, body=body, span=span or Span.of_caller())


class If(RelayExpr, nodes.If):
    """``true_branch`` if ``cond``, a bool scalar, is true, else ``false_branch``."""

    def __init__(
        self,
        cond: Any = None,
        true_branch: Any = None,
        false_branch: Any = None,
        span: Any = None,
        **core: Any,
    ) -> None:
        given = (
            core.get("condition", cond),
            core.get("then", true_branch),
            core.get("otherwise", false_branch),
        )
        condition, then, otherwise = _exprs("If", given)
        _set(self, condition=condition, then=then, otherwise=otherwise, span=span or Span.of_caller())

    @property
    def cond(self) -> Any:
        """The condition."""
        return self.condition

    @property
    def true_branch(self) -> Any:
        """The value if the condition is true."""
        return self.then

    @property
    def false_branch(self) -> Any:
        """The value if the condition is false."""
        return self.otherwise


class Tuple(RelayExpr, nodes.Tuple):
    """A tuple of values."""

    def __init__(self, fields: Iterable[Any], span: Any = None) -> None:
        _set(self, fields=_exprs("Tuple: fields", fields), span=span or Span.of_caller())

    def astuple(self) -> Tuple:
        """The tuple itself."""
        return self


class TupleGetItem(RelayExpr, nodes.TupleGetItem):
    """The ``index``-th field of ``tuple_value``."""

    def __init__(self, tuple_value: Any = None, index: int = 0, span: Any = None, **core: Any) -> None:
        value = expr_of("TupleGetItem: tuple_value", core.get("value", tuple_value))
        _set(self, value=value, index=int(index), span=span or Span.of_caller())

    @property
    def tuple_value(self) -> Any:
        """The tuple."""
        return self.value


class LetDims(RelayExpr, nodes.LetDims):
    """``body`` with extents that are computed from data (``tvmlite.relay.LetDims``)."""


class Loop(RelayExpr, nodes.Loop):
    """A loop (``tvmlite.relay.Loop``)."""


class TupleWrapper:
    """A call with several results, which can be indexed, unpacked and used as an argument."""

    def __init__(self, tuple_value: Any, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Any:
        """The call."""
        return self.tuple_value

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The call in TVM's text format."""
        return self.tuple_value.astext(show_meta_data, annotate)

    def __getitem__(self, index: int) -> TupleGetItem:
        if not -self.size <= index < self.size:
            raise IndexError(f"result {index} of a call that has {self.size}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return iter([self[index] for index in range(self.size)])

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"


def var(
    name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: Any = "float32", span: Any = None
) -> Var:
    """A variable whose type is ``type_annotation`` (a type, or a scalar's dtype) or given by ``shape`` and
    ``dtype``. Without either, its type is inferred."""
    if type_annotation is not None and shape is not None:
        raise TypeInferError("var: type_annotation and shape are both given, expected one", Span.of_caller())
    if shape is not None:
        type_annotation = ty.TensorType(shape, dtype)
    return Var(name_hint, type_annotation, span)


def const(value: Any, dtype: Any = None, span: Any = None) -> Constant:
    """A constant from a number, a list or an array. Without a ``dtype``, float64 becomes float32 and int64
    becomes int32, as in TVM, also for numpy arrays; a ``tvm.nd.NDArray`` keeps its dtype."""
    given = value.numpy() if isinstance(value, NDArray) else value
    if dtype is None and given is value and isinstance(value, (np.ndarray, np.generic)):
        dtype = _NARROWED.get(value.dtype.name)
    return adopt(_core_const(given, getattr(dtype, "dtype", dtype)))


_NARROWED = {"float64": "float32", "int64": "int32"}


def bind(expr: Any, binds: Any) -> Any:
    """Substitute the values of ``binds`` for variables of ``expr``. Bound parameters of a function are
    removed from its parameters."""
    binds = {adopt(one): adopt(value) for one, value in dict(binds).items()}
    if isinstance(expr, Function):
        kept = [param for param in expr.params if param not in binds]
        return Function(kept, adopt(substitute(expr.body, binds)), attrs=expr.attrs)
    return adopt(substitute(expr, binds))


Expr = ExprWithOp = RelayExpr

NAMED.add(GlobalVar)
SURFACE.update(
    {
        one.__mro__[3]: one
        for one in (Var, Constant, Call, Function, Let, If, Tuple, TupleGetItem, LetDims, Loop)
    }
)


__getattr__ = refusing(__name__)
