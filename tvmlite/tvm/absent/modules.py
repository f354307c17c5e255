"""Modules of TVM 0.11 without a file here: those whose names are in another module, and those that tvmlite
does not have, with alternatives."""

from __future__ import annotations

SCRIPT = "script"
"""TVMScript; any name below it may appear in a program (``tvmlite.tvm.absent.script``)."""

ADT = "there are tensors, tuples and functions, and no algebraic data types"
CPUS = "there is code for CPUs only"
DEVICES = "there is one device, the CPU"
HERE = "measurements run on this machine; an exported library can be copied to another"
LAYOUTS = "relay.build chooses the layouts of a graph itself"
LOOPS = "te.extern with a tvm.tir.ir_builder, or te.hybrid.script, writes loops by hand"
MEMORY = "memory is planned when a model is compiled"
ONE = "there is one code generator for all of a model; other compilers are not called"
PYTHON = "objects are Python's own; tvm.register_func registers functions"
FOREIGN = frozenset(("_backend", "_build_module", "_ffi_api", "_ir_pass", "_make", "_vm"))
"""TVM's modules of functions in C++."""

SCHEDULE = "s = te.create_schedule(C.op) schedules tensor expressions"

_BUILD = "lib.export_library of a cross target (docs/targets.md)"
_ENTRY = "relay.build compiles the entry of a model, too"
_FEATURES = "tvmlite.te.cost estimates a schedule, and tvmlite.autotune learns from what was measured"
_KERNELS = "relay.build makes kernels of fused groups: lib.lib.kernels lists them"
_MCU = 'the target "c -system=none" compiles to C for microcontrollers (docs/microcontrollers.md)'
_ONNX = "export the model to ONNX, and use relay.frontend.from_onnx"
_OPERATOR = "an operator is one decorated function (docs/adding_an_operator.md)"
_PASSES = "tvm.lower applies the passes there are"
_PYTEST = "pytest has fixtures and parameters, tvm.testing has assert_allclose"
_QUANTIZE = "tvmlite.quantize(mod, data) makes a quantized model"
_SEARCH = "tvmlite.tune and tvmlite.autotune search schedules"
_TRAINING = "tensor expressions are not differentiated: relay.transform.gradient is of graphs"
_TUNER = "autotvm.tuner.XGBTuner"
_WORKER = "candidates are measured in one worker process, which LocalRunner starts"

