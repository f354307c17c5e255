"""``tvm.tir.analysis``: whether expressions have one form."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.attributes import structurally_equal


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions are of the same form, variables being themselves."""
    return structurally_equal(lhs, rhs)


__getattr__ = refusing(__name__)
