"""``tvm.arith``: what is known of expressions of ints: simpler forms, bounds, remainders, sets."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import no_name
from tvmlite.tvm.arith.analyzer import Analyzer
from tvmlite.tvm.arith.const_int_bound import ConstIntBound
from tvmlite.tvm.arith.deduce import deduce_bound, detect_clip_bound, detect_linear_equation
from tvmlite.tvm.arith.int_set import IntervalSet, IntSet
from tvmlite.tvm.arith.modular_set import ModularSet

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntSet",
    "IntervalSet",
    "ModularSet",
    "deduce_bound",
    "detect_clip_bound",
    "detect_linear_equation",
]


def _absent(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedError(
            f"tvm.arith.{name} is not supported",
            Span.of_caller(),
            hint="tvm.arith.Analyzer() simplifies expressions and gives their bounds",
        )

    refuse.__name__ = name
    return refuse


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise no_name(__name__, name)
    return _absent(name)
