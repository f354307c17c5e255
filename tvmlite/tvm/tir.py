"""TVM's ``tvm.tir``: scalar expressions and statements, most of which are ``te``'s under the same names."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tvmlite import te
from tvmlite.te.expr import Call as Call
from tvmlite.te.expr import Cast as Cast
from tvmlite.te.expr import Const as Const
from tvmlite.te.expr import Expr
from tvmlite.te.expr import SizeVar as SizeVar
from tvmlite.te.expr import Var as Var
from tvmlite.te.intrin import ir_builder as ir_builder
from tvmlite.te.tensor.tensor import IterVar as IterVar

Select, PrimExpr = te.select, Expr


class CallEffectKind(Enum):
    """What an intrinsic does besides giving a value."""

    Pure = 0
    Opaque = 1


pow = te.power


def IntImm(dtype: str, value: int) -> Const:
    """A whole number."""
    return te.const(value, dtype)


FloatImm = IntImm

_OF_TE = """
    abs acos acosh all any asin asinh atan atan2 atanh call_extern call_intrin call_llvm_intrin
    call_llvm_pure_intrin call_packed call_pure_extern ceil clz comm_reducer const copysign cos cosh
    decl_buffer div erf exp floor floordiv floormod fmod if_then_else indexdiv indexmod infinity
    isfinite isinf isnan likely log log2 log10 max max_value min min_value nearbyint popcount power
    reinterpret round rsqrt select sigmoid sin sinh sqrt sum tan tanh trunc truncdiv truncmod
""".split()
"""What ``te`` has under the same name."""

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *("Call", "CallEffectKind", "Cast", "Const", "FloatImm", "IntImm", "IterVar", "PrimExpr", "Select"),
    *("SizeVar", "Var", "ir_builder", "pow"),
    *_OF_TE,
]


def __getattr__(name: str) -> Any:
    if name in _OF_TE:
        return getattr(te, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
