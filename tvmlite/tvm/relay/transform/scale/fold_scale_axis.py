"""``FoldScaleAxis`` and its two halves."""

from __future__ import annotations

from tvmlite.tvm.ir.transform import Pass, Sequential
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.transform.fold_constant import FoldConstant
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.scale.backward import folded_backward
from tvmlite.tvm.relay.transform.scale.forward import folded_forward


def BackwardFoldScaleAxis() -> Pass:
    """A pass that folds a channel scale after a convolution or dense layer into its weights, past sums and,
    if the scale is positive, activations."""
    return over_functions("BackwardFoldScaleAxis", 3, lambda one: adopt(folded_backward(one)), infer=True)


def ForwardFoldScaleAxis() -> Pass:
    """A pass that folds a channel scale before convolutions and dense layers into their weights."""
    return over_functions("ForwardFoldScaleAxis", 3, lambda one: adopt(folded_forward(one)), infer=True)


def FoldScaleAxis() -> Pass:
    """A pass that folds scales into weights, first backward, then forward, and folds constants."""
    return Sequential([BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant()], 3, "FoldScaleAxis")
