"""Matrix products and convolutions of bfloat16 and bytes in AMX's tile registers."""

from tvmlite.techniques.amx import schedule

__all__ = ["schedule"]
