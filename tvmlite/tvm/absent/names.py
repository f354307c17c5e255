"""Names of TVM 0.11 that a module does not have here, with alternatives.

Relay's operators and passes have separate tables (``relay.op.absent``, ``relay.transform.absent``).
"""

from __future__ import annotations

from tvmlite.tvm.absent.modules import (
    ADT,
    CPUS,
    HERE,
    LAYOUTS,
    LOOPS,
    MEMORY,
    PYTHON,
    SCHEDULE,
)
from tvmlite.tvm.absent.relay import RELAY

_KNOBS = "a template's cfg.define_split and the like add them to its space"
_FACTS = "tvm.arith.Analyzer().simplify simplifies expressions"
_KERNEL = "tvmlite.lower(s, args) and tvmlite.build(s, args) do it in one call"
_LINKED = "contrib.cc.create_shared, or lib.export_library"
_LLVM = "tvmlite doctor shows what LLVM and this machine have"
_RELAY = "relay has it where an operator of the name is there, and relay.build compiles it"
_SCHEDULES = (
    "topi.x86.schedule_... and topi.generic.schedule_... schedule any operator for the current target"
)
_STRUCTS = "arguments of compiled functions are checked by the call that takes them"
_TASK = "SearchTask(func=f, args=args, target=target).tune(options)"
_TESTS = "it serves TVM's own tests"
_OPERATORS_TASKS = "autotvm.task.extract_from_program takes the kernels of a compiled model"
_TUNER = "autotvm.tuner.XGBTuner, GATuner, RandomTuner and GridSearchTuner"


