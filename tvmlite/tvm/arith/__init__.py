"""``tvm.arith``: simplification and analysis of int expressions: bounds, remainders and sets."""

from __future__ import annotations

from tvmlite.tvm.absent import refusing
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

__getattr__ = refusing(__name__)
