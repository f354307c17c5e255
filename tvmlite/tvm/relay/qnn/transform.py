"""TVM's ``relay.qnn.transform``: operators of quantized tensors written out in integers and floats."""

from tvmlite.relay import passes
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.transform.functions import of_ours


def CanonicalizeOps() -> Pass:
    """The pass that writes out the operators of quantized tensors."""
    return of_ours("CanonicalizeOps", 0, passes.canonicalize_qnn)


def Legalize() -> Pass:
    """As ``CanonicalizeOps``: which instructions multiply integers is decided when a model is compiled."""
    return of_ours("Legalize", 1, passes.canonicalize_qnn)
