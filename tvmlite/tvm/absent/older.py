"""Names in ``tvm`` itself before TVM 0.7, which programs and courses of 2019 and 2020 use."""

from __future__ import annotations

_MOVED = {
    "te": """
        comm_reducer compute create_schedule decl_tensor_intrin extern hybrid max min placeholder reduce_axis
        scan schedule size_var sum tag_scope tensor tensor_intrin thread_axis var
    """,
    "tir": """
        abs all any call_extern call_intrin call_llvm_intrin call_packed call_pure_extern ceil
        cos decl_buffer erf exp expr floor floordiv floormod fmod if_then_else indexdiv indexmod ir_builder
        isnan log max_value min_value nearbyint popcount power round rsqrt sigmoid sin sqrt stmt tan tanh
        trace trunc truncdiv truncmod
    """,
}

_CHANGED = {
    "api": "tvm.te",
    "build_config": "tvm.transform.PassContext(config={...})",
    "call_pure_intrin": "tvm.tir.call_intrin",
    "codegen": "tvm.build",
    "intrin": "tvm.tir",
    "ir_pass": "tvm.lower applies the passes there are",
    "make": "tvm.tir",
    "module": "tvm.runtime: tvm.runtime.load_module, tvm.runtime.Module",
    "select": "tvm.tir.Select",
}

OLDER = {
    **{name: f"tvm.{place}.{name}" for place, names in _MOVED.items() for name in names.split()},
    **_CHANGED,
}
"""The later name of each."""
