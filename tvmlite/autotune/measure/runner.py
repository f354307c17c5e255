"""Runs candidates in a worker process, which is started again when a candidate ends it."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from tvmlite.autotune.measure import frames
from tvmlite.autotune.measure.cold import DEFAULT_FOOTPRINT, Footprint
from tvmlite.autotune.measure.worker_process import WorkerProcess
from tvmlite.core import arguments
from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.machine.target import Target
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop import serialize

WORKER = "tvmlite.autotune.measure.worker"

EXIT_SECONDS = 5.0
"""Seconds to wait for a worker to end after its pipe is closed."""


@dataclass(frozen=True)
class Candidate:
    """A function to run: LLVM IR for ``target``, with its signature (``Signature.to_json``).

    When it is timed, the arrays at the positions ``cold`` come from memory.
    """

    ir_text: str
    signature: str
    target: Target
    cold: tuple[int, ...] = ()


@dataclass(frozen=True)
class BuildRequest:
    """A function that is not built into a ``Candidate`` yet: structured loop IR, for ``target``."""

    function: loop.Function
    target: Target


@dataclass(frozen=True)
class Outcome:
    """The result of measuring a candidate: ``costs``, seconds of one call, or an ``error``, one of
    ``records.ERRORS``."""

    costs: tuple[float, ...] = ()
    error: str = ""
    message: str = ""
    busy: float = 0.0


@runtime_checkable
class Runner(Protocol):
    """A machine to measure on: ``LocalRunner``, or any class with these four methods.

    ``threads`` is the number of threads that candidates run with, 0 if that is unknown.
    """

    threads: int

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        """Set the reference of ``task``: the results of ``reference`` on arrays generated from ``seed``."""
        ...

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        """Check a candidate of a prepared task against its reference, and time it."""
        ...

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        """Time candidates interleaved, so that they can be compared; those that fail are reported, and the
        others are compared without them."""
        ...

    def close(self) -> None:
        """Release the machine."""
        ...


class ReferenceFailed(TvmliteError):
    """The reference of a task could not be run, so that none of its candidates can be checked. ``error`` is
    that of its ``Outcome``."""

    def __init__(self, task: str, error: str, message: str) -> None:
        super().__init__(f"task {task}: the reference failed: {error}: {message}")
        self.error = error


@runtime_checkable
class BuildingRunner(Runner, Protocol):
    """A machine that also generates candidates' code when it has nothing else to do."""

    def build_and_measure(self, task: str, request: BuildRequest) -> Outcome:
        """Build ``request`` and measure it as ``measure`` does; an ``Outcome`` with the error on failure."""
        ...


@runtime_checkable
class InterruptibleRunner(Runner, Protocol):
    """A machine whose measurement another thread can end."""

    def interrupt(self) -> None:
        """End the current measurement; its result is discarded."""
        ...


