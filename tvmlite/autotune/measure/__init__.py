"""Measurement of candidates: checked against a reference and timed, in a process that may crash."""

from tvmlite.autotune.measure.cold import Footprint
from tvmlite.autotune.measure.parallel_runner import ParallelRunner, processors_of
from tvmlite.autotune.measure.runner import (
    BuildingRunner,
    BuildRequest,
    Candidate,
    InterruptibleRunner,
    LocalRunner,
    Outcome,
    ReferenceFailed,
    Runner,
)

__all__ = [
    "BuildingRunner",
    "Candidate",
    "ParallelRunner",
    "Footprint",
    "InterruptibleRunner",
    "LocalRunner",
    "Outcome",
    "ReferenceFailed",
    "Runner",
    "BuildRequest",
    "processors_of",
]
