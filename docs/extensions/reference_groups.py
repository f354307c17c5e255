"""The names of rooms, and the members of large classes, by what one does with them."""

from __future__ import annotations

GROUPS: dict[str, dict[str, str]] = {
    "tvmlite": {
        "Compiling and tuning a model": "compile tune quantize draw",
        "Building a schedule": "lower build visualize",
        "Targets and errors": "Target TvmliteError",
        "Names of TVM": "cpu device get_global_func register_func",
    },
    "tvmlite.te": {
        "Declaring": "placeholder compute reduce_axis var size_var scan extern Tensor IterVar",
        "Reductions": "sum prod max min all any comm_reducer max_value min_value",
        "Scheduling": "create_schedule Schedule Stage lower visualize",
        "Instructions of the processor": "decl_tensor_intrin decl_buffer TensorIntrin",
        "Constants, conversions and choices": (
            "const cast convert reinterpret select if_then_else likely infinity isfinite isinf isnan"
        ),
        "Integers": "div floordiv floormod truncdiv truncmod indexdiv indexmod clz popcount",
        "Functions of floats": (
            "abs ceil floor round nearbyint trunc copysign fma fmod sqrt rsqrt exp log log2 log10 power erf "
            "sigmoid sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh"
        ),
        "Calls of other functions": (
            "call_extern call_pure_extern call_intrin call_pure_intrin call_llvm_intrin "
            "call_llvm_pure_intrin call_packed register_func get_global_func "
            "register_reference register_intrin_lowering"
        ),
    },
    "tvmlite.relay": {
        "Making a graph": "var const make dim Function Module IRModule",
        "Nodes": "Expr Var Constant Call Tuple TupleGetItem Let LetDims If Loop",
        "Types": "TensorType TupleType FuncType type_of",
        "Operators by the beginning of their names": "nn image vision qnn",
        "Text": "astext parse parse_expr",
        "Quantizing": "quantize QuantizedModule",
    },
    "tvmlite.autotune": {
        "Searching": "tune complete Tuned Watch",
        "Templates and spaces": "template create get_config Task ConfigSpace ConfigEntity FallbackConfig",
        "Records": "apply_history_best Record",
        "Search strategies": "Tuner XGBTuner GATuner GridSearchTuner RandomTuner",
        "Measuring": "Runner LocalRunner ParallelRunner Crew",
    },
    "tvmlite.runtime": {
        "Loading and calling": "load load_module read_metadata Library CompiledFunction",
        "Arrays": "Tensor tensor NDArray empty",
        "Times and threads": "Timing Profile num_threads set_num_threads",
    },
}
"""By room: headings, and the names below each. What stands in none is shown under *More*."""

MEMBERS: dict[str, dict[str, str]] = {
    "tvmlite.te.Stage": {
        "loops": "split tile fuse reorder unroll vectorize parallel pragma loop_partition",
        "where it is computed": "compute_at compute_inline compute_root compute_with reverse_compute_at",
        "reductions": "decompose_reduction",
        "memory": (
            "set_scope storage_align transform_layout double_buffer prefetch align_bounds set_store_predicate"
        ),
        "instructions and threads": "tensorize bind",
    },
    "tvmlite.te.Schedule": {
        "stages that are added": "cache_read cache_write rfactor create_group",
        "the trace": "replay undo copy normalize",
        "stages": "stages outputs stage_map origins current",
    },
}
"""By class: headings, and the members below each."""

RESULTS: dict[str, tuple[str, ...]] = {
    "tvmlite": (
        "tvmlite.model.artifact.CompiledModule",
        "tvmlite.model.artifact.CompiledKernelFunction",
        "tvmlite.model.report.Report",
        "tvmlite.tuning.tune.TunedModel",
    ),
}
"""By room: classes that users meet as results of its functions, and never make."""
