"""AMX's tile registers."""

from tvmlite.techniques.amx import schedule

__all__ = ["schedule"]
