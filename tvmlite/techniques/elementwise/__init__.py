"""Element-wise groups, and loop nests given as they are."""

from tvmlite.techniques.elementwise import extern, injective

__all__ = ["extern", "injective"]
