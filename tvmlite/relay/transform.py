"""The passes under TVM's names: ``relay.transform.FoldConstant()(mod)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvmlite.core.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir import Module

Pass = Callable[[Module], Module]


def InferType() -> Pass:
    """Checks that every expression has a type."""
    return passes.infer_types


def FoldConstant() -> Pass:
    """Evaluates what depends on constants only."""
    return passes.fold_constant


def SimplifyInference() -> Pass:
    """Takes batch normalisation and dropout apart."""
    return passes.simplify_inference


def FoldScaleAxis() -> Pass:
    """Moves scales into the weights of convolutions and dense layers."""
    return passes.fold_scale_axis


def EliminateCommonSubexpr() -> Pass:
    """Computes equal expressions once."""
    return passes.eliminate_common_subexpr


def DeadCodeElimination() -> Pass:
    """Drops what no result needs."""
    return passes.dead_code


def SimplifyExpr() -> Pass:
    """Small algebra."""
    return passes.simplify_expr


def RecognizeNorms() -> Pass:
    """Finds layer and RMS normalisations that are written out."""
    return passes.recognize_norms


def RecognizeSoftmax() -> Pass:
    """Finds softmax that is written out."""
    return passes.recognize_softmax


def RecognizeActivations() -> Pass:
    """Finds gelu and its like where they are written out."""
    return passes.recognize_activations


def RecognizeAttention() -> Pass:
    """Finds attention that is written out."""
    return passes.recognize_attention


def CanonicalizeOps() -> Pass:
    """Writes out operators that are shorthands."""
    return passes.canonicalize_ops


def CombineParallelDense() -> Pass:
    """Makes dense layers of the same data one."""
    return passes.combine_parallel_dense


def CombineParallelConv2D() -> Pass:
    """Makes convolutions of the same data one."""
    return passes.combine_parallel_conv2d


def FastMath() -> Pass:
    """Quicker, less exact functions."""
    return passes.fast_math


def ToMixedPrecision(mixed_precision_type: str = "float16") -> Pass:
    """Matrix products and convolutions in 16-bit floats."""
    return passes.to_mixed_precision(mixed_precision_type)


def AlterOpLayout(target: str | Target = "native") -> Pass:
    """Puts the channels of convolution networks in blocks of one vector of ``target``."""
    return passes.alter_op_layout(Target.parse(target))


def FuseOps(fuse_opt_level: int = 1) -> Pass:
    """Gathers operators into groups; at level 0 each is a group of its own."""
    return passes.fuse if fuse_opt_level != 0 else passes.separate


def Sequential(transforms: Sequence[Pass]) -> Pass:
    """One pass that carries out ``transforms`` in order."""

    def sequential(module: Module) -> Module:
        for transform in transforms:
            module = transform(module)
        return module

    return sequential
