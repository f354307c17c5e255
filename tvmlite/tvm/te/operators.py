"""Arithmetic of whole tensors: ``A + B`` is ``topi.add(A, B)``, ``A * 2`` and ``-A`` as well.

A tensor without axes is a number in the function of a ``te.compute``: with a scalar expression on the other
side its element is meant there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tvmlite.te import expr as e
from tvmlite.te.expr.operators import CONSTRUCTORS
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.te import folding
from tvmlite.tvm.te.reads import is_declaring

_NAMES = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "floordiv": "//"}
_TOPI = {"sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide"}


def _topi() -> Any:
    return importlib.import_module("tvmlite.tvm.topi")


def _operator(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    def apply(tensor: Tensor, other: Any) -> Any:
        scalar = isinstance(other, e.Operators) and not isinstance(other, e.Const)
        if tensor.ndim == 0 and scalar and is_declaring():
            pair = (other, tensor.as_expr()) if swapped else (tensor.as_expr(), other)
            return CONSTRUCTORS[_NAMES[name]](*pair)
        make = getattr(_topi(), _TOPI.get(name, name))
        return make(other, tensor) if swapped else make(tensor, other)

    return apply


def _negative(tensor: Tensor) -> Tensor:
    return _topi().negative(tensor)


def _astype(tensor: Tensor, dtype: str, span: Any = None) -> Tensor:
    """The tensor converted to ``dtype``."""
    return _topi().cast(tensor, dtype)


def _of_scalars(name: str) -> Callable[[Any, Any], Any]:
    """The operator of scalars, which leaves a tensor with axes on its right to the tensor."""
    ours = getattr(e.Operators, f"__{name}__")

    def apply(value: Any, other: Any) -> Any:
        whole = isinstance(other, Tensor) and (other.ndim or not is_declaring())
        return NotImplemented if whole else ours(value, other)

    return apply


def enter() -> None:
    """Give tensors these operators, and scalars those of ``folding``."""
    folding.enter()
    for name in _NAMES:
        setattr(e.Operators, f"__{name}__", _of_scalars(name))
        setattr(Tensor, f"__{name}__", _operator(name, False))
        setattr(Tensor, f"__r{name}__", _operator(name, True))
    Tensor.__neg__ = _negative  # type: ignore[attr-defined]
    Tensor.astype = _astype  # type: ignore[attr-defined]