@dataclass
class LocalRunner:
    """Measures in a separate process on this machine, with this process's affinity.

    A run has ``number`` calls (None: as many as last 0.2 ms). There are ``repeat`` runs (None: for ``budget``
    seconds, and fewer for candidates that are not among the best). A candidate that has not ended after
    ``timeout`` seconds is killed. ``threads`` is the number of threads of a candidate. ``footprint`` has the
    bytes of weights and values that the model touches between two calls: arrays are as cold as it makes them.
    ``processors`` are those that the worker may run on, of this process's; all of them if None.
    """

    number: int | None = None
    budget: float = 0.02
    timeout: float = 10.0
    reference_timeout: float = 120.0
    threads: int = 1
    footprint: Footprint = DEFAULT_FOOTPRINT
    processors: tuple[int, ...] | None = None
    repeat: int | None = None

    def __post_init__(self) -> None:
        for name in ("budget", "timeout", "reference_timeout"):
            arguments.number(f"LocalRunner: {name}", getattr(self, name), InputError)
        for name in ("number", "threads", "repeat"):
            if getattr(self, name) is not None:
                arguments.whole(f"LocalRunner: {name}", getattr(self, name), InputError, least=1)
        arguments.instance("LocalRunner: footprint", self.footprint, Footprint, "a footprint", InputError)
        if self.processors is not None:
            for one in arguments.listed("LocalRunner: processors", self.processors, "ints", InputError):
                arguments.whole("LocalRunner: processors", one, InputError, least=0)
        self._process: WorkerProcess | None = None
        self._prepared: set[str] = set()
        self._references: dict[str, tuple[Candidate, int]] = {}

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        """See ``Runner``; the reference is sent to the worker when first needed, and again after a crash."""
        if self._references.get(task) != (reference, seed):
            self._prepared.discard(task)
        self._references[task] = reference, seed

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        """See ``Runner``."""
        wanted = {"do": "measure", "signature": candidate.signature}
        return self._measured(task, candidate.target, wanted, candidate.ir_text.encode())

    def build_and_measure(self, task: str, request: BuildRequest) -> Outcome:
        """See ``BuildingRunner``."""
        return self._measured(task, request.target, {"do": "build"}, serialize.encode(request.function))

    def _measured(self, task: str, target: Target, wanted: dict[str, Any], payload: bytes) -> Outcome:
        wanted |= {"number": self.number, "budget": self.budget, "repeat": self.repeat}
        start, spent = time.perf_counter(), time.process_time()
        reply = self._ask(task, target, wanted, payload, self.timeout)
        if reply.get("error"):
            return Outcome(error=reply["error"], message=reply["message"])
        # The tuner searches in this process at the same time; that is not foreign load.
        own_share = (time.process_time() - spent) / ((time.perf_counter() - start) * (os.cpu_count() or 1))
        return Outcome(tuple(reply["costs"]), busy=max(reply["busy"] - own_share, 0.0))

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        """See ``Runner``."""
        mark = "\n; ---- the next candidate\n"
        wanted = {"do": "compare", "mark": mark, "budget": self.budget, "rounds": 7}
        wanted["signatures"] = [one.signature for one in candidates]  # each has its own workspace size
        text = mark.join(one.ir_text for one in candidates)
        reply = self._ask(task, candidates[0].target, wanted, text.encode(), self.reference_timeout)
        if reply.get("error"):
            return self._without_failing_one(task, candidates, Outcome(**reply))
        return [
            Outcome(tuple(one.get("costs", ())), one.get("error", ""), one.get("message", ""))
            for one in reply["outcomes"]
        ]

    def _without_failing_one(self, task: str, candidates: list[Candidate], failed: Outcome) -> list[Outcome]:
        """The outcomes of ``candidates`` after their comparison ended the worker with ``failed``. Those that
        also fail alone get their own outcome; the others are compared again, if they are fewer now."""
        alone = [self.measure(task, one) for one in candidates]
        rest = [one for one, outcome in zip(candidates, alone, strict=True) if not outcome.error]
        if len(rest) == len(candidates):
            return [failed] * len(candidates)
        compared = iter(self.compare(task, rest) if rest else ())
        return [outcome if outcome.error else next(compared) for outcome in alone]

    def close(self) -> None:
        """End the worker."""
        process, self._process = self._process, None
        self._prepared.clear()
        if process is not None:
            process.close()

    def interrupt(self) -> None:
        """See ``InterruptibleRunner``; the thread that waits for the worker notices its end, and cleans
        up."""
        process = self._process
        if process is not None:
            process.kill()

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(
        self, task: str, target: Target, fields: dict[str, Any], payload: bytes, timeout: float
    ) -> dict[str, Any]:
        """Return the worker's reply about ``task``, whose reference is sent first. If the arrays of other
        tasks leave too little memory, ask a new worker, which has none of these."""
        if task not in self._prepared:
            self._send_reference(task)
        reply = self._request(target, {**fields, "task": task}, payload, timeout)
        if reply.get("error") == "memory" and self._prepared - {task}:
            self.close()
            return self._ask(task, target, fields, payload, timeout)
        return reply

    def _send_reference(self, task: str) -> None:
        """Send the worker the reference of ``task``; ReferenceFailed if it cannot be run."""
        reference, seed = self._references[task]
        wanted = {"do": "reference", "seed": seed, "task": task}
        wanted |= {"cold": list(reference.cold), "footprint": asdict(self.footprint)}
        wanted |= {"signature": reference.signature}
        text = reference.ir_text.encode()
        reply = self._request(reference.target, wanted, text, self.reference_timeout)
        if reply.get("error") == "memory" and self._prepared:
            self.close()
            self._send_reference(task)
        elif reply.get("error"):
            raise ReferenceFailed(task, reply["error"], reply["message"])
        self._prepared.add(task)

    def _request(
        self, target: Target, fields: dict[str, Any], payload: bytes, timeout: float
    ) -> dict[str, Any]:
        """Return the worker's reply; the worker is closed after a timeout or a crash."""
        fields |= {"target": target.with_cores, "timeout": timeout}
        process = self._started()
        deadline = time.monotonic() + timeout
        try:
            frames.send(process.input, fields, payload, deadline)
            return frames.receive(process.output, deadline)[0]
        except frames.TooLate:
            self.close()
            return {"error": "timeout", "message": f"not ended after {timeout:g} s"}
        except frames.Closed:
            reply = self._exit_reason(process)
            self.close()
            return reply
        except BaseException:  # Ctrl-C: a late reply must not be taken for that of a later request
            self.close()
            raise

    def _started(self) -> WorkerProcess:
        if self._process is None:
            processors = tuple(map(str, self.processors or ()))
            self._process = WorkerProcess(WORKER, processors, TVMLITE_NUM_THREADS=str(self.threads))
            os.set_blocking(self._process.input, False)  # so that the deadline can be kept
        return self._process

    def _exit_reason(self, process: WorkerProcess) -> dict[str, Any]:
        """The error to report for a worker that ended by itself; the system kills one when memory is full."""
        status = process.exit_status(EXIT_SECONDS)
        if status is None:
            return {"error": "crash", "message": "the process closed its pipe but did not end"}
        lines = process.stderr_tail().splitlines()
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        message = f"the process ended with {how}" + (f": {lines[-1][:300]}" if lines else "")
        return {"error": "memory" if status == -signal.SIGKILL else "crash", "message": message}
