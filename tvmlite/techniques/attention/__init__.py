"""Attention, ``softmax(Q K^T) V``, as one kernel whose scores stay in cache."""

from tvmlite.techniques.attention import attention

__all__ = ["attention"]
