"""The operator table: everything the compiler knows of an operator, registered in one place.

An operator is its formula, a te compute, decorated with the rest::

    @operator("nn.relu", infer=same_as_first, fuse=Fuse.ELEMWISE, reference=relu_numpy)
    def relu(call: Call, data: te.Tensor) -> te.Tensor:
        return te.compute(data.shape, lambda *i: te.max(data[i], 0), name="relu", tag="elemwise")

``relay/ops/register.py`` has decorators for families of operators, some by the formula of one element.
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
    """How an operator fuses, from the most willing to the least; TVM's classes and order."""

    ELEMWISE = 0
    """Output element i reads input elements i only."""
    BROADCAST = 1
    """Each input is broadcast to the output, then element by element."""
    INJECTIVE = 2
    """Each output element reads some input elements, without reducing: reshape, transpose, slice."""
    COMM_REDUCE = 3
    """A reduction over axes of its input."""
    OUT_ELEMWISE_FUSABLE = 4
    """An anchor such as conv or dense: element-wise tails fuse onto its output."""
    TUPLE = 7
    """Several results."""
    OPAQUE = 8
    """Never fused."""


class Rounding(enum.Enum):
    """How often an element of the result is rounded on its way from the arguments, if they are floats."""

    MANY = enum.auto()
    """Sums and transcendental functions: implementations differ in last bits."""
    ONCE = enum.auto()
    """Once, as IEEE says, or not at all."""
    NEVER = enum.auto()
    """Not at all: elements are moved, or the greatest of some taken, and fixed numbers put beside them."""
    STEPS = enum.auto()
    """To a step: a last bit of the argument may decide a whole one."""


@dataclass(frozen=True)
class Operator:
    """One row of the table.

    - ``infer(call, *types)`` gives the type of the call, from its attributes and the types of its
      arguments (a variadic operator gets the fields of its one tuple argument spread out);
      raises TypeInferError with ``call.span``.
    - ``compute(call, *tensors)`` gives a te.Tensor, or a list of them for a tuple type.
    - ``reference(call, *arrays)`` gives the same in plain numpy; attributes arrive as numbers.
    - ``attrs`` are the attributes with their defaults (``REQUIRED`` where there is none).
    - ``open_attrs`` are the attributes in which a number may be a dimension: ``newshape``.
    - ``schedule`` is the kind of anchor that this operator is in a group: which templates it may have.
    - ``num_inputs`` is None for a variadic operator, which takes one relay Tuple.
    - ``tuples`` are the arguments of another operator that are relay Tuples; its functions get a tuple of
      types, tensors or arrays for each.
    - ``any_types``: an argument may be a tuple of tensors as well as a tensor.
    - ``parameters`` are the arguments and attributes in the order of TVM's Python function.
    - ``field``: that function gives this one of several results; None: all.
    - ``view``: the result is the argument in another shape, which outside a group takes no kernel.
    - ``rounding``: how often its floats are rounded.
    - ``fills``: some elements of the result are none of the arguments', as zeros beside a triangle are.
    - ``homogeneous``: the result is scaled, but for rounding, if all arguments that are floats are, by one
      number above 0.
    - ``may_stop``: a run may end at it, where what it assumes does not hold.
    - ``mark``: it computes nothing, and passes leave it for each other where it stands.
    - ``quantized``: it stands for an operator of integers, and ``canonicalize_qnn`` writes that out.
    - ``any_attrs``: calls may have any attributes, as those of operators of a program's own have.
    - ``evaluated(call, attrs, shape)`` gives what the reference gets of ``attrs``, those of ``call`` with
      numbers for dimensions, where a number as written and a dimension that comes to it differ; ``shape`` is
      that of the first argument.
    - ``kinds`` are the attributes sorted by name, as a Call has them, each with its default and its kind.
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
    """Register the decorated te compute as the operator ``name``. A second registration raises.

    ``attrs`` are the attributes by name: the default, REQUIRED, or what ``at_least`` and ``choice`` declare.
    ``parameters`` says the order for users where attributes stand between arguments; ``doc`` is the docstring
    of a compute that is made and not written. ``columns`` are other fields of ``Operator``.
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
    """The operator ``name``, or an UnsupportedError."""
    if not isinstance(name, str) or not is_known(name):
        raise UnsupportedError(f"operator {show(name)} is not in the table", span or Span.of_caller())
    return OPERATORS[name]


def is_known(name: str) -> bool:
    """Whether the table has an operator ``name``, those that techniques add included."""
    if name not in OPERATORS:
        techniques.load()
    return name in OPERATORS


def is_selection(name: object) -> bool:
    """Whether ``name`` is an operator each of whose results is one of the elements of its first argument,
    chosen by place or by order: what it does with numbers, it does with codes of them."""
    if not (isinstance(name, str) and is_known(name)):
        return False
    row = OPERATORS[name]
    return row.rounding is Rounding.NEVER and not row.fills and row.num_inputs is not None


def is_view(node: object) -> bool:
    """Whether ``node`` is a call of an operator whose result is its argument in another shape."""
    return (
        isinstance(node, Call) and isinstance(node.op, str) and is_known(node.op) and OPERATORS[node.op].view
    )


def is_homogeneous(node: object) -> bool:
    """Whether ``node`` is a call of an operator whose result is scaled if its arguments are."""
    if not isinstance(node, Call) or not isinstance(node.op, str):
        return False
    return is_known(node.op) and OPERATORS[node.op].homogeneous


def fuse_class(node: object) -> Fuse | None:
    """How ``node`` fuses, if it is a call of an operator."""
    return get(node.op, node.span).fuse if isinstance(node, Call) and isinstance(node.op, str) else None


def is_anchor(node: object) -> bool:
    """Whether ``node`` is a call of an operator such as conv or dense, whose element-wise tail joins it."""
    return fuse_class(node) is Fuse.OUT_ELEMWISE_FUSABLE


def names() -> list[str]:
    """The names of all operators, those that techniques add included."""
    techniques.load()
    return list(OPERATORS)


def check_attributes(row: Operator, call: Call) -> None:
    """Refuse a call of ``row`` that has other attributes than it takes, or one that is not of its kind."""
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
    """The error of a call whose attributes are not, sorted by name, those of its operator."""
    given = [name for name, _ in call.attrs]
    for name in sorted({*given, *row.attrs}):
        if given.count(name) != (name in row.attrs):
            what = "missing" if name not in given else "given twice" if name in row.attrs else "unknown"
            return TypeInferError(
                f"{row.name}: attribute {name!r} is {what}", call.span, "relay.make completes and sorts them"
            )
    return TypeInferError(f"{row.name}: attributes are not sorted by name", call.span)


def defaults(row: Operator) -> Attrs:
    """The attributes of an operator that have defaults, as a Call holds them."""
    return canonical({name: value for name, value in row.attrs.items() if value is not REQUIRED})


def make(name: str, *args: Expr, span: Span | None = None, **attrs: Any) -> Call:
    """A call of operator ``name``, its attributes checked and completed with their defaults."""
    if not isinstance(span, Span):
        if span is not None:
            raise TypeInferError(f"make: span is {describe(span)}, expected a Span")
        span = Span.of_caller()
    return completed(name, args, attrs, span)


def completed(name: str, args: tuple[Expr, ...], attrs: Mapping[str, Any], span: Span) -> Call:
    """As ``make``, of attributes in a table."""
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
