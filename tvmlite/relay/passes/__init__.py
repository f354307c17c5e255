"""The graph passes and the order they run in.

======  ===========================================================================================
level   what is done to a graph
======  ===========================================================================================
0       types are checked, Lets inlined, unused code removed; each output is computed by a call of its own;
        operators that stand for several others, such as TVM's quantized ones, are expanded into them;
        every operator is one kernel
1       operators for training are decomposed, constants folded, operators fused into groups
2       algebraic simplification; common subexpressions are merged, also equal operators on all pieces
        of an array, and dense layers of its slices; unit axes are dropped after the epilogues of
        convolutions; normalizations, softmax, activations and attention are recognized where they are
        written in smaller operators; scales are folded into weights; reshapes become views, and transposes
        that change layouts cancel; groups that differ in constants only share one kernel; results are
        stored over operands that are not read any more
3       transposed convolutions become convolutions of all their phases, channels of convolution networks
        are blocked, constant weights are repacked for the target (the default)
4       inexact: faster ``exp``, ``tanh``, ``erf`` (``fast_math`` states the errors); convolutions
        of the same data are merged
======  ===========================================================================================

At every level, a model's element-wise arithmetic is rounded after each operation: multiply-adds are used only
in sums and in our formulas for transcendental functions. What level 2 recognizes or folds into weights may
differ from the model in the last bits, but not where the result is rounded to steps (``quantized_chains``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tvmlite.core.errors import ConfigError
from tvmlite.core.pipeline import Pipeline
from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes import target_passes
from tvmlite.relay.passes.decisions import Decisions
from tvmlite.relay.passes.fusion.dequantize_late import dequantize_late
from tvmlite.relay.passes.fusion.fuse import fuse, separate
from tvmlite.relay.passes.fusion.hoist_views import hoist_views
from tvmlite.relay.passes.fusion.materialize_outputs import materialize_outputs
from tvmlite.relay.passes.fusion.reuse_operands import reuse_operands
from tvmlite.relay.passes.fusion.share_kernels import share_kernels
from tvmlite.relay.passes.graph_pass import with_options
from tvmlite.relay.passes.infer_types import infer_types
from tvmlite.relay.passes.precision.fast_math import fast_math
from tvmlite.relay.passes.precision.narrow_links import narrow_links
from tvmlite.relay.passes.precision.to_mixed_precision import to_mixed_precision
from tvmlite.relay.passes.qnn.canonicalize_qnn import canonicalize_qnn
from tvmlite.relay.passes.recognize.recognize_activations import recognize_activations
from tvmlite.relay.passes.recognize.recognize_attention import recognize_attention
from tvmlite.relay.passes.recognize.recognize_norms import recognize_norms
from tvmlite.relay.passes.recognize.recognize_softmax import recognize_softmax
from tvmlite.relay.passes.simplify.canonicalize_ops import canonicalize_ops
from tvmlite.relay.passes.simplify.combine_dense_of_slices import combine_dense_of_slices
from tvmlite.relay.passes.simplify.combine_parallel_conv2d import combine_parallel_conv2d
from tvmlite.relay.passes.simplify.combine_parallel_dense import combine_parallel_dense
from tvmlite.relay.passes.simplify.dead_code import dead_code
from tvmlite.relay.passes.simplify.eliminate_common_subexpr import eliminate_common_subexpr
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.relay.passes.simplify.fold_scale_axis import fold_scale_axis
from tvmlite.relay.passes.simplify.join_pieces import join_pieces
from tvmlite.relay.passes.simplify.simplify_expr import simplify_expr
from tvmlite.relay.passes.simplify.simplify_inference import simplify_inference
from tvmlite.relay.passes.simplify.simplify_loops import simplify_loops
from tvmlite.relay.passes.simplify.sink_reshapes import sink_reshapes
from tvmlite.relay.passes.sink_transposes import sink_transposes
from tvmlite.relay.passes.target_passes import Options, Stage
from tvmlite.relay.passes.write_out import write_out
from tvmlite.relay.quantize.annotate import quantize_annotate
from tvmlite.relay.quantize.realize import quantize_realize

Pass: TypeAlias = Callable[[Module], Module]

DEFAULT_LEVEL = 3
MAX_LEVEL = 4

HALF_PRECISION_ERROR_BOUND = 1e-4
"""The error, relative to its largest result, that a convolution of rounded operands may have in order to be
faster. It is far below the rounding error of a value: at most 4e-3 in bfloat16 and 5e-4 in float16."""


def pipeline(
    opt_level: int = DEFAULT_LEVEL,
    target: Target | None = None,
    precision: str = "float32",
    error_bound: float = 0.0,
    decisions: Decisions | None = None,
) -> Pipeline[Module]:
    """The passes of a level, 0 to 4, in order; without a ``target`` weights keep their layout.

    With a ``precision`` of bfloat16 or float16, matrix products and convolutions take their operands in it
    (``to_mixed_precision``), at any level; from level 2 on, faster versions of ``exp``, ``tanh`` and ``erf``
    are used, whose errors are far below those of 16 bits (``fast_math``). With an ``error_bound`` above 0,
    from level 3 on, convolutions and dense layers may have an error of this fraction of their largest result
    in order to be faster (``apply_winograd``, ``apply_winograd_dense``, ``pack_weights``); with a 16-bit
    precision, the bound is at least ``HALF_PRECISION_ERROR_BOUND``. Passes with alternatives ask
    ``decisions``; without it they take their defaults.
    """
    if opt_level not in range(MAX_LEVEL + 1):
        raise ConfigError(f"opt_level is {opt_level!r}, expected 0 to {MAX_LEVEL}")
    if precision != "float32":
        error_bound = max(error_bound, HALF_PRECISION_ERROR_BOUND)

    def for_target(least_level: int, *stages: Stage) -> list[Pass]:
        if opt_level < least_level or target is None:
            return []
        return target_passes.passes_of(Options(target, precision, error_bound, decisions), *stages)

    passes: list[Pass] = [infer_types, write_out, canonicalize_qnn, dead_code]
    if opt_level >= 1:
        passes += [simplify_inference, simplify_loops, *for_target(2, Stage.ELEMENT_TYPES), fold_constant]
    if opt_level >= 2:
        passes += [canonicalize_ops, sink_transposes, simplify_expr, eliminate_common_subexpr, join_pieces]
        passes += [recognize_norms, recognize_softmax, recognize_activations]
        passes += [with_options(recognize_attention, decisions)]
        passes += [eliminate_common_subexpr, combine_dense_of_slices, combine_parallel_dense]
        passes += [sink_reshapes, fold_constant, fold_scale_axis, fold_constant]
    if precision != "float32":
        passes += [to_mixed_precision(precision, target=target, decisions=decisions)]
        passes += [fold_constant, eliminate_common_subexpr]
    if opt_level >= 4 or (opt_level >= 2 and precision != "float32"):
        passes += [fast_math]
    if opt_level >= 4:
        passes += [combine_parallel_conv2d]
    if opt_level >= 3 and target is not None:
        passes += for_target(3, Stage.CONVOLUTIONS, Stage.CHANNELS, Stage.CONVOLUTION_ALGORITHMS)
        passes += [sink_reshapes, simplify_expr, fold_constant]
        passes += for_target(3, Stage.DENSE_ALGORITHMS, Stage.WEIGHTS)
    passes += [materialize_outputs, with_options(fuse, decisions) if opt_level >= 1 else separate]
    if opt_level >= 2 and precision != "float32":
        passes += [with_options(narrow_links, precision)]
    if opt_level >= 2:
        passes += [dequantize_late, *for_target(3, Stage.GROUPS)]
        passes += [hoist_views, share_kernels, with_options(reuse_operands, target)]
    return Pipeline(passes, verify)


def by_name(target: Target | None = None) -> dict[str, Pass]:
    """Every pass by its name; those that change layouts for a processor need a ``target``."""
    passes: list[Pass] = [
        canonicalize_ops,
        canonicalize_qnn,
        combine_dense_of_slices,
        combine_parallel_conv2d,
        combine_parallel_dense,
        dead_code,
        dequantize_late,
        eliminate_common_subexpr,
        fast_math,
        fold_constant,
        fold_scale_axis,
        fuse,
        hoist_views,
        infer_types,
        join_pieces,
        materialize_outputs,
        narrow_links,
        quantize_annotate,
        quantize_realize,
        recognize_activations,
        recognize_attention,
        recognize_norms,
        recognize_softmax,
        reuse_operands,
        separate,
        share_kernels,
        simplify_expr,
        simplify_inference,
        simplify_loops,
        sink_reshapes,
        sink_transposes,
        to_mixed_precision(),
        write_out,
    ]
    return {one.__name__: one for one in [*passes, *target_passes.alone(target)]}
