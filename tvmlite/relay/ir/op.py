"""The operator table: everything that the compiler knows about an operator, registered in one place.

An operator is its te compute, decorated with its other properties::

    @operator("nn.relu", infer=same_as_first, fuse=Fuse.ELEMWISE, reference=relu_numpy)
    def relu(call: Call, data: te.Tensor) -> te.Tensor:
        return te.compute(data.shape, lambda *i: te.max(data[i], 0), name="relu", tag="elemwise")

``relay/ops/register.py`` has decorators for families of operators, some for a formula of one element.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tvmlite.core import techniques
from tvmlite.core.errors import TvmliteError, TypeInferError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import REQUIRED, Attribute, Kind, at_least, choice, describe, show
from tvmlite.relay.ir.nodes import Attrs, Call, Expr, canonical
from tvmlite.te.templates.anchors import ELEMENTWISE, Anchor

__all__ = [
    "OPERATORS", "REQUIRED", "Fuse", "Operator", "Rounding", "at_least", "check_attributes", "choice",
    "defaults", "get", "is_homogeneous", "is_known", "is_view", "make", "names", "operator",
]  # fmt: skip


class Fuse(enum.IntEnum):
    """The fusion class of an operator, from the least restrictive to the most; TVM's classes and order."""

    ELEMWISE = 0
    """Element i of the output reads element i of each input only."""
    BROADCAST = 1
    """Element-wise on inputs that are broadcast to the shape of the output."""
    INJECTIVE = 2
    """Each output element reads single input elements, without a reduction: reshape, transpose, slice."""
    COMM_REDUCE = 3
    """A reduction over axes of its input."""
    OUT_ELEMWISE_FUSABLE = 4
    """An anchor such as conv or dense: element-wise operators after it can be fused with it."""
    TUPLE = 7
    """An operator with several results."""
    OPAQUE = 8
    """Never fused."""


class Rounding(enum.Enum):
    """How often a float element is rounded on the way from the arguments to the result."""

    MANY = enum.auto()
    """Several times: sums and transcendental functions. Implementations differ in the last bits."""
    ONCE = enum.auto()
    """At most once, as IEEE 754 specifies."""
    NEVER = enum.auto()
    """Not at all: elements are moved, or selected by a maximum, or fixed numbers are inserted."""
    STEPS = enum.auto()
    """To a step: a change in the last bit of an argument may change the result by a whole step."""


@dataclass(frozen=True)
class Operator:
    """One row of the table.

    - ``infer(call, *types)`` returns the type of the call, from its attributes and the types of its arguments
      (a variadic operator gets the fields of its tuple argument as separate types); raises TypeInferError
      with ``call.span``.
    - ``compute(call, *tensors)`` returns a te.Tensor, or a list of them for a tuple type.
    - ``reference(call, *arrays)`` computes the same in plain numpy; dimensions in attributes are numbers
      there.
    - ``attrs`` are the attributes with their defaults (``REQUIRED`` if there is none).
    - ``open_attrs`` are the attributes in which a dimension may stand for a number, such as ``newshape``.
    - ``schedule`` is the operator's kind of anchor, which determines the schedule templates of its group.
    - ``num_inputs`` is None for a variadic operator, which takes one relay Tuple.
    - ``tuples`` are the arguments of a non-variadic operator that are relay Tuples; ``infer``, ``compute``
      and ``reference`` get a tuple of types, tensors or arrays for each.
    - ``any_types``: an argument may be a tensor or a tuple of tensors.
    - ``parameters`` are the arguments and attributes in the order of TVM's Python function.
    - ``field``: the index of the result that TVM's Python function returns, if there are several; None: all.
    - ``view``: the result is the argument in another shape, which needs no kernel outside a group.
    - ``rounding``: how often floats are rounded.
    - ``fills``: some elements of the result do not come from the arguments, such as the zeros beside a
      triangle.
    - ``homogeneous``: if all float arguments are multiplied by the same positive number, the result is
      multiplied by it, apart from rounding.
    - ``may_stop``: it may stop a run, if an assumption that it makes does not hold.
    - ``mark``: it computes nothing: it is a mark at its position that passes leave for each other.
    - ``quantized``: it stands for an operator on integers, into which ``canonicalize_qnn`` expands it.
    - ``any_attrs``: calls may have any attributes, as those of custom operators do.
    - ``evaluated(call, attrs, shape)`` returns the attributes that the reference gets, for operators that
      treat a number as written differently from a dimension with that value. ``attrs`` are those of ``call``
      with numbers for dimensions; ``shape`` is that of the first argument.
    - ``kinds`` are the attributes sorted by name, as in a Call, each with its default and its kind.
    """

    name: str
    infer: Callable[..., Any]
    compute: Callable[..., Any]
    reference: Callable[..., Any]
    fuse: Fuse
    attrs: Mapping[str, Any]
    schedule: Anchor
    num_inputs: int | None
    argument_names: tuple[str, ...]
    parameters: tuple[str, ...]
    field: int | None
    kinds: tuple[tuple[str, Any, Kind], ...]
    open_attrs: tuple[str, ...] = ()
    view: bool = False
    rounding: Rounding = Rounding.MANY
    fills: bool = False
    homogeneous: bool = False
    may_stop: bool = False
    evaluated: Callable[..., Attrs] | None = None
    tuples: tuple[str, ...] = ()
    any_types: bool = False
    mark: bool = False
    quantized: bool = False
    any_attrs: bool = False


