"""Shared by the tests of tuning: a small template, and a runner whose times are a hash of the code."""

from __future__ import annotations

import hashlib

from tvmlite import autotune, te
from tvmlite.autotune.measure import Candidate, Outcome


def small_matmul(n: int, m: int, k: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A matrix product with a knob for each loop."""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c.op)
    cfg = autotune.get_config()
    y, x = s[c].op.axis
    cfg.define_split("y", y, num_outputs=2)
    cfg.define_split("x", x, num_outputs=2)
    cfg.define_knob("vectorize", [False, True])
    yo, yi = cfg["y"].apply(s, c, y)
    xo, xi = cfg["x"].apply(s, c, x)
    s[c].reorder(yo, xo, s[c].op.reduce_axis[0], yi, xi)
    if cfg["vectorize"].val:
        s[c].vectorize(xi)
    return s, [a, b, c]


class MadeUpMachine:
    """A runner whose times follow from the code alone; it counts calls, and can be interrupted."""

    threads = 0

    def __init__(self, stop_after: int | None = None, error: str = "") -> None:
        self.calls, self.stop_after, self.error = 0, stop_after, error
        self.tasks: list[str] = []

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        pass

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        self.calls += 1
        self.tasks.append(task)
        if self.stop_after is not None and self.calls > self.stop_after:
            raise KeyboardInterrupt
        if self.error:
            return Outcome(error=self.error, message="as told")
        return Outcome((self.cost(candidate),) * 3)

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        return [Outcome((self.cost(one),) * 7) for one in candidates]

    def close(self) -> None:
        pass

    @staticmethod
    def cost(candidate: Candidate) -> float:
        """Between 1 and 18 ms."""
        return 1e-3 + int(hashlib.sha256(candidate.ir_text.encode()).hexdigest()[:6], 16) * 1e-9
