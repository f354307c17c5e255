"""The graph IR: functional, typed, shared. Passes turn one expression into another.

A model is a ``Module`` whose function ``main`` computes its outputs from its parameters. Nodes are
immutable, so the type of a node is a function of the node: ``infer.type_of`` computes and remembers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tvmlite.core.node import Node
from tvmlite.core.span import Span
from tvmlite.relay.types import Type, tensor_type
from tvmlite.te import expr as te

Attrs: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Expr(Node):
    """A relay expression. ``span`` is where the user wrote it: a Python line or an ONNX node."""

    def __str__(self) -> str:
        from tvmlite.relay.printer import show  # the printer knows the nodes, not they it

        return show(self)


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A function's parameter or a Let's variable, with its type. Equal only to itself."""

    name: str
    type: Type
    span: Span | None = None
    identity: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Constant(Expr):
    """An array known at compile time. ``data`` is never written."""

    data: np.ndarray
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """``op`` applied to ``args``.

    ``op`` is an operator's name, or a Function (a fused group). ``attrs`` are fixed at compile time: pairs
    sorted by name, values ints, floats, strings, bools, None, te expressions over dimensions, and
    tuples of those.
    """

    op: str | Function
    args: tuple[Expr, ...]
    attrs: Attrs = ()
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("args",)

    def __getitem__(self, name: str) -> Any:
        """The attribute ``name``."""
        for key, value in self.attrs:
            if key == name:
                return value
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute ``name``, or ``default``."""
        for key, value in self.attrs:
            if key == name:
                return value
        return default


@dataclass(frozen=True, eq=False)
class Function(Expr):
    """``body`` of ``params``. A fused group has the attribute ``Primitive`` = 1."""

    params: tuple[Var, ...]
    body: Expr
    attrs: Attrs = ()
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("body",)
    binders: ClassVar[tuple[str, ...]] = ("params",)


@dataclass(frozen=True, eq=False)
class Let(Expr):
    """``body`` with ``var`` standing for ``value``, which is evaluated once, before it."""

    var: Var
    value: Expr
    body: Expr
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("value", "body")
    binders: ClassVar[tuple[str, ...]] = ("var",)


@dataclass(frozen=True, eq=False)
class If(Expr):
    """``then`` or ``otherwise``, by a rank-0 bool; only one is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("condition", "then", "otherwise")


@dataclass(frozen=True, eq=False)
class Tuple(Expr):
    """Several values as one."""

    fields: tuple[Expr, ...]
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("fields",)


@dataclass(frozen=True, eq=False)
class TupleGetItem(Expr):
    """The ``index``-th field of a tuple."""

    value: Expr
    index: int
    span: Span | None = None
    children_in: ClassVar[tuple[str, ...]] = ("value",)


@dataclass(frozen=True, eq=False)
class Module(Node):
    """Functions by name; ``main`` is the model. ``output_names`` name the outputs, where known."""

    functions: Mapping[str, Function]
    output_names: tuple[str, ...] = ()
    attrs: Attrs = field(default=())

    @property
    def main(self) -> Function:
        """The model's function."""
        return self.functions["main"]

    def with_main(self, main: Function) -> Module:
        """This module with another ``main``; the same object if it is the same."""
        if main is self.main:
            return self
        return Module({**self.functions, "main": main}, self.output_names, self.attrs)

    def __getitem__(self, name: str) -> Function:
        return self.functions[name]

    def __str__(self) -> str:
        from tvmlite.relay.printer import show

        return show(self)


def call(op: str | Function, *args: Expr, span: Span | None = None, **attrs: Any) -> Call:
    """A Call with ``attrs`` in canonical form: sorted, lists as tuples."""
    return Call(op, args, canonical(attrs), span)


def canonical(attrs: Mapping[str, Any]) -> Attrs:
    """``attrs`` as a Call holds them."""
    return tuple(sorted((name, _plain(value)) for name, value in attrs.items()))


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_plain(v) for v in value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, te.Const):
        return bool(value.value) if value.dtype == "bool" else value.value
    return value


def constant(value: Any, dtype: str | None = None) -> Constant:
    """A Constant of anything numpy takes."""
    return Constant(np.asarray(value, dtype=dtype))


def var(name: str, shape: Any = None, dtype: str = "float32", type: Type | None = None) -> Var:
    """A parameter: ``relay.var("x", shape=(1, 3, "h", "w"))``, or with a ``type``.

    A string in ``shape`` is the dimension of that name (``types.dim``).
    """
    return Var(name, type if type is not None else tensor_type(() if shape is None else shape, dtype))
