"""A runner with a memory: a candidate that was measured once is never measured again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from searching.steady import Steady
from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.machine.target import Target

YARDSTICK = "yardstick"
SHARE = "share"
"""The key of lines that hold a share, not an outcome."""


class CachingRunner:
    """A runner that wraps ``machine`` and stores the outcome of each candidate in the file at ``path``.

    So every search gets the same time for the same code, and a search can be repeated in seconds. A candidate
    is identified by its LLVM IR. The yardsticks of ``machine`` are stored as well, so that the measurements
    of later runs are compared with the same yardsticks.
    """

    def __init__(self, path: Path, machine: Steady) -> None:
        self.machine, self.path, self.threads = machine, path, machine.threads
        self.known: dict[str, Outcome] = {}
        self.shares: dict[str, float] = {}
        self.measured = 0
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                key, *values = json.loads(line)
                if key == YARDSTICK:
                    task, text, signature, target, cost = values
                    machine.yardsticks[task] = Candidate(text, signature, Target.parse(target)), cost
                elif key == SHARE:
                    self.shares[values[0]] = values[1]
                else:
                    costs, error, message = values
                    self.known[key] = Outcome(tuple(costs), error, message)

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        self.machine.prepare(task, reference, 0)

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        key = _key(candidate)
        if key not in self.known:
            outcome = self.machine.measure(task, candidate)
            self.measured += 1
            self.known[key] = outcome
            self._append(key, list(outcome.costs), outcome.error, outcome.message)
            yardstick, cost = self.machine.yardsticks.get(task, (None, 0.0))
            if yardstick is candidate:
                self._append(
                    YARDSTICK, task, yardstick.ir_text, yardstick.signature, str(yardstick.target), cost
                )
        return self.known[key]

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        return [self.measure(task, candidate) for candidate in candidates]

    def share(self, candidate: Candidate, repeat: int, measured: Callable[[], float]) -> float:
        """The share of the candidate, ``measured`` when it is first requested with this number ``repeat``."""
        key = f"{_key(candidate)} {repeat}"
        if key not in self.shares:
            self.shares[key] = measured()
            self._append(SHARE, key, self.shares[key])
        return self.shares[key]

    def close(self) -> None:
        self.machine.close()

    def _append(self, *line: object) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _key(candidate: Candidate) -> str:
    return hashlib.sha256(f"{candidate.target}\n{candidate.ir_text}".encode()).hexdigest()[:24]
