"""The passes under TVM's names: ``relay.transform.FoldConstant()(mod)``.

TVM's further options (which operators to skip, from how many branches on to combine, a level that is
required) are not taken: the passes decide by what is worth while. A pass takes a module and gives one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir.attributes import describe, is_integer
from tvmlite.relay.ir.nodes import Module

Pass = Callable[[Module], Module]


def _checked(one: Pass) -> Pass:
    """``one`` under its own name, with an error at the caller's line for what is no module."""

    def run(module: Any) -> Module:
        if not isinstance(module, Module):
            raise TypeInferError(
                f"{one.__name__}: module is {describe(module)}, expected a relay module",
                Span.of_caller(),
                hint="relay.Module.from_expr(expr) makes one of an expression or a function",
            )
        return one(module)

    run.__name__, run.__doc__ = one.__name__, one.__doc__
    return run


def InferType() -> Pass:
    """Checks that every expression has a type."""
    return _checked(passes.infer_types)


def FoldConstant() -> Pass:
    """Evaluates what depends on constants only."""
    return _checked(passes.fold_constant)


def SimplifyInference() -> Pass:
    """Takes batch normalisation and dropout apart."""
    return _checked(passes.simplify_inference)


def FoldScaleAxis() -> Pass:
    """Moves scales into the weights of convolutions and dense layers."""
    return _checked(passes.fold_scale_axis)


def EliminateCommonSubexpr() -> Pass:
    """Computes equal expressions once."""
    return _checked(passes.eliminate_common_subexpr)


def DeadCodeElimination() -> Pass:
    """Drops what no result needs."""
    return _checked(passes.dead_code)


def SimplifyExpr() -> Pass:
    """Small algebra."""
    return _checked(passes.simplify_expr)


def RecognizeNorms() -> Pass:
    """Finds layer and RMS normalisations that are written out."""
    return _checked(passes.recognize_norms)


def RecognizeSoftmax() -> Pass:
    """Finds softmax that is written out."""
    return _checked(passes.recognize_softmax)


def RecognizeActivations() -> Pass:
    """Finds gelu and its like where they are written out."""
    return _checked(passes.recognize_activations)


def RecognizeAttention() -> Pass:
    """Finds attention that is written out."""
    return _checked(passes.recognize_attention)


def CanonicalizeOps() -> Pass:
    """Writes out operators that are shorthands."""
    return _checked(passes.canonicalize_ops)


def CombineParallelDense() -> Pass:
    """Makes dense layers of the same data one."""
    return _checked(passes.combine_parallel_dense)


def CombineParallelConv2D() -> Pass:
    """Makes convolutions of the same data one."""
    return _checked(passes.combine_parallel_conv2d)


def FastMath() -> Pass:
    """Quicker, less exact functions."""
    return _checked(passes.fast_math)


def ToMixedPrecision(mixed_precision_type: str = "float16") -> Pass:
    """Matrix products and convolutions in 16-bit floats."""
    return _checked(passes.to_mixed_precision(mixed_precision_type))


def AlterOpLayout(target: str | Target = "native") -> Pass:
    """Puts the channels of convolution networks in blocks of one vector of ``target``."""
    return _checked(passes.by_name(Target.parse(target))["alter_op_layout"])


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Gathers operators into groups; at level 0 each is a group of its own."""
    if not is_integer(fuse_opt_level):
        raise TypeInferError(
            f"FuseOps: fuse_opt_level is {describe(fuse_opt_level)}, expected an integer", Span.of_caller()
        )
    return _checked(passes.fuse if fuse_opt_level != 0 else passes.separate)


def Sequential(passes: Sequence[Pass]) -> Pass:
    """One pass that carries out ``passes`` in order."""
    if not isinstance(passes, (list, tuple)) or not all(map(callable, passes)):
        raise TypeInferError(
            f"Sequential: passes are {describe(passes)}, expected a list of passes", Span.of_caller()
        )

    def sequential(module: Module) -> Module:
        for one in passes:
            module = one(module)
        return module

    return _checked(sequential)


__all__ = [
    "AlterOpLayout",
    "CanonicalizeOps",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "DeadCodeElimination",
    "EliminateCommonSubexpr",
    "FastMath",
    "FoldConstant",
    "FoldScaleAxis",
    "FuseOps",
    "InferType",
    "RecognizeActivations",
    "RecognizeAttention",
    "RecognizeNorms",
    "RecognizeSoftmax",
    "Sequential",
    "SimplifyExpr",
    "SimplifyInference",
    "ToMixedPrecision",
]
