"""The types of relay expressions: tensors whose dimensions may carry names, tuples, functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

from tvmlite.core import dtype as dtypes
from tvmlite.te.expr import Expr, SizeVar

Dim: TypeAlias = int | Expr
"""An extent: an int, or an int64 expression over named dimensions (``SizeVar``s)."""

Shape: TypeAlias = tuple[Dim, ...]


@dataclass(frozen=True, eq=False)
class TensorType:
    """An array's shape and dtype."""

    shape: Shape
    dtype: str = "float32"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every extent is a number."""
        return all(isinstance(d, int) for d in self.shape)


@dataclass(frozen=True, eq=False)
class TupleType:
    """Several types as one."""

    fields: tuple[Type, ...]


@dataclass(frozen=True, eq=False)
class FuncType:
    """The type of a function."""

    params: tuple[Type, ...]
    result: Type


Type: TypeAlias = Union[TensorType, TupleType, FuncType]

_dims: dict[str, SizeVar] = {}


def dim(name: str) -> SizeVar:
    """The dimension called ``name``: one object a name in the whole process.

    Two models that both call a dimension ``batch`` share the object and nothing else: its value
    is bound anew by each call of a compiled function.
    """
    if name not in _dims:
        _dims[name] = SizeVar(name, "int64")
    return _dims[name]


def tensor_type(shape: Sequence[int | str | Expr], dtype: str = "float32") -> TensorType:
    """A TensorType; strings in ``shape`` are named dimensions."""
    extents = tuple(dim(d) if isinstance(d, str) else d if isinstance(d, Expr) else int(d) for d in shape)
    return TensorType(extents, dtypes.check(dtype))
