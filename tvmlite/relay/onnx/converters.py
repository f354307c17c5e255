"""All converters, and the operators they convert to, by importing every family: each registers itself."""

from tvmlite.relay import ops  # noqa: F401
from tvmlite.relay.onnx.control import branches, control, sequence  # noqa: F401
from tvmlite.relay.onnx.graph import shape_rules  # noqa: F401
from tvmlite.relay.onnx.ops import (  # noqa: F401
    activation,
    attention,
    cast,
    create,
    data_dependent,
    einsum,
    elementwise,
    group_query,
    index,
    legacy,
    matmul,
    mel,
    microsoft,
    microsoft_quant,
    ml,
    ngrams,
    nn,
    normalize,
    pad,
    quant,
    recurrent,
    reduce,
    resize,
    shape,
    signal,
    trees,
    vision,
)
