"""Softmax and normalizations, row by row."""

from tvmlite.techniques.rows import rows

__all__ = ["rows"]
