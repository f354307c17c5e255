"""Passes of TVM's that are passes of ours."""

from __future__ import annotations

from tvmlite.relay import passes
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.transform.functions import of_ours


def CanonicalizeOps() -> Pass:
    """The pass that writes out operators that others are made of (``bias_add``)."""
    return of_ours("CanonicalizeOps", 3, passes.canonicalize_ops)
