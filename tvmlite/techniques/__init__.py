"""How processors compute fast: one folder a technique, each registered in the tables of te and relay."""

from tvmlite.techniques import (
    attention,
    blocked_conv,
    depthwise,
    elementwise,
    inner_product,
    narrow_products,
    pack24,
    packed_matmul,
    reduction,
    rows,
    sketch,
    winograd,
)

__all__ = [
    "attention",
    "blocked_conv",
    "depthwise",
    "elementwise",
    "inner_product",
    "narrow_products",
    "pack24",
    "packed_matmul",
    "reduction",
    "rows",
    "sketch",
    "winograd",
]