_ABSENT = {
    CPUS: """
        contrib.coreml_runtime contrib.cublas contrib.cublaslt contrib.cuda_graph contrib.cudnn
        contrib.cutlass contrib.ethosu contrib.hexagon contrib.miopen contrib.mps contrib.nvcc contrib.rocblas
        contrib.rocm contrib.sdaccel contrib.spirv_utils contrib.thrust contrib.vulkan contrib.xcode
        ethosu exec.gpu_memory_bandwidth topi.adreno topi.bifrost topi.cuda topi.gpu topi.hexagon topi.hls
        topi.intel_graphics topi.mali topi.rocm vta
    """,
    HERE: """
        contrib.rpc exec.query_rpc_tracker exec.rpc_proxy exec.rpc_server exec.rpc_tracker
        rpc.base rpc.client rpc.minrpc rpc.proxy rpc.server rpc.server_ios_launcher
        rpc.testing rpc.tracker
    """,
    ONE: """
        contrib.cmsisnn contrib.dnnl contrib.libxsmm contrib.mkl contrib.nnpack contrib.target
        driver.tvmc.composite_target relay.backend.contrib relay.collage relay.op.contrib relay.testing.byoc
    """,
    PYTHON: """
        _ffi.registry _ffi.runtime_ctypes _ffi.libinfo runtime.object runtime.object_generic
        runtime.packed_func runtime.script_printer
    """,
    SCHEDULE: "tir.schedule tir.block_scope tir.block_dependence_info",
    _BUILD: "contrib.emcc contrib.ndk contrib.tvmjs contrib.stackvm",
    _ENTRY: "aot runtime.executor testing.aot",
    _FEATURES: "auto_scheduler.feature autotvm.tuner.metric",
    _KERNELS: """
        relay.backend.aot relay.backend.graph_executor_codegen relay.backend.utils
        relay.backend.name_transforms runtime.name_transforms
    """,
    LAYOUTS: """
        autotvm.graph_tuner.base_graph_tuner autotvm.graph_tuner.dynamic_programming_tuner
        autotvm.graph_tuner.dynamic_programming_stage autotvm.graph_tuner.pbqp_tuner autotvm.graph_tuner.utils
        relay.qnn.op.layout_conversions
    """,
    _MCU: "contrib.micro driver.tvmc.micro exec.microtvm_debug_shell micro",
    MEMORY: """
        driver.tvmc.workspace_pools ir.memory_pools relay.op.memory relay.op.vm relay.transform.memory_alloc
        relay.transform.memory_plan testing.usmp tir.usmp
    """,
    _ONNX: """
        contrib.mxnet relay.frontend.caffe relay.frontend.caffe2 relay.frontend.common relay.frontend.coreml
        relay.frontend.darknet relay.frontend.keras relay.frontend.mxnet relay.frontend.mxnet_qnn_op_utils
        relay.frontend.nnvm_common relay.frontend.oneflow relay.frontend.paddlepaddle relay.frontend.pytorch
        relay.frontend.pytorch_utils relay.frontend.qnn_torch relay.frontend.tensorflow
        relay.frontend.tensorflow2 relay.frontend.tensorflow_ops relay.frontend.tensorflow_parser
        relay.frontend.tflite relay.frontend.tflite_flexbuffer relay.testing.darknet relay.testing.tf
        relay.testing.tflite relay.testing.yolo_detection
    """,
    _OPERATOR: "relay.op.nn.utils relay.op.op_attrs relay.op.type_relations",
    _PASSES: "tir.transform",
    _PYTEST: "testing.popen_pool testing.runner testing.tir",
    _QUANTIZE: """
        relay.quantize.kl_divergence relay.quantize._annotate relay.quantize._calibrate
        relay.quantize._partition relay.quantize._partition_conversions
    """,
    _TRAINING: "te.autodiff",
    _TUNER: "autotvm.tuner.droplet_tuner autotvm.tuner.model_based_tuner autotvm.tuner.sa_model_optimizer",
    _WORKER: """
        autotvm.measure.executor autotvm.measure.local_executor contrib.popen_pool exec.popen_worker
    """,
    f"auto_scheduler, or {_SEARCH}": "meta_schedule",
    "a function is a task by its name and arguments": "autotvm.task.code_hash",
    "a log is lines of JSON: autotvm.record.pick_best keeps the best": "exec.autotvm_log_editor",
    "a target's attributes are tvmlite.machine's": "target.arm_isa target.compilation_config target.x86",
    "arrays are exchanged by DLPack: torch.from_dlpack(array), nd.from_dlpack": "contrib.torch contrib.tf_op",
    "dtypes are numpy's and bfloat16": "target.datatype relay.frontend.change_datatype",
    "errors are exceptions that name the line of the program": "ir.diagnostics",
    "lib.export_library('model.tar') writes an archive": "contrib.tar",
    "print(mod) shows a graph, relay.create_executor('debug') interprets it": "relay.debug",
    "programs are parsed by relay.parse": "relay.std",
    "relay, or tvmlite.relay.frontend.from_onnx": "relax",
    "relay.build, for the target 'llvm -mtriple=aarch64-linux-gnu'": "topi.arm_cpu",
    "relay.create_executor('debug') interprets a graph": "relay.testing.py_converter",
    "run each model in its own thread": "contrib.pipeline_executor contrib.pipeline_executor_build",
    "te.decl_tensor_intrin declares an instruction": "tir.tensor_intrin",
    "te.hybrid.script reads the source of a function itself": """
        te.hybrid.calls te.hybrid.preprocessor te.hybrid.utils
    """,
    "the library of a model runs without another runtime": "contrib.tflite_runtime",
    "the options of tvmlite.tvm.driver.tvmc's functions are arguments": """
        driver.tvmc.arguments driver.tvmc.extensions driver.tvmc.fmtopt
    """,
    ADT: """
        ir.adt relay.adt relay.prelude relay.testing.nat
    """,
    DEVICES: "target.se_scope",
    "tvm.ir.register_intrin_lowering": "target.intrin",
    "tvm.save_json and tvm.load_json": "ir.json_compact",
    "tvm.topi has the functions of Python": "topi.cpp",
    "tvm.target.Target('native'), or tvmlite doctor": "target.detect_target",
    "tvmlite bench, or tvmlite.runtime.timing.measure": "contrib.peak exec.measure_peak utils",
    "tvmlite show model.onnx --html graph.html draws a graph (docs/graph.md)": "contrib.relay_viz",
    "tvmlite tune model.onnx": "auto_scheduler.testing autotvm.testing",
    "tvmlite.compile(mod, shape={...}) compiles kernels for several sizes": """
        relay.transform.flexible_shape
    """,
    "tvmlite.visualize(s, args, path) draws the stages and loops of a schedule": "contrib.tedd",
    "relay.transform.AlterOpLayout() without rules of the program's own chooses layouts": """
        topi.x86.conv2d_alter_op topi.x86.dense_alter_op
    """,
    "relay.data_dep_optimization.bsr_dense.convert makes dense layers sparse; convolutions stay dense": """
        relay.data_dep_optimization.bsr_conv2d relay.analysis.sparse_conv2d relay.analysis.sparse_dense
    """,
    "relay.transform.FoldConstant, with the weights as constants": """
        relay.data_dep_optimization.simplify_fc_transpose relay.data_dep_optimization.utils
    """,
    "operators compile to integers as they are": """
        relay.transform.fake_quantization_to_integer
    """,
    "an operator's schedules are templates: see tvmlite.te.templates": "relay.op.strategy",
    "python -m runs no modules of tvm: the commands are tvmlite and tvmc": "exec",
}

