"""The types of scalars and of pointers, which TVM gives variables; a variable of ours keeps it as a note."""

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
    """The type of the address of elements of ``element_type`` in memory of ``storage_scope``."""

    element_type: PrimType
    storage_scope: str = ""


@dataclass(frozen=True, eq=False)
class PointerVar(e.Var):
    """A variable that stands for an address, such as ``decl_buffer(data=...)`` is given."""

    type_annotation: PointerType | None = None

    def __post_init__(self) -> None:
        pass


def pointer_var(name: str, annotation: PointerType | None = None) -> PointerVar:
    """A variable of the type ``annotation``, or for any address; its dtype is TVM's ``handle``."""
    made = PointerVar(name, "handle", type_annotation=annotation)
    object.__setattr__(made, "lanes", 1)
    return mark(made)


def variable(make: Callable[..., e.Var], name: str, dtype: Any) -> e.Var:
    """The variable that ``make`` makes, of TVM's ``dtype``: a dtype, a vector's, or a type."""
    if isinstance(dtype, PointerType) or dtype == "handle":
        return pointer_var(name, dtype if isinstance(dtype, PointerType) else None)
    kind = long_dtype(dtype.dtype if isinstance(dtype, PrimType) else dtype)
    if not isinstance(kind, str):
        raise UnsupportedError(f"Var {name!r}: variables of type {dtype} are not supported", Span.of_caller())
    element, lanes = e.lanes_of(kind)
    return mark(make(name, element) if lanes == 1 else e.Var(name, element, lanes))
