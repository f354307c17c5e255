"""``tvm.tir``: scalar expressions and statements, most of them those of ``tvmlite.te`` under TVM's names."""

from __future__ import annotations

import importlib
import typing
from enum import Enum

from tvmlite import te
from tvmlite.te.expr import Expr
from tvmlite.te.loop.ir import Stmt as Stmt
from tvmlite.tvm import attributes
from tvmlite.tvm.absent import lookup
from tvmlite.tvm.runtime.convert import const
from tvmlite.tvm.runtime.values import StringImm
from tvmlite.tvm.tir import calls, functions, nodes, parameters, text
from tvmlite.tvm.tir.axis import IterVar, SizeVar, Var
from tvmlite.tvm.tir.buffer import Buffer, decl_buffer
from tvmlite.tvm.tir.by_hand import ret, stmt_list, stmt_seq
from tvmlite.tvm.tir.function import PrimFunc
from tvmlite.tvm.tir.nodes import CommReducer, ForKind, Reduce
from tvmlite.tvm.tir.uncompiled import op_calls

PrimExpr = Expr
attributes.enter()
Expr.as_text = text.as_text  # type: ignore[method-assign]
Stmt.as_text = text.statement_text  # type: ignore[method-assign]


class CallEffectKind(Enum):
    """The kinds of side effects of an intrinsic."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    Opaque = 5
    ControlJump = 6


_OF_TE = """
    acos acosh asin asinh atan atanh cos cosh erf exp fma fmod log log2 log10 popcount rsqrt select sigmoid
    sin sinh sqrt tan tanh
""".split()
"""Names that are taken from ``tvmlite.te`` unchanged."""

_OF_FUNCTIONS = """
    all any call_intrin ceil ceildiv clz div exp10 floor floordiv floormod hypot if_then_else indexdiv
    indexmod infinity isnan ldexp log1p nearbyint nextafter q_multiply_shift round trace trunc truncdiv
    truncmod
""".split()
_OF_PARAMETERS = """
    abs add atan2 copysign isfinite isinf max max_value min min_value multiply pow power reinterpret subtract
    sum
""".split()
"""Functions that ``tvmlite.te`` has with other parameters."""
_OF_DECLARE = ("comm_reducer",)
_OF_CALLS = ("call_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "call_packed", "call_pure_extern")
_OF_NODES = """
    Add Allocate AllocateConst And AssertStmt AttrStmt Block BlockRealize Broadcast BufferLoad BufferRealize
    BufferRegion BufferStore Call Cast DeclBuffer Div EQ Evaluate FloatImm FloorDiv FloorMod For GE GT
    IfThenElse IntImm LE LT Let LetStmt Load MatchBufferRegion Max Min Mod Mul NE Not Or Prefetch ProducerLoad
    ProducerRealize ProducerStore Ramp Select SeqStmt Shuffle Store Sub While
""".split()
_OF_LAYOUTS = ("BijectiveLayout", "Layout", "bijective_layout", "layout")
_MODULES = """
    analysis buffer data_layout function ir_builder op stmt_functor
""".split()

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "Buffer",
    "CallEffectKind",
    "CommReducer",
    "ForKind",
    "IterVar",
    "PrimExpr",
    "PrimFunc",
    "Reduce",
    "SizeVar",
    "StringImm",
    "Var",
    "const",
    "decl_buffer",
    "ret",
    "stmt_list",
    "stmt_seq",
    *_OF_CALLS,
    *_OF_DECLARE,
    *_OF_TE,
    *op_calls.FUNCTIONS,
    *_OF_FUNCTIONS,
    *_OF_LAYOUTS,
    *_OF_NODES,
    *_OF_PARAMETERS,
    *_MODULES,
]


def __getattr__(name: str) -> typing.Any:
    if name == "Any":
        return importlib.import_module("tvmlite.tvm.relay.ty").Any
    if name in _OF_TE:
        return getattr(te, name)
    if name in _OF_FUNCTIONS:
        return getattr(functions, name)
    if name in _OF_PARAMETERS:
        return getattr(parameters, name)
    if name in _OF_DECLARE:
        return getattr(importlib.import_module("tvmlite.tvm.te.declare"), name)
    if name in _OF_NODES:
        return getattr(nodes, name)
    if name in _OF_LAYOUTS:
        return getattr(importlib.import_module("tvmlite.tvm.tir.data_layout"), name)
    if name in _OF_CALLS:
        return getattr(calls, name)
    if name in op_calls.FUNCTIONS:
        return op_calls.FUNCTIONS[name]
    if name in _MODULES:
        return importlib.import_module(f"tvmlite.tvm.tir.{name}")
    return lookup(__name__, name)


def __dir__() -> list[str]:
    return __all__