ABSENT = {module: instead for instead, modules in _ABSENT.items() for module in modules.split()}
"""Modules that tvmlite does not have, with alternatives. Using a name of one is an error."""

_ANOTHER = {
    "arith": "arith.{bound,int_solver,iter_affine_map,pattern}",
    "ir.instrument": "instrument",
    "auto_scheduler.relay_integration": "auto_scheduler.{dispatcher,task_scheduler}",
    "auto_scheduler.cost_model": "auto_scheduler.cost_model.{cost_model,xgb_model}",
    "container": "ir.container",
    "ir": "ir.{affine_type,attrs,base,expr,function,op,tensor_type,type,type_relation}",
    "contrib.graph_executor": "contrib.graph_runtime",
    "contrib.utils": "contrib.util",
    "driver.tvmc.common": "driver.tvmc.tracker",
    "driver.tvmc.model": "driver.tvmc.result_utils",
    "driver.tvmc.pass_config": "driver.tvmc.pass_list",
    "nd": "ndarray runtime.ndarray",
    "parser": "relay.parser",
    "relay": "relay.base",
    "relay.analysis": """
        relay.analysis.{analysis,annotated_regions,call_graph,count_layers,feature,operations_distribution}
    """,
    "relay.backend": "relay.backend.{executor,runtime}",
    "relay.backend.te_compiler": "relay.backend.compile_engine",
    "relay.build_module": "relay.backend.{executor_factory,graph_executor_factory}",
    "relay.expr": "relay.function",
    "relay.frontend": "relay.frontend.onnx",
    "relay.testing": "relay.testing.temp_op_attr",
    "relay.op.annotation": "relay.op.annotation.annotation",
    "relay.op.nn": "relay.op.nn.nn",
    "relay.qnn.op": "relay.qnn.op.{op,qnn}",
    "relay.quantize": "relay.quantize.quantize",
    "relay.transform": "relay.transform.recast relay.transform.transform",
    "relay.transform.layout.own_rules": "relay.transform.infer_layout_utils",
    "relay.vm": "runtime.vm relay.backend.vm",
    "runtime_params": "relay.param_dict runtime.params",
    "te": "te.tensor_intrin",
    "te.tag": "topi.tag",
    "tir": "tir.{expr,generic,stmt}",
    "testing": "testing.utils",
    "topi": """
        topi.{argwhere,broadcast,einsum,generic_op_impl,reduction,scan,scatter,scatter_add,searchsorted,sort}
        topi.{signal,sparse_fill_empty_rows,sparse_reshape,stft,tensor,unique}
    """,
    "topi.generic": """
        topi.generic.{conv2d,default,extern,image,injective,math,nn,search,sort,sparse,vision}
    """,
    "topi.nn": """
        topi.nn.{batch_matmul,batch_norm,bitserial_conv2d,bitserial_dense,bitserial_util,bnn,conv1d}
        topi.nn.{conv1d_transpose,conv2d,conv2d_transpose,conv3d,conv3d_transpose,correlation,dense}
        topi.nn.{deformable_conv2d,depth_to_space,depthwise_conv2d,dilate,elemwise,fifo_buffer,flatten}
        topi.nn.{instance_norm,layer_norm,local_response_norm,loss,lstm,mapping,pad,softmax}
        topi.nn.{space_to_batch_nd,batch_to_space_nd,space_to_depth,sparse,upsampling,winograd_util}
    """,
    "topi.testing": """
        topi.testing.{adaptive_pool_python,batch_matmul,common,conv2d_hwcn_python,conv2d_nchw_python}
        topi.testing.{conv2d_nhwc_python,conv2d_transpose_python,conv3d_ncdhw_python,dense}
        topi.testing.{depthwise_conv2d_python,dilate_python,gather_nd_python,layer_norm_python}
        topi.testing.{poolnd_python,resize_python,softmax_python,strided_slice_python}
    """,
    "topi.random": "topi.random.kernel",
    "topi.sparse": "topi.sparse.{csrmm,csrmv,dense}",
    "topi.utils": "topi.util",
    "topi.nn.utils": "topi.nn.util",
    "topi.x86": """
        topi.x86.{batch_matmul,binarize_pack,concat,conv2d,conv2d_int8,conv3d,dense,depthwise_conv2d}
        topi.x86.{injective,math_alter_op,nn,pooling,reduction,roi_align,sparse,tensor_intrin,utils}
    """,
}


def _each(patterns: str) -> list[str]:
    """Expand ``patterns``: ``a.{b,c}`` stands for ``a.b`` and ``a.c``."""
    found: list[str] = []
    for one in patterns.split():
        before, _, rest = one.partition("{")
        found += [before + end for end in rest.rstrip("}").split(",")]
    return found


ANOTHER = {module: place for place, modules in _ANOTHER.items() for module in _each(modules)}
"""Modules whose names are in another module here: importing one imports the other."""
