"""Arithmetic on whole tensors: ``A + B`` is ``topi.add(A, B)``; ``A * 2`` and ``-A`` call TOPI as well.

Within the function of a ``te.compute``, a 0-dimensional tensor in an operation with a scalar expression
stands for its element."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr.operators import CONSTRUCTORS
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.marks import is_marked, is_marked_itself, is_own
from tvmlite.tvm.te import folding
from tvmlite.tvm.te.numbers import beside
from tvmlite.tvm.te.reads import is_declaring
from tvmlite.tvm.written import GE, GT

_NAMES = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "floordiv": "//"}
_TOPI = {"sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide"}


def _topi() -> Any:
    return importlib.import_module("tvmlite.tvm.topi")


def _operator(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    def apply(tensor: Tensor, other: Any) -> Any:
        other = beside(other, tensor, sys._getframe(1))
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
    """The scalar operator ``name``, which leaves a whole tensor as right operand to the tensor's operator."""
    ours = getattr(e.Operators, f"__{name}__")

    def apply(value: Any, other: Any) -> Any:
        whole = isinstance(other, Tensor) and (other.ndim or not is_declaring())
        return NotImplemented if whole else ours(value, beside(other, value, sys._getframe(1)))

    return apply


def _of_numbers(name: str) -> Callable[[Any, Any], Any]:
    """The reflected operator or comparison ``name`` of scalars, with TVM's dtypes for Python numbers."""
    ours = getattr(e.Operators, name)
    return lambda value, other: ours(value, beside(other, value, sys._getframe(1)))


def _reversed(symbol: str, kind: Any) -> Callable[[Any, Any], Any]:
    """``value > other``: a node of that form in a TVM program and for the values it made; in the compiler's
    own code, ``other < value``."""

    def apply(value: Any, other: Any) -> Any:
        frame = sys._getframe(1)
        made: Any = CONSTRUCTORS[symbol](beside(other, value, frame), value)
        written = isinstance(made, kind.ours) and not is_own(frame) and is_marked(made)
        return kind(made.b, made.a) if written else made

    return apply


def _compared(name: str) -> Callable[[Any, Any], Any]:
    """``==`` or ``!=``, which raises an error if a TVM program's value is compared with None, as in TVM."""
    ours = getattr(e.Operators, name)

    def apply(value: Any, other: Any) -> Any:
        if other is None and is_marked_itself(value):
            raise TensorExpressionError(
                f"{value} is compared with None", Span.of_caller(), hint="test for None with x is None"
            )
        return ours(value, beside(other, value, sys._getframe(1)))

    return apply


def enter() -> None:
    """Install these operators for tensors and scalars, and those of ``folding`` for scalars."""
    folding.enter()
    e.Operators.__gt__ = _reversed("<", GT)  # type: ignore[method-assign]
    e.Operators.__ge__ = _reversed("<=", GE)  # type: ignore[method-assign]
    e.Operators.__eq__ = _compared("__eq__")  # type: ignore[method-assign]
    e.Operators.__ne__ = _compared("__ne__")  # type: ignore[method-assign]
    for name in (*(f"__r{one}__" for one in _NAMES), "__lt__", "__le__"):
        setattr(e.Operators, name, _of_numbers(name))
    for name in _NAMES:
        setattr(e.Operators, f"__{name}__", _of_scalars(name))
        setattr(Tensor, f"__{name}__", _operator(name, False))
        setattr(Tensor, f"__r{name}__", _operator(name, True))
    Tensor.__neg__ = _negative  # type: ignore[attr-defined]
    Tensor.astype = _astype  # type: ignore[attr-defined]
