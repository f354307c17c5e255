"""The graph level: typed functional graphs, their operators, passes and frontends, under TVM's names.

Operators are attributes: ``relay.add(a, b)``, ``relay.nn.conv2d(x, w, strides=(1, 1))``; those in a
namespace are in ``relay.nn``, ``relay.image``, ``relay.vision``, ``relay.qnn``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay import frontend, ops, passes, transform
from tvmlite.relay.ir import attributes, builders, infer, interpret, op, types
from tvmlite.relay.ir import overloads as _overloads  # noqa: F401  (adds Python's operators to Expr)
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    LetDims,
    Loop,
    Module,
    Tuple,
    TupleGetItem,
    Var,
)
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import FuncType, TensorType, TupleType, dim
from tvmlite.relay.quantize.quantize import QuantizedModule, quantize
from tvmlite.relay.text import notebook as _notebook  # noqa: F401  (sets Module.as_html)
from tvmlite.relay.text import parser, printer
from tvmlite.relay.text.parser import parse, parse_expr
from tvmlite.relay.text.printer import astext

IRModule = Module

nn = builders.Namespace("nn")
image = builders.Namespace("image")
vision = builders.Namespace("vision")
qnn = builders.Namespace("qnn")

__all__ = [
    "Call",
    "Constant",
    "Expr",
    "FuncType",
    "Function",
    "IRModule",
    "If",
    "Let",
    "LetDims",
    "Loop",
    "Module",
    "QuantizedModule",
    "TensorType",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "Var",
    "astext",
    "const",
    "dim",
    "frontend",
    "image",
    "infer",
    "interpret",
    "make",
    "nn",
    "op",
    "ops",
    "parse",
    "parse_expr",
    "parser",
    "passes",
    "printer",
    "qnn",
    "quantize",
    "transform",
    "type_of",
    "var",
    "vision",
]


def var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: Any = "float32") -> Var:
    """A variable of a type, or of a ``shape`` and ``dtype``: ``relay.var("x", shape=(1, 3, "h", "w"))``.

    ``type_annotation`` is a type, a dtype's name (for a scalar) or, unlike in TVM, a shape. Without it and
    ``shape`` the variable is a scalar (TVM infers its type). A string in a shape names a dimension.
    """
    span = Span.of_caller()
    if type_annotation is not None and shape is not None:
        raise TypeInferError(
            "var: type_annotation and shape are both given, expected one",
            span,
            hint='write relay.var("x", shape=(2, 3), dtype="float32")',
        )
    if isinstance(type_annotation, types.TYPES):
        return Var(name_hint, type_annotation, span)
    if isinstance(type_annotation, str):
        return Var(name_hint, TensorType((), type_annotation), span)
    shape = type_annotation if shape is None else shape
    return Var(name_hint, types.tensor_type(() if shape is None else shape, dtype), span)


def const(value: Any, dtype: Any = None) -> Constant:
    """A constant from a number, a list or an array; Python's floats become float32, ints int32, as in TVM.

    Without a ``dtype``, an array keeps its own.
    """
    span = Span.of_caller()
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise TypeInferError(f"const: value is no array: {error}", span) from None
    if array.dtype.kind not in "biufV" or (array.dtype.kind == "V" and not dtypes.is_known(array.dtype.name)):
        raise TypeInferError(
            f"const: value is {attributes.show(value)}, expected a number, or an array of numbers", span
        )
    if dtype is None:
        numpy_value = isinstance(value, (np.ndarray, np.generic))
        dtype = array.dtype.name
        dtype = dtype if numpy_value else {"float64": "float32", "int64": "int32"}.get(dtype, dtype)
    wanted = dtypes.numpy_of(dtypes.check(dtype))
    with np.errstate(all="ignore"):
        made = array.astype(wanted)
    if not isinstance(value, np.ndarray) and array.dtype.kind in "iu" and not np.array_equal(made, array):
        raise TypeInferError(f"const: value is {attributes.show(value)}, which no {dtype} can be", span)
    return Constant(made, span)


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in op.OPERATORS:
        raise AttributeError(f"module 'tvmlite.relay' has no attribute {name!r}, nor has the operator table")
    return builders.builder(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in op.OPERATORS if "." not in name)})
