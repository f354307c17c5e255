"""The passes under TVM's names: ``relay.transform.FoldConstant()(mod)``.

TVM's further options (operators to skip, the least number of branches to combine, a required level) are not
supported: the passes decide by profitability. A pass takes a module and returns one.
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
    """``one`` under its own name; an argument that is not a module is an error at the caller's line."""

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


def _constructor(name: str, one: Pass) -> Callable[[], Pass]:
    """A function that returns the pass ``one``, with TVM's ``name`` and the documentation of ``one``."""

    def construct() -> Pass:
        return _checked(one)

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = one.__doc__
    return construct


InferType = _constructor("InferType", passes.infer_types)
FoldConstant = _constructor("FoldConstant", passes.fold_constant)
SimplifyInference = _constructor("SimplifyInference", passes.simplify_inference)
FoldScaleAxis = _constructor("FoldScaleAxis", passes.fold_scale_axis)
EliminateCommonSubexpr = _constructor("EliminateCommonSubexpr", passes.eliminate_common_subexpr)
DeadCodeElimination = _constructor("DeadCodeElimination", passes.dead_code)
SimplifyExpr = _constructor("SimplifyExpr", passes.simplify_expr)
RecognizeNorms = _constructor("RecognizeNorms", passes.recognize_norms)
RecognizeSoftmax = _constructor("RecognizeSoftmax", passes.recognize_softmax)
RecognizeActivations = _constructor("RecognizeActivations", passes.recognize_activations)
RecognizeAttention = _constructor("RecognizeAttention", passes.recognize_attention)
CanonicalizeOps = _constructor("CanonicalizeOps", passes.canonicalize_ops)
CanonicalizeQnnOps = _constructor("CanonicalizeQnnOps", passes.canonicalize_qnn)
CombineParallelDense = _constructor("CombineParallelDense", passes.combine_parallel_dense)
CombineParallelConv2D = _constructor("CombineParallelConv2D", passes.combine_parallel_conv2d)
FastMath = _constructor("FastMath", passes.fast_math)


def ToMixedPrecision(mixed_precision_type: str = "float16") -> Pass:
    """Compute matrix products and convolutions in 16-bit floats."""
    return _checked(passes.to_mixed_precision(mixed_precision_type))


def AlterOpLayout(target: str | Target = "native") -> Pass:
    """Block the channels of convolution networks by the vector width of ``target``."""
    return _checked(passes.by_name(Target.parse(target))["alter_op_layout"])


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Fuse operators into groups; at level 0 each operator is a group of its own."""
    if not is_integer(fuse_opt_level):
        raise TypeInferError(
            f"FuseOps: fuse_opt_level is {describe(fuse_opt_level)}, expected an integer", Span.of_caller()
        )
    return _checked(passes.fuse if fuse_opt_level != 0 else passes.separate)


def Sequential(passes: Sequence[Pass]) -> Pass:
    """A pass that runs ``passes`` in order."""
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
    "CanonicalizeQnnOps",
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