OPERATORS: dict[str, Operator] = {}


def operator(
    name: str,
    *,
    infer: Callable[..., Any],
    reference: Callable[..., Any],
    fuse: Fuse = Fuse.OPAQUE,
    attrs: Mapping[str, Any] | None = None,
    schedule: Anchor = ELEMENTWISE,
    parameters: Sequence[str] = (),
    field: int | None = None,
    doc: str | None = None,
    **columns: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated te compute as the operator ``name``. A second registration is an error.

    ``attrs`` maps names to defaults, REQUIRED, or declarations by ``at_least`` and ``choice``. ``parameters``
    is the order for users if attributes stand between arguments; ``doc`` is the docstring of a generated
    compute. ``columns`` are other fields of ``Operator``.
    """

    def register(compute: Callable[..., Any]) -> Callable[..., Any]:
        if name in OPERATORS:
            raise TvmliteError(f"operator {name!r} is already registered", Span.of_caller())
        if doc is not None:
            compute.__doc__ = doc
        arguments = list(inspect.signature(compute).parameters.values())[1:]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in arguments)
        names = tuple(p.name for p in arguments)
        declared = {
            key: value if isinstance(value, Attribute) else Attribute(value)
            for key, value in (attrs or {}).items()
        }
        order = tuple(parameters) or (*names, *declared)
        assert sorted(order) == sorted((*names, *declared)), f"{name}: parameters are {order}"
        OPERATORS[name] = Operator(
            name,
            infer,
            compute,
            reference,
            fuse,
            MappingProxyType({key: one.default for key, one in declared.items()}),
            schedule,
            None if variadic else len(arguments),
            names,
            order,
            field,
            tuple((key, declared[key].default, declared[key].kind(key)) for key in sorted(declared)),
            **columns,
        )
        return compute

    return register


def get(name: str, span: Span | None = None) -> Operator:
    """The operator ``name``; an UnsupportedError if it is not in the table."""
    if not isinstance(name, str) or not is_known(name):
        raise UnsupportedError(f"operator {show(name)} is not in the table", span or Span.of_caller())
    return OPERATORS[name]


def is_known(name: str) -> bool:
    """Whether the table has an operator ``name``, including those that techniques add."""
    if name not in OPERATORS:
        techniques.load()
    return name in OPERATORS


def is_selection(name: object) -> bool:
    """Whether ``name`` is an operator each of whose results is an element of its first argument, selected by
    position or by order. Such an operator can be applied to the quantized codes of numbers as well."""
    if not (isinstance(name, str) and is_known(name)):
        return False
    row = OPERATORS[name]
    return row.rounding is Rounding.NEVER and not row.fills and row.num_inputs is not None


def is_view(node: object) -> bool:
    """Whether ``node`` calls an operator whose result is its argument in another shape."""
    return (
        isinstance(node, Call) and isinstance(node.op, str) and is_known(node.op) and OPERATORS[node.op].view
    )


def is_homogeneous(node: object) -> bool:
    """Whether ``node`` calls an operator whose result is scaled if its arguments are scaled."""
    if not isinstance(node, Call) or not isinstance(node.op, str):
        return False
    return is_known(node.op) and OPERATORS[node.op].homogeneous


def fuse_class(node: object) -> Fuse | None:
    """The fusion class of ``node``, if it is a call of an operator."""
    return get(node.op, node.span).fuse if isinstance(node, Call) and isinstance(node.op, str) else None


def is_anchor(node: object) -> bool:
    """Whether ``node`` calls an anchor such as conv or dense, with which element-wise consumers are fused."""
    return fuse_class(node) is Fuse.OUT_ELEMWISE_FUSABLE


def names() -> list[str]:
    """The names of all operators, including those that techniques add."""
    techniques.load()
    return list(OPERATORS)


def check_attributes(row: Operator, call: Call) -> None:
    """Raise a TypeInferError if ``call`` has other attributes than ``row``, or one of a wrong kind."""
    if row.any_attrs:
        return
    if len(call.attrs) != len(row.kinds):
        raise wrong_names(row, call)
    for (name, value), (expected, default, kind) in zip(call.attrs, row.kinds, strict=True):
        if name != expected:
            raise wrong_names(row, call)
        unset = type(value) is type(default) and isinstance(value, (str, tuple)) and not (value or default)
        if value is not default and not unset and not kind.holds(value):
            raise TypeInferError(f"{row.name}: {name} is {show(value)}, expected {kind.expected}", call.span)


def wrong_names(row: Operator, call: Call) -> TypeInferError:
    """The error for a call whose attributes are not those of its operator, sorted by name."""
    given = [name for name, _ in call.attrs]
    for name in sorted({*given, *row.attrs}):
        if given.count(name) != (name in row.attrs):
            what = "missing" if name not in given else "given twice" if name in row.attrs else "unknown"
            return TypeInferError(
                f"{row.name}: attribute {name!r} is {what}", call.span, "relay.make completes and sorts them"
            )
    return TypeInferError(f"{row.name}: attributes are not sorted by name", call.span)


def defaults(row: Operator) -> Attrs:
    """The attributes of ``row`` that have defaults, as a Call stores them."""
    return canonical({name: value for name, value in row.attrs.items() if value is not REQUIRED})


def make(name: str, *args: Expr, span: Span | None = None, **attrs: Any) -> Call:
    """A call of the operator ``name``, with attributes checked and completed with defaults."""
    if not isinstance(span, Span):
        if span is not None:
            raise TypeInferError(f"make: span is {describe(span)}, expected a Span")
        span = Span.of_caller()
    return completed(name, args, attrs, span)


def completed(name: str, args: tuple[Expr, ...], attrs: Mapping[str, Any], span: Span) -> Call:
    """Like ``make``, with the attributes in a mapping."""
    row = get(name, span)
    unknown = sorted(set(attrs) - set(row.attrs))
    if unknown:
        raise TvmliteError(
            f"{name}: no attribute {unknown[0]!r}; it has {', '.join(row.attrs) or 'none'}", span
        )
    full = {**row.attrs, **attrs}
    missing = sorted(key for key, value in full.items() if value is REQUIRED)
    if missing:
        raise TvmliteError(f"{name}: attribute {missing[0]!r} must be given", span)
    expected = 1 if row.num_inputs is None else row.num_inputs
    if len(args) != expected:
        raise TvmliteError(f"{name}: takes {expected} arguments, {len(args)} given", span)
    return Call(name, args, canonical(full), span)
