"""The types of scalars and of pointers, which TVM gives variables; a variable of ours keeps it as a note."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.te import expr as e


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


def pointer_var(name: str, annotation: PointerType) -> PointerVar:
    """A variable of the type ``annotation``; its dtype is TVM's ``handle``."""
    made = PointerVar(name, "handle", type_annotation=annotation)
    object.__setattr__(made, "lanes", 1)
    return made
