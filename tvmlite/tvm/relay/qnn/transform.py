"""TVM's ``relay.qnn.transform``: operators of quantized tensors written out in integers and floats."""

from tvmlite.relay import passes
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.transform import legalize
from tvmlite.tvm.relay.transform.functions import of_ours


def CanonicalizeOps() -> Pass:
    """The pass that writes out the operators of quantized tensors."""
    return of_ours("CanonicalizeOps", 0, passes.canonicalize_qnn)


def Legalize() -> Pass:
    """The pass that asks rules of programs, the attribute ``FTVMQnnLegalize`` of operators, for other calls.
    There are no others: which instructions multiply integers is decided when a model is compiled."""
    return legalize.Legalize("FTVMQnnLegalize")
