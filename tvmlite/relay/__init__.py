"""The graph level: typed functional graphs, their operators, passes and frontends, under TVM's names.

Operators are attributes: ``relay.add(a, b)``, ``relay.nn.conv2d(x, w, strides=(1, 1))``; those in a
namespace are in ``relay.nn``, ``relay.image``, ``relay.vision``, ``relay.qnn``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay import builders, frontend, infer, interpret, op, ops, parser, passes, printer, transform
from tvmlite.relay.infer import type_of
from tvmlite.relay.ir import (
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
    constant,
    var,
)
from tvmlite.relay.op import make
from tvmlite.relay.parser import parse, parse_expr
from tvmlite.relay.printer import astext
from tvmlite.relay.types import FuncType, TensorType, TupleType, dim

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
    "transform",
    "type_of",
    "var",
    "vision",
]


def const(value: Any, dtype: str | None = None) -> Constant:
    """A constant of a number, a list or an array; Python's floats are float32, its ints int32, as in TVM."""
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        dtype = {"float64": "float32", "int64": "int32"}.get(array.dtype.name, array.dtype.name)
    return constant(value, dtype)


def __getattr__(name: str) -> Callable[..., Call]:
    if name not in op.OPERATORS:
        raise AttributeError(f"module 'tvmlite.relay' has no attribute {name!r}, nor has the operator table")
    return builders.builder(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in op.OPERATORS if "." not in name)})
