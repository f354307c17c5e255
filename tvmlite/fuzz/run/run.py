"""Many cases through several workers: progress, findings, and a table of what was tried."""

from __future__ import annotations

import select
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvmlite.fuzz.program import Program
from tvmlite.fuzz.run.crew import Member

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
class Tally:
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
class _Desk:
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
    progress: Callable[[Tally], object] = lambda tally: None,
    kind: str = "schedules",
) -> Tally:
    """Try cases 0 to ``count - 1`` of ``seed``, of ``kind`` (one of ``KINDS``), or as many as ``seconds``
    allow, or as come before a KeyboardInterrupt. ``progress`` is told the tally after each."""
    return _Run(seed, count, backends, jobs, seconds, progress, kind).run()


class _Run:
    def __init__(
        self,
        seed: int,
        count: int,
        backends: Sequence[str],
        jobs: int,
        seconds: float | None,
        progress: Callable[[Tally], object],
        kind: str,
    ) -> None:
        self.seed, self.backends, self.progress, self.kind = seed, list(backends), progress, kind
        self.blocks = deque(list(range(n, min(n + BLOCK, count))) for n in range(0, count, BLOCK))
        self.desks = [_Desk(Member()) for _ in range(jobs)]
        self.tally, self.start = Tally(), time.monotonic()
        self.end = None if seconds is None else self.start + seconds

    def run(self) -> Tally:
        try:
            while self.deal():
                self.listen()
        except KeyboardInterrupt:
            self.tally.interrupted = True
        finally:
            for desk in self.desks:
                desk.member.stop()
        self.tally.findings.sort(key=lambda finding: finding.index)
        self.tally.seconds = time.monotonic() - self.start
        return self.tally

    def deal(self) -> bool:
        """Give idle workers blocks; False when all is done."""
        late = self.end is not None and time.monotonic() > self.end
        for desk in self.desks:
            if not desk.busy and self.blocks and not late:
                desk.waiting, desk.busy = self.blocks.popleft(), True
                desk.member.send(seed=self.seed, indices=desk.waiting, backends=self.backends, kind=self.kind)
        return any(desk.busy for desk in self.desks)

    def listen(self) -> None:
        busy = [desk for desk in self.desks if desk.busy]
        streams = {desk.member.stream(): desk for desk in busy}
        ready, _, _ = select.select(list(streams), [], [], 1.0)
        for desk in busy if not ready else [streams[stream] for stream in ready]:
            for message in desk.member.messages(0.0):
                self.take(desk, message)

    def take(self, desk: _Desk, message: dict[str, Any]) -> None:
        if "stage" in message:
            desk.current, desk.stage = message.get("index", desk.current), message["stage"]
            desk.program = message.get("program", None if desk.stage == "generate" else desk.program)
        elif "crash" in message:
            self.crashed(desk, message["crash"])
        elif "done" in message:
            desk.waiting.remove(message["index"])
            self.count(message)
        elif "end" in message:
            desk.waiting, desk.busy = [], False

    def crashed(self, desk: _Desk, how: str) -> None:
        """A finding; what else the worker was given goes to the next one that has time."""
        if desk.current in desk.waiting:
            desk.waiting.remove(desk.current)
        program = None
        if desk.program is not None:
            program = Program.from_fields(desk.program)
            self.tally.wrong_tags.update(set(program.tags))
            self.tally.tags.update(set(program.tags))
        self.tally.cases += 1
        self.tally.findings.append(Finding(desk.current, f"{desk.stage}: crash", how, program))
        if desk.waiting:
            self.blocks.appendleft(desk.waiting)
        desk.waiting, desk.busy, desk.current, desk.program = [], False, -1, None
        self.progress(self.tally)

    def count(self, message: dict[str, Any]) -> None:
        tally, tags = self.tally, set(message.get("tags", ()))
        tally.cases += 1
        tally.tags.update(tags)
        if "refused" in message:
            tally.refused[message["refused"].split(":", 1)[0]] += 1
        tally.elements += message.get("elements", 0)
        tally.compared += message.get("compared", 0)
        if message.get("mistake"):
            tally.mistakes[message["mistake"]] += 1
        tally.primitives_refused.update(
            text.split(":", 1)[0] for text in message.get("primitives_refused", ())
        )
        if "wrong" in message or "broken" in message:
            tally.wrong_tags.update(tags)
            fields = message.get("program")
            program = None if fields is None else Program.from_fields(fields)
            signature = message.get("wrong", "fuzzer: broken")
            text = message.get("text", message.get("broken", ""))
            tally.findings.append(Finding(message["index"], signature, text, program))
        self.progress(tally)
