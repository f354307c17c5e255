"""Names of TVM 0.11's Relay that a module does not have here, with alternatives."""

from __future__ import annotations

from tvmlite.tvm.absent.modules import ADT, CPUS, DEVICES, LAYOUTS, MEMORY, ONE, PYTHON

_EXTENT = "a dimension that differs from run to run has a name: shape=('n', 3)"
_OPERATOR = "an operator is one decorated function (docs/adding_an_operator.md)"
_POLYMORPHISM = "there are no type variables: write types in full"
_QUANTIZE = "relay.quantize.quantize, or tvmlite.quantize"
_REFERENCES = {"expressions have no side effects: return new values": "RefCreate RefRead RefWrite"}
_TYPES = {
    _POLYMORPHISM: "TypeConstraint TypeVar",
    ADT: "GlobalTypeVar TypeCall",
    _EXTENT: "Id ShapeVar is_dynamic type_has_any",
    "an operator's type relation is a function: tvmlite.relay.ir.op.operator": "TypeRelation",
    "there are no references: return new values": "RefType",
}


RELAY: dict[str, dict[str, str]] = {
    "relay": {
        **_REFERENCES,
        **_TYPES,
        "relay.backend.Executor and relay.backend.Runtime": "Executor Runtime",
        "an expression of one's own derives from relay.Call": "TempExpr",
        "expr.span is its source location": "SpanCheck",
        "arrays have numpy's dtypes": "DataType",
        "print(mod)": "pretty_print",
        "relay.analysis": "call_graph feature",
        _OPERATOR: "reg",
        CPUS: "is_arm",
    },
    "relay.analysis": {
        DEVICES: "collect_device_info context_analysis",
        "relay.analysis.post_order_visit": "extract_intermediate_expr",
        "relay.transform.SimplifyExpr and FoldConstant": "search_fc_transpose",
        "lib.profile(x) times a model kernel by kernel": "analyze_operations_distribution",
        "relay.analysis.get_calibration_data": "get_calibration_module get_calibration_outputs",
        _POLYMORPHISM: "all_type_vars bound_type_vars free_type_vars",
        ADT: "unmatched_cases",
        "a type's kind is its class: isinstance(t, relay.TensorType)": "check_kind",
    },
    "relay.build_module": {"relay.build": "AotExecutor BuildModule GraphExecutor get_executor_from_target"},
    "relay.expr": {
        **_REFERENCES,
        "an expression of one's own derives from relay.Call": "TempExpr",
        "print(mod)": "pretty_print",
        "relay.analysis.post_order_visit": "extract_intermdeiate_expr dfs",
        MEMORY: "StorageInfo",
    },
    "relay.ty": _TYPES,
    "relay.dataflow_pattern": {"rewrite, with a callback": "DominatorPattern partition"},
    "relay.frontend": {
        "torch.onnx.export, then relay.frontend.from_onnx": "from_pytorch",
        "export the model to ONNX, and use relay.frontend.from_onnx": """
            from_caffe from_caffe2 from_coreml from_darknet from_keras from_mxnet from_oneflow from_paddle
            from_tensorflow from_tflite quantize_conv_bias_mode_from_var
        """,
        "dtypes are numpy's and bfloat16: relay.transform.ToMixedPrecision": "ChangeDatatype",
    },
    "relay.op": {
        _OPERATOR: """
            OpImplementation OpStrategy register_convert_op_layout register_gradient
            register_shape_func register_strategy
        """,
        ONE: "register_external_compiler",
    },
    "relay.qnn.op.legalizations": {
        "relay.build compiles operators of quantized tensors as they are": """
            get_scalar_from_constant helper_align_up helper_change_dtypes_to_be_same
            helper_change_dtypes_to_int8 helper_change_dtypes_to_uint8 helper_change_dtypes_to_uint8_int8
            helper_no_fast_int8_hw_legalization is_aarch64_arm is_fast_int8_on_arm is_fast_int8_on_intel
            legalize_qnn_conv2d legalize_qnn_conv2d_transpose legalize_qnn_dense qnn_conv2d_legalize
            qnn_conv2d_transpose_legalize qnn_dense_legalize register_qnn_unary_op_legalize
        """
    },
    "relay.quantize": {
        _QUANTIZE: """
            QAnnotateKind QPartitionExpr QuantizeContext annotate calibrate collect_stats get_current_qconfig
            kind2str partition partition_conversions prerequisite_optimize prepass_pipeline
            quantize_context realize register_annotate_function register_partition_function
        """
    },
    "relay.backend.interpreter": {
        ADT: "ConstructorValue",
        "expressions have no side effects": "RefValue",
    },
    "relay.backend.te_compiler": {
        "relay.build makes kernels of fused groups: lib.lib.kernels lists them": """
            CCacheKey CCacheValue CompileEngine LoweredFunction LoweredOutput get_shape
            get_valid_implementations lower_call lower_to_primfunc select_implementation
        """,
    },
    "relay.testing": {
        ADT: "Prelude add_nat_definitions count make_nat_expr make_nat_value",
        "relay.create_executor('debug') interprets a function": "run_as_python to_python",
    },
    "relay.transform": {
        ONE: "InlineCompilerFunctionsBoundTo MarkCompilerFunctionsAsExtern",
        "functions are values: they are inlined when a model is compiled": "Defunctionalization",
        LAYOUTS: "LayoutConfig",
        "relay.transform.SimplifyExpr": "CanonicalizeCast",
        "tvm.transform.PassContext(opt_level=..., config=...)": "build_config",
    },
    "relay.vm": {
        "relay.vm.compile gives the executable": "VMExecutable VMExecutor",
        PYTHON: "Object",
    },
}
