"""Reductions."""

from tvmlite.techniques.reduction import reduction

__all__ = ["reduction"]
