"""The cost of kernels measured alone, and the count of those that could not be measured."""

from __future__ import annotations

import time

import pytest

from tvmlite.autotune.measure import Candidate, Outcome, ReferenceFailed
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.relay.ir.nodes import Function
from tvmlite.tuning.kernel_cost import KernelCost


class Machine:
    """Gives ``outcomes`` one after another; an exception is raised."""

    threads = 1

    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.outcomes = list(outcomes)

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        """Nothing to do."""

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        raise AssertionError("kernels are measured one by one")

    def close(self) -> None:
        """Nothing to do."""


def group(columns: int | str) -> Function:
    """A fused group with one relu."""
    text = f"fn (%x: Tensor[(4, {columns}), float32]) {{ nn.relu(%x) }}"
    return tasks.group_of(text)


def cost_on(machine: Machine, seconds: float = 60) -> KernelCost:
    return KernelCost(Target.parse("native"), machine, time.monotonic() + seconds)


def test_a_kernel_costs_the_median_of_its_runs_and_is_measured_once() -> None:
    cost = cost_on(Machine(Outcome((3e-6, 1e-6, 2e-6))))

    assert [cost(group(8)), cost(group(8))] == [2e-6, 2e-6]
    assert (cost.unmeasured, cost.reasons()) == ({}, "")


def test_unmeasured_kernels_are_counted_by_reason() -> None:
    lost = ReferenceFailed("relu", "memory", "none is left")
    machine = Machine(Outcome(error="crash", message="signal 11"), lost)
    cost = cost_on(machine)

    assert [cost(group(8)), cost(group(8)), cost(group(16))] == [float("inf")] * 3
    assert cost.reasons() == "2 kernels not measured: 1 for an error (crash), 1 for an error (memory)"


def test_a_kernel_that_is_not_a_task_is_counted_as_not_measured() -> None:
    cost = cost_on(Machine())

    assert cost(group("n")) == float("inf")
    assert cost.reasons() == "1 kernel not measured: 1 not being tuning tasks"


def test_kernels_after_the_deadline_are_counted_as_not_measured() -> None:
    cost = cost_on(Machine(), seconds=-1)

    assert cost(group(8)) == float("inf")
    assert cost.reasons() == "1 kernel not measured: 1 for lack of time"


def test_a_kernel_that_cannot_be_built_is_counted_as_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Outcome(error="refused", message="too long")
    monkeypatch.setattr("tvmlite.tuning.kernel_cost.Builder.built", lambda builder, config: refused)
    cost = cost_on(Machine())

    assert cost(group(8)) == float("inf")
    assert cost.reasons() == "1 kernel not measured: 1 for an error (refused)"
