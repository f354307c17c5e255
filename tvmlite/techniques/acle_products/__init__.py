"""Products of int8 by C functions, for targets without vectors; ACLE's intrinsics compute several at once."""

from tvmlite.techniques.acle_products import functions, schedule

__all__ = ["functions", "schedule"]
