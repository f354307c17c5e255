"""``relay.qnn.transform``: passes that decompose or replace operators on quantized tensors."""

from tvmlite.relay import passes
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.transform import legalize
from tvmlite.tvm.relay.transform.functions import of_ours


def CanonicalizeOps() -> Pass:
    """A pass that decomposes operators on quantized tensors into integer and float operators."""
    return of_ours("CanonicalizeOps", 0, passes.canonicalize_qnn)


def Legalize() -> Pass:
    """A pass that replaces calls by the program's rules in the operator attribute ``FTVMQnnLegalize``. There
    are no built-in rules: the instructions for integer products are chosen when a model is compiled."""
    return legalize.Legalize("FTVMQnnLegalize")
