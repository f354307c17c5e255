"""Random chains of valid and invalid primitives: accepted chains compute what the computation defines."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from fuzz.constructors import Subject, as_given, case_of, fault_of, limited, where_of
from fuzz.primitives import parts, steps, world

from tvmlite.core.errors import TvmliteError
from tvmlite.fuzz.expected.check import Refused, check
from tvmlite.te import lower

OTHERS = {"build", "lower", "normalize", "copy", "replay", "current", "create_group", "bind", "__getitem__"}
"""The methods in ``steps`` that do not change a schedule."""
WORDS = ("stage", "axis", "loop", "argument", "primitive", "predicate")
ONE_IN = 4
"""One chain is run for this many requested calls, as a chain costs more than a call."""


def _fault_of_chain(seed: str) -> tuple[str, list[str]] | None:
    """Apply a random chain of primitives; return the fault, if any, and the calls so far."""
    random, w = Random(seed), world()
    calls: list[str] = []
    for _ in range(random.choice((1, 2, 3, 4))):
        name = random.choice(sorted(steps(w).keys() - OTHERS))
        owner, given = random.choice(steps(w)[name])
        subject = Subject(name, getattr(owner, name), given, WORDS, wrong=parts(w))
        case = as_given(subject) if random.random() < 0.5 else case_of(subject, random, ())
        calls.append(str(case))
        fault = fault_of(case, lambda result: None)
        if fault is not None:
            return fault, calls
    fault = fault_of(as_given(Subject("lower", lower, {"schedule": w.s, "args": w.args}, WORDS)), str)
    fault = fault or _fault_of_result(w)
    return None if fault is None else (fault, calls)


def _fault_of_result(w: Any) -> str | None:
    """What is wrong with the results of the schedule; None if they are right or it was refused."""
    try:
        lower(w.s, w.args)
    except TvmliteError:
        return None
    try:
        with limited():
            check(w.s, backends=("llvm",))
    except Refused:
        return None
    except Exception as error:
        return where_of(error)
    return None


@pytest.mark.slow
def test_a_chain_of_primitives_computes_the_definition_or_is_refused(request: pytest.FixtureRequest) -> None:
    count, seed = (int(str(request.config.getoption(f"--constructor-{what}"))) for what in ("calls", "seed"))

    found = [_fault_of_chain(f"chain {seed} {number}") for number in range(count // ONE_IN)]
    first = dict(reversed([one for one in found if one is not None]))

    assert not first, "\n".join(f"{fault}\n    " + "\n    ".join(calls) for fault, calls in first.items())
