"""Softmax and normalisations, row by row."""

from tvmlite.techniques.rows import rows

__all__ = ["rows"]
