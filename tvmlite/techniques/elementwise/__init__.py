"""Element-wise groups, and groups around extern stages, whose loop nests are given."""

from tvmlite.techniques.elementwise import extern, injective

__all__ = ["extern", "injective"]
