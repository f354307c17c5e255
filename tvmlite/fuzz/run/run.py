"""Many cases in several workers: progress, findings, and counts of what was tried."""

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
"""The number of cases that a worker gets at once; their C code is compiled together."""


KINDS = ("schedules", "symbolic", "quantized")
"""The kinds of cases: computes under random schedules, graphs of operators over symbolic extents, and
quantized graphs."""


@dataclass(frozen=True)
class Finding:
    """A case that went wrong: how, and the program (None if the case could not even be made)."""

    index: int
    signature: str
    text: str
    program: Program | None

    @property
    def is_refusal(self) -> bool:
        """Whether a refusal was wrong or missing while the program was made; these cannot be shrunk."""
        return self.signature.partition(":")[0] == "refusal"


@dataclass
class Counts:
    """Counts of what was tried."""

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


def fuzz(
    seed: int,
    count: int,
    backends: Sequence[str],
    jobs: int = 2,
    seconds: float | None = None,
    progress: Callable[[Counts], object] = lambda counts: None,
    kind: str = "schedules",
) -> Counts:
    """Try cases 0 to ``count - 1`` of ``seed``, of ``kind`` (one of ``KINDS``).

    End early after ``seconds``, or at a KeyboardInterrupt. ``progress`` is called with the counts after each
    case.
    """
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
        self.members = [Member() for _ in range(jobs)]
        self.waiting: dict[Member, list[int]] = {}
        """The cases that each busy worker has not reported on yet."""
        self.counts, self.start = Counts(), time.monotonic()
        self.end = None if seconds is None else self.start + seconds

    def run(self) -> Counts:
        try:
            while self.dispatch():
                self.receive()
        except KeyboardInterrupt:
            self.counts.interrupted = True
        finally:
            for member in self.members:
                member.stop()
        self.counts.findings.sort(key=lambda finding: finding.index)
        self.counts.seconds = time.monotonic() - self.start
        return self.counts

    def dispatch(self) -> bool:
        """Give idle workers blocks of cases; return False when all is done."""
        late = self.end is not None and time.monotonic() > self.end
        for member in self.members:
            if member not in self.waiting and self.blocks and not late:
                self.waiting[member] = block = self.blocks.popleft()
                member.send(kind=self.kind, seed=self.seed, indices=block, backends=self.backends)
        return bool(self.waiting)

    def receive(self) -> None:
        outputs = {member.process.output: member for member in self.waiting if member.process is not None}
        ready, _, _ = select.select(list(outputs), [], [], 1.0)
        for output in ready or outputs:
            for message in outputs[output].messages(0.0):
                self.handle(outputs[output], message)

    def handle(self, member: Member, message: dict[str, Any]) -> None:
        """Count what a message reports; put the other cases of a worker that crashed back into the queue."""
        if "end" in message:
            del self.waiting[member]
        elif "crash" in message:
            rest = [index for index in self.waiting.pop(member) if index != message["index"]]
            if rest:
                self.blocks.appendleft(rest)
            self.count(message | {"wrong": f"{message['stage']}: crash", "text": message["crash"]})
        else:
            self.waiting[member].remove(message["index"])
            self.count(message)

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
        refused = message.get("primitives_refused", ())
        counts.primitives_refused.update(text.split(":", 1)[0] for text in refused)
        if "wrong" in message or "broken" in message:
            counts.wrong_tags.update(tags)
            program = Program.from_fields(message["program"]) if "program" in message else None
            signature = message.get("wrong", "fuzzer: broken")
            text = message.get("text", message.get("broken", ""))
            counts.findings.append(Finding(message["index"], signature, text, program))
        self.progress(counts)
