"""Tuning from end to end: records are kept, a run is resumed, the winner is used."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_tuning import MadeUpMachine

import tvmlite
from tvmlite import autotune, te
from tvmlite.autotune.measure import BuildRequest, Candidate, Outcome, ReferenceFailed
from tvmlite.autotune.measure.build import Builder, Lowered, candidate_of
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.search import engine
from tvmlite.autotune.search.tuners import RandomTuner
from tvmlite.autotune.tune import seconds_of
from tvmlite.core.errors import ExecutionError, InputError, ScheduleError
from tvmlite.te.space import ConfigEntity, OptionChoice, Task, decode_args, encode_args

Template = Callable[[int, int, int], tuple[te.Schedule, list[te.Tensor]]]


def test_the_best_measured_schedule_is_used(task: Task, matmul: Template, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    with autotune.LocalRunner(budget=0.001) as runner:
        tuned = autotune.tune(task, path, trials=6, runner=runner, tuner="random")[0]

    written = rec.load(path)
    with autotune.apply_history_best(path) as history:
        s, args = matmul(16, 16, 16)

    assert [r.trial for r in written if r.origin == "random"] == list(range(6))
    assert all(r.verified == (not r.error) for r in written)
    assert tuned.best.ok
    assert history.missing == []
    assert "\n".join(map(str, s.trace)).splitlines() == list(tuned.best.trace)
    a, b = np.ones((16, 16), np.float32), np.eye(16, dtype=np.float32)
    np.testing.assert_array_equal(tvmlite.build(s, args)(a, b), a)


@pytest.mark.slow
def test_a_resumed_run_ends_like_an_uninterrupted_one(task: Task, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    expected = autotune.tune(task, whole, trials=30, seed=5, runner=MadeUpMachine())[0]

    with pytest.raises(KeyboardInterrupt):
        autotune.tune(task, cut, trials=30, seed=5, runner=MadeUpMachine(stop_after=13))
    kept = len(rec.load(cut))
    machine = MadeUpMachine()
    found = autotune.tune(task, cut, trials=30, seed=5, runner=machine, resume=True)[0]

    assert kept == 13
    assert machine.calls == 30 - kept
    assert found.best.config.settings == expected.best.config.settings
    assert [str(r.config) for r in rec.load(cut)] == [str(r.config) for r in rec.load(whole)]


class KnowsOneTask(MadeUpMachine):
    """Fails to run the reference of every task but one."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.known = task.key

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        if task != self.known:
            raise ReferenceFailed(task, "timeout", "not ended after 120 s")
        return super().measure(task, candidate)


@pytest.mark.parametrize("tuner", ["random", "xgboost"])
def test_a_task_whose_reference_fails_is_reported_and_others_go_on(
    task: Task, other_task: Task, tuner: str, tmp_path: Path
) -> None:
    machine, path = KnowsOneTask(other_task), tmp_path / "tune.jsonl"
    lost, found = autotune.tune([task, other_task], path, trials=24, tuner=tuner, runner=machine)

    assert lost.best is None
    assert "nothing could be measured: 1 reference; the first: reference: task" in str(lost)
    assert "not ended after 120 s" in str(lost)
    assert found.best is not None
    assert found.progress.trials == 24
    assert {record.task_key for record in rec.load(path)} == {other_task.key}


def test_failing_references_of_all_tasks_are_an_error(task: Task, other_task: Task) -> None:
    machine = KnowsOneTask(other_task)
    with pytest.raises(ExecutionError, match=r"nothing could be measured.*1 reference; the first: reference"):
        autotune.tune(task, trials=24, runner=machine)