_NAMES: dict[str, dict[str, str]] = {
    "": {
        PYTHON: "Object register_object register_extension",
        CPUS: "cl mtl micro_dev",
        MEMORY: """
            ConstantMemoryPools ConstantPoolInfo PoolInfo PoolInfoProperties WorkspaceMemoryPools
            WorkspacePoolInfo
        """,
    },
    "_ffi": {PYTHON: "get_object_type_index register_error register_extension register_object"},
    "arith": {
        _FACTS: """
            IntConstraints IntConstraintsTransform IntGroupBounds
            IterMapExpr IterMapResult IterMark IterSplitExpr IterSumExpr PresburgerSet
            detect_common_subexpr detect_iter_map
            estimate_region_lower_bound estimate_region_strict_bound estimate_region_upper_bound
            inverse_affine_iter_map iter_map_simplify normalize_iter_map_to_expr normalize_to_iter_sum
            solve_linear_equations solve_linear_inequalities subspace_divide
        """,
        PYTHON: "_ffi_api",
    },
    "arith.int_set": {
        _FACTS: """
            estimate_region_lower_bound estimate_region_strict_bound estimate_region_upper_bound
            union_lower_bound
        """
    },
    "auto_scheduler": {
        "auto_scheduler.ApplyHistoryBest": "DispatchContext",
        LAYOUTS: """
            LayoutRewriteOption get_shape_from_rewritten_layout rewrite_compute_body rewrite_tensor_shape
            remove_index_check is_auto_scheduler_enabled
        """,
        "inputs of a task are random": "register_task_input_check_func",
        _TASK: "auto_schedule create_task",
    },
    "auto_scheduler.loop_state": {"auto_scheduler.loop_state.State": "CACHE_READ StageKey StateObject"},
    "auto_scheduler.compute_dag": {LAYOUTS: "LayoutRewriteOption get_shape_from_rewritten_layout"},
    "auto_scheduler.measure": {
        _TASK: "MeasureErrorNo ProgramBuilder ProgramMeasurer ProgramRunner prepare_input_map"
    },
    "auto_scheduler.measure_record": {"auto_scheduler.load_best_record": "distill_record_file"},
    "auto_scheduler.relay_integration": {
        "auto_scheduler.extract_tasks takes the kernels of a compiled model": """
            TracingEnvironment TracingMode auto_schedule_topi call_all_topi_funcs prepare_input_map
            traverse_to_get_io_tensors
        """,
        "TuningOptions(measure_callbacks=...)": """
            LogEstimatedLatency PrintTableInfo TaskSchedulerCallback derive_similarity_tag
            make_search_policies
        """,
        "auto_scheduler.ApplyHistoryBest": "DispatchContext FallbackContext",
    },
    "auto_scheduler.cost_model": {
        "auto_scheduler.XGBModel or RandomModel": "CostModel PythonBasedModel RandomModelInternal"
    },
    "auto_scheduler.search_policy": {"auto_scheduler.PreloadMeasuredStates": "SearchCallback"},
    "auto_scheduler.search_task": {
        _TASK: "auto_schedule create_task",
        "inputs of a task are random": "get_task_input_buffer register_task_input_buffer",
    },
    "auto_scheduler.utils": {
        HERE: "check_remote request_remote",
        "SearchTask.apply_best": "get_best_sche",
        _TASK: """
            array_mean deserialize_args get_constant get_env_set list_to_tuple make_traceback_info
            serialize_args to_str_round
        """,
    },
    "auto_scheduler.workload_registry": {
        "register_workload, in each program": "load_workload_func_registry save_workload_func_registry"
    },
    "autotvm.feature": {
        "tvmlite.autotune.model.loop_features.loop_features gives what the cost model sees": """
            ana_lower get_buffer_curve_sample_flatten
        """
    },
    "autotvm.graph_tuner": {
        "relay.build chooses the layouts of a graph itself; tvmlite.tune times them in the whole model": """
            DPTuner PBQPTuner
        """
    },
    "autotvm.measure.measure_methods": {
        CPUS: "set_cuda_target_arch gpu_verify_pass",
        HERE: "check_remote default_module_loader",
    },
    "autotvm.task": {"a function registered by autotvm.template": "TaskExtractEnv TaskTemplate"},
    "autotvm.task.task": {"a function registered by autotvm.template": "TaskTemplate lookup"},
    "autotvm.task.topi_integration": {_OPERATORS_TASKS: "TaskExtractEnv"},
    "autotvm.tuner.xgboost_cost_model": {
        "tvmlite.autotune learns from what was measured": """
            PlateauCallback custom_callback xgb_average_recalls
        """
    },
    "autotvm.task.space": {
        _KNOBS: """
            AnnotateSpace Axis AxisRelation OtherOptionSpace ReorderSpace SplitSpace
            get_factors get_pow2s
        """
    },
    "autotvm.tophub": {
        "nothing is downloaded": """
            AUTOTVM_TOPHUB_ROOT_PATH PACKAGE_VERSION check_backend download_package load_reference_log
        """
    },
    "autotvm.tuner": {
        _TUNER: "CostModel DropletTuner FeatureCache ModelBasedTuner ModelOptimizer RankingType"
    },
    "autotvm.tuner.callback": {"tuner.save and load_history": "save_tuner_state"},
    "autotvm.utils": {"multiprocessing.Pool().map": "pool_map"},
    "container": {"tvm.runtime.String": "String"},
    "contrib.cc": {
        _LINKED: """
            create_executable create_staticlib cross_compiler get_cc get_global_symbol_section_map
            get_target_by_dump_machine
        """
    },
    "contrib.graph_executor": {"tvm.cpu()": "get_device"},
    "contrib.debugger.debug_result": {"np.savez": "save_tensors"},
    "contrib.utils": {
        "one process writes a file": "FileLock filelock",
        "shutil.which and pathlib": "is_source_path which",
    },
    "driver.tvmc.autotuner": {
        "tvmc.tune": """
            autotuner_settings gen_task_list get_tuning_tasks schedule_tasks
        """
    },
    "driver.tvmc.frontends": {
        "export the model to ONNX": """
            ALL_FRONTENDS add_frontend import_keras
        """
    },
    "driver.tvmc.model": {"TVMCResult.format_times": "format_times"},
    "driver.tvmc.runner": {"tvmc.run": "get_input_info make_inputs_dict"},
    "driver.build_module": {_KERNEL: "form_irmodule get_binds "},
    "error": {"a class derived from tvm.error.TVMError": "register_error"},
    "ir": {
        ADT: "Constructor TypeData",
        PYTHON: "Node Object",
        MEMORY: """
            ConstantMemoryPools ConstantPoolInfo PoolInfo PoolInfoProperties WorkspaceMemoryPools
            WorkspacePoolInfo
        """,
        "relay.Function and tir.PrimFunc": "BaseFunc CallingConv",
        "relay.RelayExpr and tir.PrimExpr": "BaseExpr",
        "types are written in full": """
            GlobalTypeVar RelayRefType TypeCall TypeConstraint TypeRelation TypeVar
        """,
        "a call's attrs are fields to look at": "Attrs",
    },
    "ir.transform": {"tvm.ir.transform.module_pass": "ApplyPassToFunction"},
    "parser": {"expr.span is its source location": "SpanCheck"},
    "rpc": {
        "rpc.LocalSession() is a session with this machine; an exported library can be copied to another": """
            PopenSession Proxy RPCError RPCSession RPC_MAGIC Server Tracker TrackerSession connect
            connect_tracker with_minrpc
        """
    },
    "runtime": {
        CPUS: "cl ext_dev gpu hexagon mtl vpi webgpu",
        PYTHON: """
            Object ObjectGeneric ObjectRef ObjectTypes Scriptable TypeCode convert_to_object
        """,
    },
    "runtime.container": {PYTHON: "getitem_helper"},
    "runtime.profiling": {
        "lib.profile(x) times a model kernel by kernel": """
            Count DeviceWrapper Duration MetricCollector PAPIMetricCollector Percent Ratio profile_function
        """
    },
    "runtime.module": {
        PYTHON: "ModulePropertyMask",
        "tvm.runtime has it": "PackedFunc load_module num_threads",
    },
    "support": {"tvmlite doctor": "describe"},
    "target": {
        "tvm.target.Target('llvm -mcpu=...')": "rasp riscv_cpu stm32 opengl",
        "tvm.target.Target(...).kind.name": "TargetKind",
        "tvm.target.Target(target, host=host)": "make_compilation_config",
    },
    "target.codegen": {
        _LLVM: """
            llvm_cpu_has_features llvm_get_cpu_archlist llvm_get_cpu_features llvm_get_intrinsic_name
            llvm_get_system_cpu llvm_get_system_triple llvm_get_targets llvm_lookup_intrinsic_id
            target_has_features
        """,
        "tvm.build": "build_module",
    },
    "te": {
        "buffers have one dimension, so layouts have no separators": """
            AXIS_SEPARATOR
        """,
        "te.if_then_else, or te.select": "SpecializedCondition",
        "te.extern with tvm.tir.call_packed gives whole arrays to a function of Python": "trace",
        "te.truncdiv and te.floordiv": "ceildiv",
    },
    "target.target": {
        "tvm.target has it": """
            TargetKind arm_cpu bifrost create cuda hexagon intel_graphics list_tags mali micro rasp riscv_cpu
            rocm vta
        """
    },
    "te.hybrid": {"te.hybrid.build": "create_module"},
    "te.operation": {
        "tvm.te has it": "ComputeOp ExternOp HybridOp PlaceholderOp ScanOp TensorComputeOp const",
        "te.compute, te.extern and te.scan make them": "Operation",
    },
    "te.schedule": {
        _KERNEL: """
            AXIS_SEPARATOR
            SchedulePostProcToPrimFunc SpecializedCondition VerifyCompactBuffer
        """
    },
    "te.tensor": {"te.ComputeOp": "BaseComputeOp"},
    "testing": {
        _TESTS: """
            CompareBeforeAfter ErrorTest Feature
            check_bool_expr_is_true check_int_constraints_trans_consistency
            context_test device_test echo error_test generate_random_input_data get_dtype_range identity
            identity_after is_ampere_or_newer multi_gpu_exists nop object_use_count run_check_signal
            skip_if_wheel_test strtobool terminate_self test_check_eq_callback test_raise_error_callback
            test_wrap_callback
        """,
    },
    "testing.auto_scheduler": {
        "relay.nn.conv2d: whether Winograd's transform is used is decided when a model is compiled": """
            conv2d_winograd_nhwc_auto_scheduler_test
        """,
        "te.compute refuses a wrong computation at once": "invalid_compute_definition",
    },
    "tir.function": {"te.decl_tensor_intrin declares an instruction": "TensorIntrin", SCHEDULE: "IndexMap"},
    "tir": {
        SCHEDULE: """
            BlockDependenceInfo BlockRV BlockScope IndexMap Schedule ScheduleError ScheduleState StmtSRef
        """,
        "te.decl_tensor_intrin declares an instruction": "TensorIntrin",
        CPUS: """
            atomic_add
        """,
        "tir.call_packed calls a registered function": """
            call_cpacked_lowered call_packed_lowered
        """,
        "te.extern calls kernels": "call_tir",
        LOOPS: """
            DataProducer
        """,
        "lib.profile(x) times a model kernel by kernel": "end_profile_intrinsic start_profile_intrinsic",
        "te.power(2, x)": "exp2",
        "tir.q_multiply_shift": "q_multiply_shift_per_axis",
    },
    "tir.analysis": {
        "common subexpressions are eliminated automatically": "detect_common_subexpr",
        "tvmlite.compile(verify=True) and build(verify=True) check kernels": """
            apply_prim_func_arg_and_result_memory_constraints calculate_constant_bytes
            calculate_workspace_bytes detect_buffer_access_lca estimate_tir_flops get_block_access_region
            get_block_read_write_region get_prim_func_arg_and_result_memory_constraints undefined_vars
            verify_gpu_code verify_memory verify_well_formed
        """,
    },
    "tir.ir_builder": {"tir.ir_builder.create": "WithScope"},
    "tir.stmt_functor": {"tir.stmt_functor.substitute": "renew_defs"},
    "topi": {
        _RELAY: """
            dynamic_strided_slice eye hamming_window index_put isin scanop segment_op sparse_fill_empty_rows
        """,
        "te.reduce_axis and te.comm_reducer": "comm_reduce",
    },
    "topi.nn": {
        LAYOUTS: """
            add_alter_layout conv2d_alter_layout conv2d_infer_layout conv2d_transpose_alter_layout
            conv3d_alter_layout dense_alter_layout depthwise_conv2d_infer_layout qnn_conv2d_alter_layout
            qnn_dense_alter_layout qnn_requantize_alter_layout sparse_dense_alter_layout
        """,
        "relay.build compiles operators as they are: leave the rule out": """
            batch_matmul_legalize bias_add_legalize bitserial_conv2d_legalize conv2d_legalize
            conv2d_transpose_legalize conv3d_transpose_legalize dense_legalize matmul_legalize
        """,
        _RELAY: """
            Workload bitpack conv1d_transpose conv2d_transpose
            conv2d_winograd_nchw_without_weight_transform conv2d_winograd_nhwc_without_weight_transform
            conv2d_winograd_nnpack_weight_transform conv2d_winograd_weight_transform conv3d
            conv3d_winograd_weight_transform local_response_norm sparse_conv2d sparse_dense_sp_lhs
            sparse_dense_sp_rhs winograd_transform
            winograd_transform_matrices
        """,
        "models are run here, not trained": """
            depthwise_conv2d_backward_input_nhwc depthwise_conv2d_backward_weight_nhwc pool_grad
        """,
        _SCHEDULES: "_get_workload _get_depthwise_conv2d_workload",
    },
    "topi.vision": {"relay.vision.non_max_suppression": "regular_non_max_suppression"},
    "topi.nn.utils": {"read them from the operations in s.stages": "infer_pad3d infer_stride"},
    "topi.x86": {
        "te.decl_tensor_intrin declares an instruction": """
            acc_32x32_int32_sapphirerapids dot_16x1x16_uint8_int8_int16 dot_16x1x16_uint8_int8_int32
            dot_16x1x16_uint8_int8_int32_cascadelake dot_16x1x16_uint8_int8_int32_skylake
            dot_32x128x32_u8s8s32_sapphirerapids
        """,
        _SCHEDULES: "_fallback_schedule",
    },
    "topi.testing": {
        _TESTS + ": numpy and onnx.reference compute what is expected": """
            group_conv2d_nchw_python pool1d_ncw_python pool3d_ncdhw_python pool_grad_nchw
            scatter_nd_python
        """
    },
    "topi.utils": {
        _RELAY: """
            InvalidShapeError const_matrix const_vector make_idx within_index
        """
    },
}


NAMES = {
    f"{module}.{name}".lstrip("."): instead
    for module, table in {**_NAMES, **RELAY}.items()
    for instead, names in table.items()
    for name in names.split()
}
"""The alternatives by name below ``tvm``. A module that defines such a name takes precedence."""
