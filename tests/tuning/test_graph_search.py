"""Decisions are measured in the model, and only alternatives faster there are taken."""

from __future__ import annotations

import dataclasses
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from made_up_tuning import MadeUpMachine

import tvmlite
from tvmlite.autotune.measure import LocalRunner
from tvmlite.autotune.records import records as rec
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.runtime.library.profile import Profile
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.tuning import graph_search
from tvmlite.tuning import tune as tuning
from tvmlite.tuning.graph_search import Decided, Decider
from tvmlite.tuning.model_timing import profiled
from tvmlite.tuning.tune import tune

rng = np.random.default_rng(0)
X = rng.standard_normal((1, 16, 8, 8)).astype("float32")


def network() -> Module:
    """A convolution whose result is added to what it reads, twice."""
    x = var("x", (1, 16, 8, 8))
    value: Expr = make("nn.relu", x)
    for _ in range(2):
        weight = constant((rng.standard_normal((16, 16, 3, 3)) / 12).astype("float32"))
        value = make("add", make("nn.conv2d", value, weight, padding=1), value)
    return Module({"main": Function((x,), make("nn.global_avg_pool2d", value))})


@pytest.fixture(scope="module")
def module() -> Module:
    return network()


class MadeUp:
    """Runs in which ``costs`` gives the nanoseconds of kernels by operators (default: 1000), and ``more``
    adds time to the whole run."""

    def __init__(
        self, costs: Mapping[str, int], more: Callable[[CompiledModule], int] = lambda lib: 0
    ) -> None:
        self.costs, self.more, self.runs = costs, more, 0

    def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        self.runs += 1
        names = {one.task.symbol: " ".join(one.task.operators) for one in lib.kernels}
        rows = [(name, self.costs.get(names[name], 1000)) for name in lib.signature.kernels]
        return Profile(tuple(rows), sum(time for _, time in rows) + self.more(lib))


CONV = "nn.contrib_conv2d_NCHWc"
APART_IS_QUICKER = {f"{CONV} add": 9000, CONV: 3000}


def decided(
    module: Module, path: Path, run: MadeUp, seconds: float = math.inf, tolerance: float = 1e-4
) -> Decided:
    make_it = partial(tvmlite.compile, module)
    return Decider(make_it(), make_it, path, [X], run, 0, tolerance, MadeUpMachine()).decide(seconds)


def kernels(lib: CompiledModule) -> list[str]:
    names = {one.task.symbol: " ".join(one.task.operators) for one in lib.kernels}
    return [names[symbol] for symbol in lib.signature.kernels]