def test_ctrl_c_interrupts_the_measurement(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(MadeUpMachine):
        def measure(self, task: str, candidate: Candidate) -> Outcome:
            ended.append(interrupted.wait(60))
            return super().measure(task, candidate)

        def interrupt(self) -> None:
            interrupted.set()

    def stop(tuner: RandomTuner, count: int) -> list[int]:
        raise KeyboardInterrupt

    interrupted, ended = threading.Event(), []
    monkeypatch.setattr(RandomTuner, "propose", stop)

    with pytest.raises(KeyboardInterrupt):
        autotune.tune(task, trials=12, runner=Endless(), tuner="random")

    assert ended == [True]


def test_records_of_another_number_of_threads_are_not_resumed(task: Task, tmp_path: Path) -> None:
    first, again, other = MadeUpMachine(), MadeUpMachine(), MadeUpMachine()
    first.threads = again.threads = 1
    other.threads = 2
    path = tmp_path / "tune.jsonl"

    autotune.tune(task, path, trials=12, runner=first, tuner="random")
    autotune.tune(task, path, trials=12, runner=again, tuner="random", resume=True)
    autotune.tune(task, path, trials=12, runner=other, tuner="random", resume=True)

    assert (first.calls, again.calls, other.calls) == (12, 0, 12)
    assert {r.threads for r in rec.load(path)} == {1, 2}


@pytest.mark.parametrize(("threads", "beside"), [(1, True), (2, False)])
def test_nothing_is_lowered_while_candidates_occupy_all_processors(
    task: Task, threads: int, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(MadeUpMachine):
        def measure(self, task: str, candidate: Candidate) -> Outcome:
            measuring.set()
            time.sleep(0.01)
            outcome = super().measure(task, candidate)
            measuring.clear()
            return outcome

    def lowered(self: Builder, config: ConfigEntity) -> Lowered | Outcome:
        met.append(measuring.is_set())
        return make(self, config)

    measuring, met, make = threading.Event(), [], Builder.lowered
    monkeypatch.setattr(Builder, "lowered", lowered)
    monkeypatch.setattr("tvmlite.autotune.search.engine.processors", lambda: 2)
    machine = Slow()
    machine.threads = threads

    autotune.tune(task, trials=12, runner=machine, tuner="random")

    assert any(met) == beside


def test_the_machine_builds_a_candidate_the_tuner_has_not_built_yet(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Building(MadeUpMachine):
        def build_and_measure(self, task: str, request: BuildRequest) -> Outcome:
            there.append(request)
            all_built.wait(60)
            candidate = candidate_of(request.function, request.target)
            assert isinstance(candidate, Candidate)
            return self.measure(task, candidate)

    def built(self: Builder, config: ConfigEntity) -> Candidate | Outcome:
        here.append(config)
        if len(here) == 7:
            all_built.set()
        return make(self, config)

    there: list[BuildRequest] = []
    here: list[ConfigEntity] = []
    all_built, make = threading.Event(), Builder.built
    monkeypatch.setattr(Builder, "built", built)
    monkeypatch.setattr("tvmlite.autotune.search.engine.processors", lambda: 2)

    done = engine.run(RandomTuner(task), Building(), 8)

    assert done.trials == 8
    assert len(here) == 8 - len(there) >= 7


@pytest.mark.parametrize("waited", [False, True])
def test_the_tuner_plans_ahead_before_building_if_the_machine_waited(
    task: Task, monkeypatch: pytest.MonkeyPatch, waited: bool
) -> None:
    class Building(MadeUpMachine):
        def build_and_measure(self, task: str, request: BuildRequest) -> Outcome:
            thought.wait(60)
            candidate = candidate_of(request.function, request.target)
            assert isinstance(candidate, Candidate)
            return self.measure(task, candidate)

    def built(self: Builder, config: ConfigEntity) -> Candidate | Outcome:
        done.append("built")
        return make(self, config)

    def propose_next() -> None:
        done.append("thought")
        thought.set()

    done: list[str] = []
    thought, make = threading.Event(), Builder.built
    monkeypatch.setattr(Builder, "built", built)
    monkeypatch.setattr("tvmlite.autotune.search.engine.processors", lambda: 2)
    tuner = RandomTuner(task)
    monkeypatch.setattr(tuner, "propose_next", propose_next)
    search = engine.Search(tuner, Building(), 4)
    search.machine_waited = waited
    with ThreadPoolExecutor(1) as measuring:
        search.step(3, measuring)

    assert done[0 if waited else -1] == "thought"


def test_no_batch_is_planned_that_will_not_be_tried(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    thoughts: list[int] = []
    tuner = RandomTuner(task)
    search = engine.Search(tuner, MadeUpMachine(), 5)
    monkeypatch.setattr(tuner, "propose_next", lambda: thoughts.append(search.progress.trials))

    with ThreadPoolExecutor(1) as measuring:
        while not search.is_over():
            search.step(2, measuring)

    assert search.progress.trials == 5
    assert thoughts == [0, 2]


def test_the_default_stays_if_nothing_is_significantly_faster(task: Task) -> None:
    class Even(MadeUpMachine):
        def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
            return [
                Outcome(tuple(1e-3 + 1e-5 * k - 1e-7 * n for k in range(7))) for n in range(len(candidates))
            ]

    tuned = autotune.tune(task, trials=8, runner=Even())[0]

    assert tuned.default is not None
    assert tuned.best is tuned.default
    assert tuned.gain == 1.0


class NoComparison(MadeUpMachine):
    """Candidates run alone, and crash when they are compared."""

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        return [Outcome(error="crash", message="signal 11")] * len(candidates)


class NoReference(MadeUpMachine):
    """The reference cannot be run a second time."""

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        raise ReferenceFailed(task, "timeout", "not ended after 120 s")


@pytest.mark.parametrize("machine", [NoComparison, NoReference])
def test_the_default_stays_if_the_comparison_fails(
    task: Task, machine: type[MadeUpMachine], tmp_path: Path
) -> None:
    tuned = autotune.tune(task, tmp_path / "tune.jsonl", trials=30, tuner="random", runner=machine())[0]

    assert tuned.progress.best.config.settings != task.default.settings
    assert tuned.best.config.settings == task.default.settings
    assert tuned.gain == 1.0


def test_the_best_candidate_wins_if_the_default_cannot_be_compared(task: Task) -> None:
    class LosesTheDefault(MadeUpMachine):
        def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
            lost = Outcome(error="wrong answer", message="C[0] is 1")
            return [lost, *super().compare(task, candidates[1:])]

    tuned = autotune.tune(task, trials=30, tuner="random", runner=LosesTheDefault())[0]

    assert tuned.default is None
    assert tuned.best.config.settings == tuned.progress.best.config.settings
    assert tuned.best.origin == rec.FINAL


def test_a_later_run_keeps_the_earlier_winner_if_it_finds_nothing_faster(
    task: Task, matmul: Template, tmp_path: Path
) -> None:
    path = tmp_path / "tune.jsonl"
    best = autotune.tune(task, path, trials=30, seed=1, tuner="random", runner=MadeUpMachine())[0].best

    again = autotune.tune(task, path, trials=1, seed=2, tuner="random", runner=MadeUpMachine())[0]

    assert best is not None
    assert best.config.settings != task.default.settings
    assert again.best.config.settings == best.config.settings
    assert rec.best(rec.load(path), task.target)[task.key].config.settings == best.config.settings


def test_a_resumed_run_compares_the_earlier_winner_only_once(task: Task, tmp_path: Path) -> None:
    """The first run has recorded its own winner; the finalists of the resumed run are still the same."""
    path = tmp_path / "tune.jsonl"
    before = autotune.tune(task, path, trials=4, seed=1, tuner="random", runner=MadeUpMachine())[0].best
    options = {"trials": 30, "seed": 2, "tuner": "random", "runner": MadeUpMachine()}
    found = autotune.tune(task, path, **options)[0]  # type: ignore[arg-type]
    written = path.read_text()

    again = autotune.tune(task, path, resume=True, **options)[0]  # type: ignore[arg-type]

    assert before is not None
    assert before.config.settings not in [one.config.settings for one in found.progress.leaders]
    compared = rec.comparisons(rec.load(path))[task.key]
    assert before.config.settings in [one.config.settings for one in compared]
    assert again.best.config.settings == found.best.config.settings != before.config.settings
    assert path.read_text() == written


def test_winners_of_earlier_runs_are_finalists_with_the_latest_first(task: Task) -> None:
    best = autotune.tune(task, trials=30, tuner="random", runner=MadeUpMachine())[0].progress
    first, second, third = (one.config for one in best.leaders[:3])
    led = [one.config.settings for one in best.leaders]
    unknown = [one for one in map(task.config_space.get, range(50)) if one.settings not in led][:2]

    def finalists(most: int, *in_force: ConfigEntity) -> list[dict[str, object]]:
        best.in_force = in_force
        return [dict(one.settings) for one in best.finalists(most)]

    assert finalists(3) == [first.settings, second.settings, third.settings]
    assert finalists(3, third) == [first.settings, second.settings, third.settings]
    assert finalists(3, unknown[0]) == [first.settings, second.settings, unknown[0].settings]
    assert finalists(3, third, unknown[0]) == [first.settings, third.settings, unknown[0].settings]
    assert finalists(3, *unknown) == [first.settings, *(one.settings for one in unknown)]
    assert finalists(1, *unknown) == [unknown[0].settings]


def test_an_earlier_winner_slower_than_the_default_is_replaced_by_it(task: Task, tmp_path: Path) -> None:
    class Turned(MadeUpMachine):
        def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
            return [Outcome((1e-3 if n == 0 else 2e-3,) * 7) for n in range(len(candidates))]

    path = tmp_path / "tune.jsonl"
    autotune.tune(task, path, trials=30, seed=1, tuner="random", runner=MadeUpMachine())

    again = autotune.tune(task, path, trials=1, seed=2, tuner="random", runner=Turned())[0]

    assert again.best.config.settings == task.default.settings


def test_early_stopping_ends_the_search(task: Task) -> None:
    tuned = autotune.tune(task, trials=50, runner=MadeUpMachine(), early_stopping=1, tuner="grid")[0]

    assert tuned.progress.trials < 50


def test_nothing_measured_is_an_error_with_the_first_cause(task: Task) -> None:
    with pytest.raises(
        ExecutionError,
        match=r"nothing could be measured for tests.matmul: 3 crash; the first: crash: as told",
    ):
        autotune.tune(task, trials=3, runner=MadeUpMachine(error="crash"))


def test_the_shortest_budget_allows_one_batch(task: Task) -> None:
    (tuned,) = autotune.tune(task, budget=1e-6, runner=MadeUpMachine(), tuner="random")

    assert tuned.progress.trials > 0


def test_without_xgboost_a_genetic_search_runs_with_a_warning(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tvmlite.autotune.model.model.available", lambda: False)

    with pytest.warns(UserWarning, match="xgboost is not installed: a genetic search is done instead"):
        tuned = autotune.tune(task, trials=3, runner=MadeUpMachine())[0]

    assert tuned.tuner == "genetic"


def test_a_tuner_is_used_like_one_of_autotvm(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    progress = autotune.RandomTuner(task).tune(
        n_trial=10, measure_option=MadeUpMachine(), callbacks=[autotune.callback.log_to_file(path)]
    )

    assert progress.trials == 10 == len(rec.load(path))
    assert progress.best is not None


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("7", 7), (3, 3)])
def test_budgets_are_read_with_their_units(text: str | float, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "ten", "10 parsecs", 0, float("inf"), float("nan")])
def test_an_invalid_budget_is_an_error(text: str | float) -> None:
    with pytest.raises(InputError, match="expected a time such as"):
        seconds_of(text)


def test_contradictory_options_are_errors(task: Task) -> None:
    with pytest.raises(InputError, match="either trials= or budget="):
        autotune.tune(task)
    with pytest.raises(InputError, match="resume= needs records="):
        autotune.tune(task, trials=1, resume=True)
    with pytest.raises(InputError, match="tuner 'magic': there are xgboost, random, grid, genetic"):
        autotune.tune(task, trials=1, tuner="magic", runner=MadeUpMachine())


def test_a_task_without_a_record_is_a_warning(task: Task, matmul: Template) -> None:
    with (
        autotune.apply_history_best([]) as history,
        pytest.warns(UserWarning, match=r"no record for tests.matmul"),
    ):
        matmul(16, 16, 16)

    assert history.missing == [task.key]


def test_damaged_records_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{}\n")

    with (
        pytest.warns(UserWarning, match="1 lines are not records; line 1: not a record"),
        autotune.apply_history_best(path) as history,
    ):
        assert history.best == {}


def test_records_of_another_version_or_machine_are_skipped_with_a_warning(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    autotune.tune(task, path, trials=4, tuner="random", runner=MadeUpMachine())
    kept = list(rec.load(path))
    rec.append(tmp_path / "old.jsonl", [replace(one, code="0.0.9") for one in kept])
    rec.append(tmp_path / "far.jsonl", [replace(one, target="llvm -mcpu=z80") for one in kept])

    with (
        pytest.warns(UserWarning, match=rf"{len(kept)} records are of another version, the first '0.0.9'"),
        autotune.apply_history_best(tmp_path / "old.jsonl") as history,
    ):
        assert history.best == {}
    with (
        pytest.warns(UserWarning, match=r"are of another machine, the first 'llvm -mcpu=z80': skipped"),
        autotune.apply_history_best(tmp_path / "far.jsonl") as history,
    ):
        assert history.best == {}


def test_arguments_of_a_task_survive_a_round_trip_through_json() -> None:
    args = (3, "float32", (1, 2), te.placeholder((4, 5), "int8", "x"))

    number, word, pair, tensor = decode_args(encode_args(args))

    assert (number, word, pair) == (3, "float32", (1, 2))
    assert (tensor.shape, tensor.dtype) == ((4, 5), "int8")


def test_mistakes_in_a_template_are_errors() -> None:
    with pytest.raises(ScheduleError, match=r"there is no template 'tests.none'"):
        autotune.create("tests.none", ())
    autotune.template("tests.bad", lambda: 3)
    with pytest.raises(ScheduleError, match=r"template 'tests.bad' gave a int"):
        autotune.create("tests.bad", ())
    with pytest.raises(ScheduleError, match="argument is a object"):
        encode_args([object()])


def test_a_successful_run_gives_no_warnings(task: Task) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        autotune.tune(task, trials=4, runner=MadeUpMachine())


def test_a_busy_machine_is_a_warning(task: Task) -> None:
    class Busy(MadeUpMachine):
        def measure(self, task: str, candidate: Candidate) -> Outcome:
            return Outcome(super().measure(task, candidate).costs, busy=0.5)

    with pytest.warns(UserWarning, match="other processes used 50% of this machine while"):
        autotune.tune(task, trials=4, runner=Busy())


def test_failures_are_summarized_by_cause(task: Task) -> None:
    class Fickle(MadeUpMachine):
        def measure(self, task: str, candidate: Candidate) -> Outcome:
            made = super().measure(task, candidate)
            return Outcome(error="timeout", message="too slow") if self.calls % 4 == 2 else made

    tuned = autotune.tune(task, trials=16, runner=Fickle(), tuner="random")[0]

    assert str(tuned).endswith(" of the default, 16 trials (4 timeout)")


def test_the_default_is_not_mentioned_without_a_comparison(task: Task) -> None:
    [tuned] = autotune.tune(task, trials=4, runner=MadeUpMachine(), tuner="random", compare=False)

    assert re.fullmatch(r"\S.*: [\d.]+ GFLOP/s, 4 trials", str(tuned))


def test_unusable_records_of_a_file_are_reported_once(task: Task, tmp_path: Path) -> None:
    path, other = tmp_path / "tune.jsonl", tmp_path / "other.jsonl"
    first = autotune.tune(task, trials=4, runner=MadeUpMachine(), tuner="random")[0].best
    assert first is not None
    rec.append(path, [replace(first, target="llvm -mcpu=other"), replace(first, code="0.0.1")])
    path.write_text(path.read_text() + "damaged\n")
    rec.append(other, [replace(first, code="0.0.2")])

    with pytest.warns(UserWarning, match="1 records are of") as warned:
        autotune.tune(task, path, trials=4, runner=MadeUpMachine(), tuner="random", learn_from=other)

    assert [str(one.message).partition(": ")[0] for one in warned] == [str(path)] * 3 + [str(other)]
    assert "1 lines are not records; line 3: not JSON" in str(warned[0].message)
    assert "1 records are of another machine, the first 'llvm -mcpu=other'" in str(warned[1].message)
    assert "1 records are of another version, the first '0.0.1'" in str(warned[2].message)
    assert {one.filename for one in warned} == {__file__}


def test_the_records_of_a_comparison_share_one_time(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    autotune.tune(task, path, trials=12, runner=MadeUpMachine(), tuner="random")

    finals = [one for one in rec.load(path) if one.origin == rec.FINAL]

    assert len(finals) > 1
    assert len({one.time for one in finals}) == 1


def never_schedules(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A template whose default is not in its space, and of which no configuration can be built."""
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    cfg = autotune.get_config()
    cfg.define_knob("factor", [1, 2])
    cfg.suggest("factor", OptionChoice(3))
    if isinstance(cfg, ConfigEntity):
        raise ScheduleError("as it is made")
    return s, [x, y]


@pytest.mark.parametrize("tuner", ["random", "xgboost", "grid", "genetic"])
def test_error_when_nothing_can_be_built_has_the_first_cause(tuner: str) -> None:
    autotune.template("tests.never", never_schedules)
    task = autotune.create("tests.never", (64,))

    with pytest.raises(ExecutionError, match=r"measured for tests\.never: .*as it is made"):
        autotune.tune(task, trials=4, runner=MadeUpMachine(), tuner=tuner)


def test_error_when_nothing_is_proposed_has_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    autotune.template("tests.never", never_schedules)
    task = autotune.create("tests.never", (64,))
    monkeypatch.setattr(RandomTuner, "propose", lambda self, count: [])

    with pytest.raises(ExecutionError, match=r"never: 1 schedule; the first: schedule: as it is made"):
        autotune.tune(task, trials=4, runner=MadeUpMachine(), tuner="random")
