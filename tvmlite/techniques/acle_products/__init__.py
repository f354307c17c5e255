"""Products of bytes by C functions, with ACLE's intrinsics for processors that have two or more at once."""

from tvmlite.techniques.acle_products import functions, schedule

__all__ = ["functions", "schedule"]