def test_a_faster_alternative_is_taken_recorded_and_used_by_compile(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"

    found = decided(module, path, MadeUp(APART_IS_QUICKER))
    lib = tvmlite.compile(module, records=path)

    assert found.runs is not None
    assert found.runs.is_better
    assert {one.taken for one in found.taken} == {"apart"}
    assert f"{CONV} add" not in kernels(found.lib)
    assert kernels(lib) == kernels(found.lib)
    assert "joined 18 µs, apart 8 µs  10 µs (56%)" in str(found)
    assert "decisions together: " in str(found)
    assert "joined 18 µs, apart 8 µs  10 µs (56%)" in str(lib.report)
    np.testing.assert_allclose(lib(X), tvmlite.compile(module)(X), rtol=1e-5, atol=1e-6)


def test_a_slower_alternative_is_rejected_and_its_cost_recorded(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"

    found = decided(module, path, MadeUp({CONV: 3000}))

    assert found.taken == ()
    assert found.runs is None
    measured = [one for one in found.records if one.costs]
    assert measured
    assert all(one.cost("apart") > one.cost("joined") for one in measured)
    assert rec.load(path).decisions == found.records
    assert kernels(tvmlite.compile(module, records=path)) == kernels(tvmlite.compile(module))


@pytest.mark.slow
def test_decisions_that_do_not_speed_up_the_whole_model_are_reverted(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    assert decided(module, path, MadeUp(APART_IS_QUICKER)).taken
    slow = MadeUp(APART_IS_QUICKER, more=lambda lib: 90_000 if CONV in kernels(lib) else 0)

    found = decided(module, path, slow)

    assert found.taken == ()
    assert found.runs is None
    assert "joined 18 µs, apart 8 µs  not faster in the model as a whole" in str(found)
    assert kernels(tvmlite.compile(module, records=path)) == kernels(tvmlite.compile(module))


@pytest.mark.slow
def test_decisions_of_an_earlier_run_are_not_tried_again(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    first = decided(module, path, MadeUp(APART_IS_QUICKER))
    size = path.stat().st_size

    again = decided(module, path, MadeUp(APART_IS_QUICKER), seconds=0.0)

    assert path.stat().st_size == size
    assert again.records == first.records
    assert again.untried == 0
    assert kernels(again.lib) == kernels(first.lib)


def test_without_time_no_decision_is_tried_and_the_count_is_reported(module: Module, tmp_path: Path) -> None:
    found = decided(module, tmp_path / "tune.jsonl", MadeUp(APART_IS_QUICKER), seconds=0.0)

    assert found.records == ()
    assert found.untried == len(tvmlite.compile(module).report.decisions)
    assert f"decisions not tried: {found.untried}" in str(found)


def test_an_alternative_with_other_results_is_rejected(module: Module, tmp_path: Path) -> None:
    found = decided(module, tmp_path / "tune.jsonl", MadeUp(APART_IS_QUICKER), tolerance=-1.0)

    assert found.taken == ()
    assert any("apart: answers are off by " in one.note for one in found.records)
    assert not any(one.costs for one in found.records)


def test_a_decision_without_kernels_to_gain_from_is_tried_last(module: Module, tmp_path: Path) -> None:
    base = tvmlite.compile(module)
    decider = Decider(
        base, partial(tvmlite.compile, module), tmp_path / "t", [X], MadeUp({}), 0, 1e-4, MadeUpMachine()
    )
    nowhere = dataclasses.replace(base.report.decisions[0], name="at nothing", kind="fuse", spans=frozenset())
    base.report = dataclasses.replace(base.report, decisions=(nowhere, *base.report.decisions))

    assert decider._by_possible_gain(base)[-1].name == "at nothing"


@pytest.mark.slow
def test_tuning_decides_on_the_graph_before_it_searches_kernels(
    module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "WHOLE_SECONDS", math.inf)  # wall time passes while this process is stopped
    path = tmp_path / "tune.jsonl"

    tuned = tune(
        module,
        records=path,
        trials=12,
        tuner="random",
        runner=MadeUpMachine(),
        run=MadeUp(APART_IS_QUICKER),
    )

    assert tuned.decided is not None
    assert tuned.decided.taken
    assert tuned.gain > 1
    assert str(tuned).startswith("decision ")
    assert kernels(tvmlite.compile(module, records=path)) == kernels(tuned.lib)
    assert f"{CONV} add" not in kernels(tuned.lib)


def _run(path: Path, killed: bool = False, resume: bool = False) -> int:
    """Tune in a separate process and return its exit status; ``killed``: at its first run after a decision.

    There is no time limit: the clock goes on while the process waits for a processor, so the decisions
    would depend on the load of the machine.
    """
    script = f"""
import math, os, signal, sys
from pathlib import Path
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from test_graph_search import APART_IS_QUICKER, MadeUp, MadeUpMachine, network, rec, tune, tuning

path = Path({str(path)!r})
tuning.WHOLE_SECONDS = math.inf

class Killed(MadeUp):
    def __call__(self, lib, inputs):
        if {killed} and path.exists() and rec.load(path).decisions:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(lib, inputs)

tune(network(), records=path, trials=12, seed=3, tuner="random", runner=MadeUpMachine(),
     run=Killed(APART_IS_QUICKER), resume={resume})
"""
    return subprocess.run([sys.executable, "-c", script]).returncode


def _story(path: Path) -> list[tuple[object, ...]]:
    """The content of the records without times."""
    loaded = rec.load(path)
    decisions = [(one.name, one.taken, one.default, one.seed) for one in loaded.decisions]
    return decisions + [(one.task, str(one.config), one.trial, one.origin, one.ok) for one in loaded]


@pytest.mark.slow
@pytest.mark.exhaustive  # as killed runs of all kinds in test_killed_tuning.py
def test_a_run_killed_while_deciding_is_resumed_to_the_same_end(module: Module, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    assert _run(whole) == 0

    assert _run(cut, killed=True) == -signal.SIGKILL
    kept = rec.load(cut)
    assert _run(cut, resume=True) == 0

    assert 0 < len(kept.decisions) < len(rec.load(whole).decisions)
    assert len(kept) == 0
    assert _story(cut) == _story(whole)
    names = [kernels(tvmlite.compile(module, records=path)) for path in (whole, cut)]
    assert names[0] == names[1]


@pytest.mark.slow
def test_a_run_killed_while_searching_takes_no_further_decisions(
    module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The killed run had no time for decisions; the resumed one would have, but keeps the graph."""
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"

    def run(path: Path, machine: MadeUpMachine, resume: bool = False) -> None:
        options = {"trials": 12, "seed": 3, "tuner": "random", "resume": resume}
        tune(module, records=path, runner=machine, run=MadeUp(APART_IS_QUICKER), **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tuning, "WHOLE_SECONDS", 0.0)
    run(whole, MadeUpMachine())
    with pytest.raises(KeyboardInterrupt):
        run(cut, MadeUpMachine(stop_after=5))
    monkeypatch.setattr(tuning, "WHOLE_SECONDS", math.inf)
    run(cut, MadeUpMachine(), resume=True)

    assert rec.load(cut).decisions == ()
    trials = [[line for line in _story(path) if line[3] != rec.FINAL] for path in (whole, cut)]
    assert trials[0] == trials[1]


def test_without_decisions_tuning_does_not_change_the_graph(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"

    tuned = tune(
        module,
        records=path,
        trials=4,
        tuner="random",
        runner=MadeUpMachine(),
        run=MadeUp(APART_IS_QUICKER),
        decisions=False,
    )

    assert rec.load(path).decisions == ()
    assert kernels(tuned.lib) == kernels(tvmlite.compile(module))


@pytest.mark.slow
def test_real_measurements_change_the_graph_only_for_a_gain(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    make_it = partial(tvmlite.compile, module)

    with LocalRunner(budget=0.001) as runner:
        found = Decider(make_it(), make_it, path, [X], profiled, 0, 1e-4, runner).decide(20.0)

    assert (found.runs is None) == (kernels(found.lib) == kernels(make_it()))
    code = found.records[0].code
    assert graph_search.latest(rec.load(path).decisions, found.lib.target, code, num_threads())
