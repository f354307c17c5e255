"""TVM's types of scalar and pointer variables; pointer variables keep theirs as ``type_annotation``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.tvm.marks import mark
from tvmlite.tvm.runtime.convert import long_dtype


@dataclass(frozen=True)
class PrimType:
    """The type of a scalar of ``dtype``."""

    dtype: str


@dataclass(frozen=True)
class PointerType:
    """The type of a pointer to elements of ``element_type`` in memory of ``storage_scope``."""

    element_type: PrimType
    storage_scope: str = ""


@dataclass(frozen=True, eq=False)
class PointerVar(e.Var):
    """A variable for an address, as passed to ``decl_buffer(data=...)``."""

    type_annotation: PointerType | None = None

    def __post_init__(self) -> None:
        pass


def pointer_var(name: str, annotation: PointerType | None = None) -> PointerVar:
    """A pointer variable of the type ``annotation``, if given. Its dtype is TVM's ``handle``."""
    made = PointerVar(name, "handle", type_annotation=annotation)
    object.__setattr__(made, "lanes", 1)
    return mark(made)


def variable(make: Callable[..., e.Var], name: str, dtype: Any) -> e.Var:
    """The variable ``make(name, dtype)``, where ``dtype`` may also be a vector dtype, a ``PrimType`` or a
    ``PointerType``."""
    if isinstance(dtype, PointerType) or dtype == "handle":
        return pointer_var(name, dtype if isinstance(dtype, PointerType) else None)
    kind = long_dtype(dtype.dtype if isinstance(dtype, PrimType) else dtype)
    if not isinstance(kind, str):
        raise UnsupportedError(f"Var {name!r}: variables of type {dtype} are not supported", Span.of_caller())
    element, lanes = e.lanes_of(kind)
    return mark(make(name, element) if lanes == 1 else e.Var(name, element, lanes))
