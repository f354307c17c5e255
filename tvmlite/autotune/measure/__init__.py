"""Measuring candidates: checked against a reference, timed in a process that may die."""

from tvmlite.autotune.measure.cold import Footprint
from tvmlite.autotune.measure.runner import Candidate, LocalRunner, Outcome, Runner

__all__ = ["Candidate", "Footprint", "LocalRunner", "Outcome", "Runner"]
