"""Imports all converters, and the operators they convert to: each registers itself."""

from tvmlite.relay import ops  # noqa: F401
from tvmlite.relay.onnx.control import branches, control, sequence  # noqa: F401
from tvmlite.relay.onnx.graph import shape_rules  # noqa: F401
from tvmlite.relay.onnx.ops import (  # noqa: F401
    activation,
    cast,
    einsum,
    elementwise,
    legacy,
    matmul,
    nn,
    normalize,
    recurrent,
    reduce,
)
from tvmlite.relay.onnx.ops.classical import linear, ngrams, trees  # noqa: F401
from tvmlite.relay.onnx.ops.images import resize, resize_axes, vision  # noqa: F401
from tvmlite.relay.onnx.ops.microsoft import attention, group_query, layers, quantized  # noqa: F401
from tvmlite.relay.onnx.ops.quantized import group_weights, quant  # noqa: F401
from tvmlite.relay.onnx.ops.shapes import create, data_dependent, index, pad, shape  # noqa: F401
from tvmlite.relay.onnx.ops.signals import fourier, mel  # noqa: F401
