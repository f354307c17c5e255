"""A process that tries programs, so that a crash affects no other process.

It reads one request per line from standard input and writes one message per line to standard output, both in
JSON. A message with "stage" names what is tried next, so that its reader knows where a crash happened.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tvmlite.core.errors import TvmliteError
from tvmlite.fuzz.expected.check import Job, Refused, Wrong, check_legal, prepare, run_native, run_together
from tvmlite.fuzz.program import Program
from tvmlite.fuzz.quantized import case as quantized_case
from tvmlite.fuzz.quantized.check import check as check_quantized
from tvmlite.fuzz.quantized.check import targets
from tvmlite.fuzz.run import case
from tvmlite.fuzz.symbolic import case as symbolic_case
from tvmlite.fuzz.symbolic.check import check as check_symbolic
from tvmlite.te.tensor import tensor as t

C_TARGETS = ("c -vector-bits=512", "c -vector-bits=256", "c")

C_SHARE = 8
"""One of this many quantized graphs is compiled in C."""


class Worker:
    """Carries out requests; ``say`` sends a message."""

    def __init__(self) -> None:
        self.output = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)  # what compiled code or compilers print is not a message

    def say(self, **message: Any) -> None:
        """Write one message, a line of JSON, to the process that sent the request."""
        self.output.write(json.dumps(message) + "\n")

    def serve(self) -> None:
        """Serve requests until the input ends."""
        self.output.write("ready\n")
        for line in sys.stdin:
            request = json.loads(line)
            if "program" in request:
                program = Program.from_fields(request["program"])
                self.say(**_outcome(partial(self.single, program, request["backends"])))
            elif "describe" in request:
                self.describe(Program.from_fields(request["describe"]))
            else:
                self.block(**request)
            self.say(end=True)

    def single(self, program: Program, backends: Sequence[str]) -> None:
        """Check one program, in all forms of C."""
        self.say(stage="lower")
        job = self.prepared(program, 0, backends)
        for target in C_TARGETS if "c" in backends else ():
            self.say(stage="c: compile")
            for wrong in run_together([job], target).values():
                raise wrong

    def prepared(self, program: Program, index: int, backends: Sequence[str]) -> Job:
        """Compare ``program`` in all ways but C."""

        def stage(name: str) -> None:
            self.say(index=index, stage=name)

        job = prepare(program, program.build(), f"kernel{index}", stage)
        stage("legalize")
        legal = check_legal(job, program.target)
        if "llvm" in backends:
            stage("llvm")
            run_native(job, legal, program.target)
        return job

    def block(self, kind: str, seed: int, indices: Sequence[int], backends: Sequence[str]) -> None:
        """Check several cases; their C code is compiled together."""
        waiting: dict[int, tuple[Job, dict[str, Any]]] = {}
        for index in indices:
            self.say(index=index, stage="generate")
            facts: dict[str, Any] = {}
            if kind == "symbolic":
                facts |= _outcome(partial(self.symbolic, seed, index, facts))
            elif kind == "quantized":
                facts |= _outcome(partial(self.quantized, seed, index, backends, facts))
            else:
                jobs: list[Job] = []
                facts |= _outcome(partial(self.schedule, seed, index, backends, facts, jobs))
                if jobs and "c" in backends:
                    waiting[index] = jobs[0], facts
                    continue
            self.done(index, facts)
        if not waiting:
            return
        self.say(index=next(iter(waiting)), stage="c: compile")
        target = C_TARGETS[(seed + indices[0]) % len(C_TARGETS)]
        failed = run_together([job for job, _ in waiting.values()], target)
        for place, (index, (_, facts)) in enumerate(waiting.items()):
            self.done(index, facts | (_fields(failed[place]) if place in failed else {}))

    def symbolic(self, seed: int, index: int, facts: dict[str, Any]) -> None:
        """Check one graph over symbolic extents; what is known of it is added to ``facts``."""
        try:
            made = symbolic_case.make(seed, index)
            facts["tags"] = [made.family]
            self.say(index=index, stage="compile", **facts)
            facts["elements"] = facts["compared"] = check_symbolic(made)
        except TvmliteError as error:
            raise Refused(error.message) from error

    def quantized(self, seed: int, index: int, backends: Sequence[str], facts: dict[str, Any]) -> None:
        """Check one quantized graph; one in ``C_SHARE`` also in C, whose compilers are slow."""
        made = quantized_case.make(seed, index)
        facts["tags"] = list(made.kinds)
        self.say(index=index, stage="compile", **facts)
        chosen = [name for name in backends if name != "c" or backends == ["c"] or index % C_SHARE == 0]
        facts["elements"] = facts["compared"] = check_quantized(made, targets(chosen))

    def schedule(
        self, seed: int, index: int, backends: Sequence[str], facts: dict[str, Any], jobs: list[Job]
    ) -> None:
        """Check one case but for its C code; add it to ``jobs`` when it is ready for that.

        What is known of it is added to ``facts``.
        """
        made = case.make(seed, index)
        facts |= {"tags": made.program.tags, "program": made.program.to_fields(), "mistake": made.mistake}
        facts["primitives_refused"] = made.refused
        self.say(index=index, stage="lower", **facts)
        if made.wrong is not None:
            raise made.wrong
        job = self.prepared(made.program, index, backends)
        facts |= {"compared": job.compared, "elements": job.elements}
        jobs.append(job)

    def done(self, index: int, facts: dict[str, Any]) -> None:
        """Report the outcome of case ``index``; its program is sent only if something is wrong with it."""
        if "wrong" not in facts and "broken" not in facts:
            facts.pop("program", None)
        self.say(index=index, done=True, **facts)

    def describe(self, program: Program) -> None:
        """Report shape and dtype, as text, of each tensor by its name, for a placeholder in its place."""
        tensors = {name: value for name, value in program.names().items() if isinstance(value, t.Tensor)}
        self.say(tensors={n: [", ".join(map(str, one.shape)), one.dtype] for n, one in tensors.items()})


def _outcome(attempt: Callable[[], object]) -> dict[str, Any]:
    """Return what is wrong, refused, or broken in the fuzzer itself, in ``attempt``; empty if nothing is."""
    try:
        attempt()
    except Wrong as wrong:
        return _fields(wrong)
    except Refused as refused:
        return {"refused": str(refused)}
    except Exception:  # a shrunk program may be anything
        return {"broken": traceback.format_exc(limit=-4)}
    return {}


def _fields(wrong: Wrong) -> dict[str, str]:
    return {"wrong": wrong.signature, "text": wrong.text}


if __name__ == "__main__":
    Worker().serve()
