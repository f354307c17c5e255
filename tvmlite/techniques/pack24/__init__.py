"""Weights of 24 bits."""

from tvmlite.techniques.pack24 import operator
from tvmlite.techniques.pack24.rule import in_24_bits
from tvmlite.techniques.packed_matmul.pack_weights import APPROXIMATIONS

__all__ = ["operator"]

APPROXIMATIONS["pack24"] = in_24_bits
