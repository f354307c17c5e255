"""Techniques for fast kernels: one folder per technique, each registered in the tables of te and relay.

Of the templates for a kind of anchor, the first that has a schedule for a group is used, so specific
techniques are imported before general ones.
"""

# ruff: noqa: I001
from tvmlite.techniques import acle_products
from tvmlite.techniques import scalar_loops
from tvmlite.techniques import narrow_products
from tvmlite.techniques import amx
from tvmlite.techniques import winograd
from tvmlite.techniques import inner_product
from tvmlite.techniques import depthwise_bytes
from tvmlite.techniques import depthwise
from tvmlite.techniques import packed_matmul
from tvmlite.techniques import blocked_conv
from tvmlite.techniques import pack24
from tvmlite.techniques import group_weights
from tvmlite.techniques import attention
from tvmlite.techniques import rows
from tvmlite.techniques import reduction
from tvmlite.techniques import elementwise
from tvmlite.techniques import sketch

__all__ = [
    "acle_products",
    "amx",
    "attention",
    "blocked_conv",
    "depthwise",
    "depthwise_bytes",
    "elementwise",
    "group_weights",
    "inner_product",
    "narrow_products",
    "pack24",
    "packed_matmul",
    "reduction",
    "rows",
    "scalar_loops",
    "sketch",
    "winograd",
]
