"""24-bit weights: a large float32 weight of a dense layer with few rows is stored without its last byte.

Reading the weight dominates, and takes three quarters of the time. The rule needs an error bound.
"""

from tvmlite.techniques.pack24 import operator
from tvmlite.techniques.pack24.rule import in_24_bits
from tvmlite.techniques.packed_matmul.pack_weights import APPROXIMATIONS

__all__ = ["operator"]

APPROXIMATIONS["pack24"] = in_24_bits
