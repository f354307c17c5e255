"""Depthwise convolutions and poolings: each output channel reads one input channel."""

from tvmlite.techniques.depthwise import sliding

__all__ = ["sliding"]
