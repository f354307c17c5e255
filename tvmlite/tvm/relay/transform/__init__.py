"""``relay.transform``: passes over graphs, with TVM's names."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.absent import lookup
from tvmlite.tvm.ir.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    PrintIR,
    Sequential,
    module_pass,
)
from tvmlite.tvm.relay.op import register_fake_quantization_to_integer
from tvmlite.tvm.relay.transform.absent import ABSENT
from tvmlite.tvm.relay.transform.algebra.atrous import FlattenAtrousConv
from tvmlite.tvm.relay.transform.algebra.combine import (
    BatchingOps,
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from tvmlite.tvm.relay.transform.algebra.padding import FoldExplicitPadding
from tvmlite.tvm.relay.transform.algebra.simplify import SimplifyExpr
from tvmlite.tvm.relay.transform.algebra.split_args import SplitArgs
from tvmlite.tvm.relay.transform.dynamic_to_static import DynamicToStatic
from tvmlite.tvm.relay.transform.fold_constant import FoldConstant, FoldConstantExpr
from tvmlite.tvm.relay.transform.functions import function_pass
from tvmlite.tvm.relay.transform.fusion.fuse_ops import FuseOps
from tvmlite.tvm.relay.transform.gradient.reverse import FirstOrderGradient, gradient
from tvmlite.tvm.relay.transform.infer_type import InferType, InferTypeLocal
from tvmlite.tvm.relay.transform.inference import DivToMul, FastMath, SimplifyInference
from tvmlite.tvm.relay.transform.input_extents import ChangeBatch, FlexibleShapeDispatch
from tvmlite.tvm.relay.transform.layout.alter_op_layout import AlterOpLayout
from tvmlite.tvm.relay.transform.layout.convert_layout import ConvertLayout, LayoutConfig
from tvmlite.tvm.relay.transform.legalize import Legalize
from tvmlite.tvm.relay.transform.let_passes import DeadCodeElimination, EliminateCommonSubexpr
from tvmlite.tvm.relay.transform.merge_composite import MergeComposite
from tvmlite.tvm.relay.transform.normal_forms import (
    ToANormalForm,
    ToANormalFormExpr,
    ToBasicBlockNormalForm,
    ToGraphNormalForm,
)
from tvmlite.tvm.relay.transform.ours import CanonicalizeOps
from tvmlite.tvm.relay.transform.precision.fake_quantization import FakeQuantizationToInteger
from tvmlite.tvm.relay.transform.precision.recast import recast
from tvmlite.tvm.relay.transform.precision.to_mixed_precision import ToMixedPrecision
from tvmlite.tvm.relay.transform.regions.annotate import AnnotateTarget
from tvmlite.tvm.relay.transform.regions.merge import MergeCompilerRegions
from tvmlite.tvm.relay.transform.regions.partition import PartitionGraph
from tvmlite.tvm.relay.transform.scale.fold_scale_axis import (
    BackwardFoldScaleAxis,
    FoldScaleAxis,
    ForwardFoldScaleAxis,
)
from tvmlite.tvm.relay.transform.structure import (
    AnnotateSpans,
    CanonicalizeCast,
    DefuseOps,
    EtaExpand,
    Inline,
    LambdaLift,
    LazyGradientInit,
    RemoveUnusedFunctions,
)

__all__ = [
    "AlterOpLayout",
    "AnnotateSpans",
    "AnnotateTarget",
    "BackwardFoldScaleAxis",
    "BatchingOps",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "ChangeBatch",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "ConvertLayout",
    "DeadCodeElimination",
    "DefuseOps",
    "DivToMul",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "FakeQuantizationToInteger",
    "FirstOrderGradient",
    "FlattenAtrousConv",
    "FlexibleShapeDispatch",
    "FastMath",
    "FoldConstant",
    "FoldConstantExpr",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "Inline",
    "LambdaLift",
    "LayoutConfig",
    "LazyGradientInit",
    "Legalize",
    "MergeCompilerRegions",
    "MergeComposite",
    "ModulePass",
    "Pass",
    "PassContext",
    "PartitionGraph",
    "PassInfo",
    "PrintIR",
    "RemoveUnusedFunctions",
    "Sequential",
    "SimplifyExpr",
    "SimplifyInference",
    "SplitArgs",
    "ToANormalForm",
    "ToANormalFormExpr",
    "ToBasicBlockNormalForm",
    "ToGraphNormalForm",
    "ToMixedPrecision",
    "function_pass",
    "gradient",
    "module_pass",
    "recast",
    "register_fake_quantization_to_integer",
]


def __getattr__(name: str) -> Any:
    if name in ABSENT:
        return ABSENT[name]
    return lookup(__name__, name)
