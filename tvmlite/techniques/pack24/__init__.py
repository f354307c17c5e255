"""Weights of 24 bits."""

from tvmlite.techniques.pack24 import operator

__all__ = ["operator"]
