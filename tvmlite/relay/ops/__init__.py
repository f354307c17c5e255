"""The operator families: importing this package fills the table in ``relay.op``."""

from tvmlite.relay.ops import (
    batch_norm,
    binary,
    comparison,
    conv,
    conv_transpose,
    elementwise,
    matmul,
    normalize,
    pool,
    pool_whole,
    quant,
    reduce,
    reshape,
    resize,
    shape,
)

__all__ = [
    "batch_norm",
    "binary",
    "comparison",
    "conv",
    "conv_transpose",
    "elementwise",
    "matmul",
    "normalize",
    "pool",
    "pool_whole",
    "quant",
    "reduce",
    "reshape",
    "resize",
    "shape",
]
