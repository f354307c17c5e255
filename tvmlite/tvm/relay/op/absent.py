"""Operators of TVM 0.11's Relay that tvmlite does not have: the reason, and what to use instead."""

from __future__ import annotations

_DEVICE = "it is for {}, and tvmlite compiles for CPUs: use {}"
_TENSOR = "relay.{} also takes its sizes, axes and scales in a tensor"
_LOWERED = "it is only in graphs lowered by TVM: pass the graph before lowering to tvmlite.compile"
_TRAINING = "gradients are of other operators: see relay.transform.gradient"
_BITS = "there are no kernels of single bits: use nn.{} of int8, or qnn.{}"
_LAYOUT = "layouts are chosen when a model is compiled, which transforms data and weights: use {}"

OTHERWISE = {
    f"nn.contrib_conv2d_winograd_{name}": _LAYOUT.format("nn.conv2d")
    for name in ("weight_transform", "without_weight_transform")
}
"""Operators of the table that differ from TVM's of the same name in their weights or layouts: what to use."""

ABSENT: dict[str, str] = {
    # the shape is a tensor
    "dyn.reshape": _TENSOR.format("reshape"),
    "dyn.tile": _TENSOR.format("tile"),
    "dyn.broadcast_to": _TENSOR.format("broadcast_to"),
    "dyn.zeros": _TENSOR.format("zeros"),
    "dyn.ones": _TENSOR.format("ones"),
    "dyn.full": _TENSOR.format("full"),
    "dyn.one_hot": _TENSOR.format("one_hot"),
    "dyn.expand_dims": _TENSOR.format("expand_dims"),
    "dyn.squeeze": _TENSOR.format("squeeze"),
    "dyn.strided_slice": _TENSOR.format("strided_slice"),
    "dyn.sparse_to_dense": _TENSOR.format("sparse_to_dense"),
    "dyn.topk": _TENSOR.format("topk"),
    "dyn.nn.pad": _TENSOR.format("nn.pad"),
    "dyn.nn.upsampling": _TENSOR.format("nn.upsampling"),
    "dyn.nn.upsampling3d": _TENSOR.format("nn.upsampling3d"),
    "dyn.image.resize2d": _TENSOR.format("image.resize2d"),
    # chosen by the compiler
    "auto_scheduler_layout_transform": _LAYOUT.format("layout_transform"),
    "meta_schedule_layout_transform": _LAYOUT.format("layout_transform"),
    "nn.contrib_conv2d_gemm_weight_transform": _LAYOUT.format("nn.conv2d"),
    "nn.contrib_conv2d_gemm_without_weight_transform": _LAYOUT.format("nn.conv2d"),
    "nn.contrib_conv2d_winograd_nnpack_weight_transform": _LAYOUT.format("nn.conv2d"),
    "nn.contrib_conv3d_winograd_weight_transform": _LAYOUT.format("nn.conv3d"),
    "nn.contrib_conv3d_winograd_without_weight_transform": _LAYOUT.format("nn.conv3d"),
    "nn.internal.sparse_dense_padded": _DEVICE.format("GPUs", "nn.sparse_dense"),
    # narrower than a byte
    "nn.bitpack": _BITS.format("conv2d", "conv2d"),
    "nn.bitserial_conv2d": _BITS.format("conv2d", "conv2d"),
    "nn.bitserial_dense": _BITS.format("dense", "dense"),
    "annotation.bitpack_start": _DEVICE.format("VTA", "the model without it"),
    "annotation.bitpack_end": _DEVICE.format("VTA", "the model without it"),
    # training
    "nn.conv2d_backward_weight": _TRAINING,
    "nn.max_pool2d_grad": _TRAINING,
    "nn.avg_pool2d_grad": _TRAINING,
    # internal to TVM's compiler
    "call_lowered": _LOWERED,
    "debug": _LOWERED,
    "memory.alloc_storage": _LOWERED,
    "memory.alloc_tensor": _LOWERED,
    "memory.kill": _LOWERED,
    "vm.shape_of": _LOWERED,
    "vm.shape_func": _LOWERED,
    "vm.invoke_tvm_op": _LOWERED,
    "vm.reshape_tensor": _LOWERED,
    "relay.op.annotation.simulated_quantize": "TVM's quantization puts it there: use tvmlite.relay.quantize",
    # others
    "nn.sparse_conv2d": "there is no kernel of sparse convolutions: use nn.conv2d of the dense weight",
}
"""The reason or replacement by operator name, which is the hint of the error when a program uses the name."""
