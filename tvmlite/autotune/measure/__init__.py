"""Measuring candidates: checked against a reference, timed in a process that may die."""

from tvmlite.autotune.measure.cold import Footprint
from tvmlite.autotune.measure.crew import Crew, processors_of
from tvmlite.autotune.measure.runner import (
    BuildingRunner,
    Candidate,
    InterruptibleRunner,
    LocalRunner,
    Outcome,
    ReferenceFailed,
    Runner,
    Unbuilt,
)

__all__ = [
    "BuildingRunner",
    "Candidate",
    "Crew",
    "Footprint",
    "InterruptibleRunner",
    "LocalRunner",
    "Outcome",
    "ReferenceFailed",
    "Runner",
    "Unbuilt",
    "processors_of",
]
