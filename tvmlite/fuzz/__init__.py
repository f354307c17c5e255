"""Fuzzing: random computes under random schedules, in both code generators, against their definition."""

from tvmlite.fuzz.expected.check import Wrong, check

__all__ = ["Wrong", "check"]
