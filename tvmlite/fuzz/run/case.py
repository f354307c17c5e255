"""Case ``index`` of seed ``seed``: a program made by random choices that these numbers determine."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tvmlite.fuzz.compute.generate import generate
from tvmlite.fuzz.expected import values
from tvmlite.fuzz.expected.check import Wrong
from tvmlite.fuzz.program import Program, namespace, run
from tvmlite.fuzz.schedule import illegal
from tvmlite.fuzz.schedule.arranger import Arranger
from tvmlite.fuzz.schedule.schedules import arrange

TARGETS = ("native", "native", "native", "llvm -mcpu=haswell", "llvm -mcpu=x86-64")
"""The targets of LLVM: this machine, which is assumed to be an x86 if the others are to run on it."""


@dataclass(frozen=True)
class Case:
    """A program, with what was found while it was made: a wrong refusal, and the primitives refused."""

    program: Program
    wrong: Wrong | None = None
    mistake: str | None = None
    refused: tuple[str, ...] = ()


def make(seed: int, index: int, targets: tuple[str, ...] = TARGETS) -> Case:
    """Return the case, which is the same for the same numbers."""
    rnd = random.Random(f"{seed}/{index}")
    builder = generate(rnd)
    lines = list(builder.lines)
    read = {x.name for x in builder.computed if any(f"{x.name}[" in line for line in lines)}
    outputs = [x for x in builder.computed if x.name not in read]
    outputs += [x for x in builder.computed if x.name in read and rnd.random() < 0.12]
    lines.append(f"s = te.create_schedule([{', '.join(f'{x.name}.op' for x in outputs)}])")
    arranger = Arranger(rnd, run(lines, namespace()), lines, builder.sizes)
    wrong = mistake = None
    try:
        arrange(arranger)
        body = tuple(arranger.lines)
        mistake = illegal.attempt(arranger) if rnd.random() < 0.4 else None
    except Wrong as error:
        wrong, body = error, tuple(arranger.lines)
    kind, data_seed, target = values.random_kind(rnd), rnd.randrange(1000), rnd.choice(targets)
    tags = (*builder.tags, *dict.fromkeys(arranger.tags))
    program = Program(body, tuple(builder.sizes.items()), kind, data_seed, target, tags)
    return Case(program, wrong, mistake, tuple(arranger.refused))
