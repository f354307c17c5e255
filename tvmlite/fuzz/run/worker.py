"""A process that tries programs, so that one that crashes takes no other with it.

It reads a request a line from standard input and writes messages a line to standard output, both JSON. A
message with "stage" tells what is about to be tried, so that who listens knows what a crash was in.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import LibraryError, TvmliteError
from tvmlite.fuzz.expected.check import Job, Refused, Wrong, check_legal, prepare, run_native, run_together
from tvmlite.fuzz.expected.evaluate import TooLarge
from tvmlite.fuzz.program import Program
from tvmlite.fuzz.run import case
from tvmlite.fuzz.symbolic import case as symbolic_case
from tvmlite.fuzz.symbolic.check import check as check_symbolic
from tvmlite.te.tensor import tensor as t

C_TARGETS = ("c -vector-bits=512", "c -vector-bits=256", "c")


class Worker:
    """Carries requests out; ``say`` sends a message."""

    def __init__(self) -> None:
        self.output = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)  # what compiled code or compilers print is not a message

    def say(self, **message: Any) -> None:
        self.output.write(json.dumps(message) + "\n")

    def serve(self) -> None:
        """Until the input ends."""
        self.output.write("ready\n")
        for line in sys.stdin:
            request = json.loads(line)
            if "program" in request:
                self.single(Program.from_fields(request["program"]), request["backends"])
            elif "describe" in request:
                self.describe(Program.from_fields(request["describe"]))
            elif request["kind"] == "symbolic":
                self.symbolic(request["seed"], request["indices"])
            else:
                self.block(request["seed"], request["indices"], request["backends"])
            self.say(end=True)

    def single(self, program: Program, backends: Sequence[str]) -> None:
        """One program: its failure's signature and text, or none."""
        self.say(stage="lower")
        try:
            job = self.prepared(program, 0)
            self.legal_and_native(job, backends)
            if "c" in backends:
                for target in C_TARGETS:
                    self.say(stage="c: compile")
                    for wrong in run_together([job], target).values():
                        raise wrong
        except Wrong as wrong:
            self.say(wrong=wrong.signature, text=wrong.text)
        except Refused as refused:
            self.say(refused=str(refused))
        except Exception as error:  # the program is none: a shrunk one may be anything
            self.say(invalid=f"{type(error).__name__}: {error}")
        else:
            self.say(right=True)

    def prepared(self, program: Program, index: int) -> Job:
        return prepare(program, program.build(), f"kernel{index}", lambda name: self.say(stage=name))

    def legal_and_native(self, job: Job, backends: Sequence[str]) -> None:
        self.say(stage="legalize")
        legal = check_legal(job, job.program.target)
        if "llvm" in backends:
            self.say(stage="llvm")
            run_native(job, legal, job.program.target)

    def block(self, seed: int, indices: Sequence[int], backends: Sequence[str]) -> None:
        """Several cases; the C code of all is compiled at once."""
        jobs: dict[int, Job] = {}
        for index in indices:
            start = time.perf_counter()
            self.say(index=index, stage="generate")
            result = self.one(seed, index, backends, jobs)
            if "c" not in backends or index not in jobs:
                self.done(index, result, time.perf_counter() - start)
        if "c" in backends and jobs:
            self.together(jobs, C_TARGETS[(seed + indices[0]) % len(C_TARGETS)])

    def symbolic(self, seed: int, indices: Sequence[int]) -> None:
        """Several graphs over symbolic extents, one by one."""
        for index in indices:
            start = time.perf_counter()
            self.say(index=index, stage="generate")
            self.done(index, self.one_symbolic(seed, index), time.perf_counter() - start)

    def one_symbolic(self, seed: int, index: int) -> dict[str, Any]:
        """What comes of one graph."""
        facts: dict[str, Any] = {}
        try:
            made = symbolic_case.make(seed, index)
            facts["tags"] = [made.family]
            self.say(index=index, stage="compile")
            facts["elements"] = facts["compared"] = check_symbolic(made)
        except Wrong as wrong:
            return {**facts, "wrong": wrong.signature, "text": wrong.text}
        except TvmliteError as error:
            return {**facts, "refused": error.message}
        except Exception:
            return {**facts, "broken": traceback.format_exc(limit=-4)}
        return facts

    def one(self, seed: int, index: int, backends: Sequence[str], jobs: dict[int, Job]) -> dict[str, Any]:
        """All but the C code of one case; those ready for C join ``jobs``."""
        try:
            made = case.make(seed, index)
        except Exception:
            return {"broken": traceback.format_exc(limit=-4)}
        facts: dict[str, Any] = {
            "tags": list(made.program.tags),
            "primitives_refused": list(made.refused),
            "mistake": made.mistake,
            "program": made.program.to_fields(),
        }
        self.say(index=index, stage="lower", program=facts["program"])
        if made.wrong is not None:
            return {**facts, "wrong": made.wrong.signature, "text": made.wrong.text}
        try:
            job = self.prepared(made.program, index)
            self.legal_and_native(job, backends)
        except Wrong as wrong:
            return {**facts, "wrong": wrong.signature, "text": wrong.text}
        except Refused as refused:
            return {**facts, "refused": str(refused)}
        except TooLarge as error:
            return {**facts, "refused": str(error)}
        except Exception:
            return {**facts, "broken": traceback.format_exc(limit=-4)}
        facts |= {"compared": job.compared, "elements": job.elements}
        job.facts.update(facts)
        jobs[index] = job
        return facts

    def together(self, jobs: dict[int, Job], target: str) -> None:
        """The C code of ``jobs``, in one library; one by one if that fails."""
        start = time.perf_counter()
        failed: dict[int, Wrong] = {}
        for index, job in jobs.items():
            job.stage = lambda name, index=index: self.say(index=index, stage=name)
        self.say(index=next(iter(jobs)), stage="c: compile")
        try:
            failed = run_together(list(jobs.values()), target)
        except (Wrong, LibraryError):
            for index, job in jobs.items():
                try:
                    failed.update((index, one) for one in run_together([job], target).values())
                except Wrong as wrong:
                    failed[index] = wrong
        else:
            numbers = list(jobs)
            failed = {numbers[place]: wrong for place, wrong in failed.items()}
        spent = (time.perf_counter() - start) / len(jobs)
        for index, job in jobs.items():
            result = dict(job.facts)
            if index in failed:
                result |= {"wrong": failed[index].signature, "text": failed[index].text}
            self.done(index, result, spent)

    def done(self, index: int, result: dict[str, Any], seconds: float) -> None:
        if "wrong" not in result and "broken" not in result:
            result.pop("program", None)
        self.say(index=index, done=True, seconds=round(seconds, 3), **result)

    def describe(self, program: Program) -> None:
        """Shape and dtype, as text, of each tensor by its name: what a placeholder in its place would be."""
        names = program.names()
        found = {}
        for name, value in names.items():
            if isinstance(value, t.Tensor):
                found[name] = [", ".join(str(n) for n in value.shape), value.dtype]
        self.say(tensors=found)


def main() -> None:
    """Serve, without a cache of objects: programs are not seen twice."""
    os.environ["TVMLITE_CACHE"] = "off"
    Worker().serve()


if __name__ == "__main__":
    main()
