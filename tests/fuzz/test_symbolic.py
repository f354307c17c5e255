"""Random graphs over symbolic extents, and how the fuzzer handles wrong results."""

from __future__ import annotations

import dataclasses

import pytest

import tvmlite
from tvmlite.cli import main
from tvmlite.fuzz.expected.check import Wrong
from tvmlite.fuzz.run.run import fuzz
from tvmlite.fuzz.symbolic.case import Case, make
from tvmlite.fuzz.symbolic.check import check
from tvmlite.fuzz.symbolic.families import FAMILIES
from tvmlite.relay.ir.nodes import Function, Module, var
from tvmlite.relay.ir.op import make as call
from tvmlite.relay.ir.types import dim

SEED, GRAPHS = 1, 24
"""A fixed seed, so that results depend on the code only. ``tvmlite fuzz --kind symbolic`` tries others."""

a, b = dim("a"), dim("b")


@pytest.mark.slow
@pytest.mark.exhaustive  # `.ci/run` tries others with another seed
def test_random_graphs_over_symbolic_extents_have_no_findings() -> None:
    counts = fuzz(SEED, GRAPHS, [], jobs=2, seconds=40, kind="symbolic")

    told = "\n".join(f"case {f.index}: {f.signature}: {f.text}" for f in counts.findings)
    assert not counts.findings, f"seed {SEED}\n{told}"
    assert counts.compared >= counts.cases


def test_a_graph_is_determined_by_seed_and_index() -> None:
    assert str(make(5, 7).module) == str(make(5, 7).module)
    assert len({make(5, n).family for n in range(60)}) > len(FAMILIES) // 2


def test_wrong_values_and_types_of_a_case_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    x = var("x", (a, b))
    case = Case(Module({"main": Function((x,), call("tanh", x))}), ({a: 2, b: 3},), "elementwise")
    assert check(case) == 1

    twice = tvmlite.compile(Module({"main": Function((x,), call("add", x, x))}))
    monkeypatch.setattr("tvmlite.fuzz.symbolic.check.compile", lambda module: twice)
    with pytest.raises(Wrong, match="run: value: output 0 at a=2, b=3"):
        check(case)
    lone = dataclasses.replace(case, module=Module({"main": Function((x,), call("sum", x))}))
    with pytest.raises(
        Wrong, match=r"run: type: output 0 at a=2, b=3 is float32\(2, 3\), expected float32\(\)"
    ):
        check(lone)


def test_the_command_shows_a_graph_and_its_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--kind", "symbolic", "--seed", "1", "--show", "3"]) == 0
    text = capsys.readouterr().out
    assert "def @main(" in text
    assert "# at a=" in text
