"""TVM's passes that are implemented by our passes of the same name."""

from __future__ import annotations

from tvmlite.relay import passes
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.transform.functions import of_ours


def CanonicalizeOps() -> Pass:
    """A pass that decomposes operators such as ``bias_add`` into simpler ones."""
    return of_ours("CanonicalizeOps", 3, passes.canonicalize_ops)
