"""Random computes under random schedules through both code generators, against their definition's value."""

from tvmlite.fuzz.expected.check import Wrong, check

__all__ = ["Wrong", "check"]
