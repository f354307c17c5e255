"""Many cases through several workers: progress, findings, and a table of what was tried."""

from __future__ import annotations

import select
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvmlite.fuzz.program import Program
from tvmlite.fuzz.run.worker_pool import Member

BLOCK = 12
"""Cases a worker is given at once; their C code is one compilation."""


KINDS = ("schedules", "symbolic")
"""What can be tried: computes under random schedules, or graphs of operators over symbolic extents."""


@dataclass(frozen=True)
class Finding:
    """A case that went wrong: how, and the program (None if the case could not even be made)."""

    index: int
    signature: str
    text: str
    program: Program | None


@dataclass
class Counts:
    """What was tried."""

    cases: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    elements: int = 0
    compared: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    wrong_tags: Counter[str] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)
    primitives_refused: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False


@dataclass
class _WorkerState:
    """A worker and the cases it was given."""

    member: Member
    waiting: list[int] = field(default_factory=list)
    busy: bool = False
    current: int = -1
    stage: str = ""
    program: dict[str, Any] | None = None


def fuzz(
    seed: int,
    count: int,
    backends: Sequence[str],
    jobs: int = 2,
    seconds: float | None = None,
    progress: Callable[[Counts], object] = lambda counts: None,
    kind: str = "schedules",
) -> Counts:
    """Try cases 0 to ``count - 1`` of ``seed``, of ``kind`` (one of ``KINDS``), or as many as ``seconds``
    allow, or as come before a KeyboardInterrupt. ``progress`` is told the counts after each."""
    return _Run(seed, count, backends, jobs, seconds, progress, kind).run()


class _Run:
    def __init__(
        self,
        seed: int,
        count: int,
        backends: Sequence[str],
        jobs: int,
        seconds: float | None,
        progress: Callable[[Counts], object],
        kind: str,
    ) -> None:
        self.seed, self.backends, self.progress, self.kind = seed, list(backends), progress, kind
        self.blocks = deque(list(range(n, min(n + BLOCK, count))) for n in range(0, count, BLOCK))
        self.workers = [_WorkerState(Member()) for _ in range(jobs)]
        self.counts, self.start = Counts(), time.monotonic()
        self.end = None if seconds is None else self.start + seconds

    def run(self) -> Counts:
        try:
            while self.deal():
                self.listen()
        except KeyboardInterrupt:
            self.counts.interrupted = True
        finally:
            for worker in self.workers:
                worker.member.stop()
        self.counts.findings.sort(key=lambda finding: finding.index)
        self.counts.seconds = time.monotonic() - self.start
        return self.counts

    def deal(self) -> bool:
        """Give idle workers blocks; False when all is done."""
        late = self.end is not None and time.monotonic() > self.end
        for worker in self.workers:
            if not worker.busy and self.blocks and not late:
                worker.waiting, worker.busy = self.blocks.popleft(), True
                worker.member.send(
                    seed=self.seed, indices=worker.waiting, backends=self.backends, kind=self.kind
                )
        return any(worker.busy for worker in self.workers)

    def listen(self) -> None:
        busy = [worker for worker in self.workers if worker.busy]
        streams = {worker.member.stream(): worker for worker in busy}
        ready, _, _ = select.select(list(streams), [], [], 1.0)
        for worker in busy if not ready else [streams[stream] for stream in ready]:
            for message in worker.member.messages(0.0):
                self.take(worker, message)

    def take(self, worker: _WorkerState, message: dict[str, Any]) -> None:
        if "stage" in message:
            worker.current, worker.stage = message.get("index", worker.current), message["stage"]
            worker.program = message.get("program", None if worker.stage == "generate" else worker.program)
        elif "crash" in message:
            self.crashed(worker, message["crash"])
        elif "done" in message:
            worker.waiting.remove(message["index"])
            self.count(message)
        elif "end" in message:
            worker.waiting, worker.busy = [], False

    def crashed(self, worker: _WorkerState, how: str) -> None:
        """A finding; what else the worker was given goes to the next one that has time."""
        if worker.current in worker.waiting:
            worker.waiting.remove(worker.current)
        program = None
        if worker.program is not None:
            program = Program.from_fields(worker.program)
            self.counts.wrong_tags.update(set(program.tags))
            self.counts.tags.update(set(program.tags))
        self.counts.cases += 1
        self.counts.findings.append(Finding(worker.current, f"{worker.stage}: crash", how, program))
        if worker.waiting:
            self.blocks.appendleft(worker.waiting)
        worker.waiting, worker.busy, worker.current, worker.program = [], False, -1, None
        self.progress(self.counts)

    def count(self, message: dict[str, Any]) -> None:
        counts, tags = self.counts, set(message.get("tags", ()))
        counts.cases += 1
        counts.tags.update(tags)
        if "refused" in message:
            counts.refused[message["refused"].split(":", 1)[0]] += 1
        counts.elements += message.get("elements", 0)
        counts.compared += message.get("compared", 0)
        if message.get("mistake"):
            counts.mistakes[message["mistake"]] += 1
        counts.primitives_refused.update(
            text.split(":", 1)[0] for text in message.get("primitives_refused", ())
        )
        if "wrong" in message or "broken" in message:
            counts.wrong_tags.update(tags)
            fields = message.get("program")
            program = None if fields is None else Program.from_fields(fields)
            signature = message.get("wrong", "fuzzer: broken")
            text = message.get("text", message.get("broken", ""))
            counts.findings.append(Finding(message["index"], signature, text, program))
        self.progress(counts)
