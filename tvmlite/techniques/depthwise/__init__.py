"""Depthwise convolutions and poolings."""

from tvmlite.techniques.depthwise import sliding

__all__ = ["sliding"]
