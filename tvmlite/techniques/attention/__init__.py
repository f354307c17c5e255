"""Attention in one kernel."""

from tvmlite.techniques.attention import attention

__all__ = ["attention"]
