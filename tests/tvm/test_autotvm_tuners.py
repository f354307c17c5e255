"""AutoTVM's tuners: their proposals, and the protocol of builders, runners and callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.tvm import autotvm
from tvmlite.tvm.autotvm.measure.measure import Runner
from tvmlite.tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner
from tvmlite.tvm.autotvm.tuner.xgboost_cost_model import XGBoostCostModel
from tvmlite.tvm.autotvm.utils import format_si_prefix
from tvmlite.tvm.testing.autotvm import DummyRunner, get_sample_records, get_sample_task

ALL = (RandomTuner, GridSearchTuner, GATuner, XGBTuner)


class Known(Runner):
    """Reports that a wider tile of x is faster, and records the indices it was asked for."""

    def __init__(self) -> None:
        super().__init__(1, 1)
        self.asked: list[int] = []

    def run(self, measure_inputs: Sequence[Any], build_results: Sequence[Any]) -> list[Any]:
        self.asked += [one.config.index for one in measure_inputs]
        return [
            autotvm.MeasureResult((1.0 / one.config["tile_x"].size[1],), 0, 0.1, 1.0)
            for one in measure_inputs
        ]


def option(runner: Any = None) -> dict[str, Any]:
    return autotvm.measure_option(builder=autotvm.LocalBuilder(n_parallel=4), runner=runner or DummyRunner())


@pytest.mark.parametrize("kind", ALL)
def test_a_tuner_proposes_no_configuration_twice(kind: Any) -> None:
    task, _ = get_sample_task()
    runner = Known()
    tuner = kind(task)

    tuner.tune(n_trial=24, measure_option=option(runner))

    assert len(runner.asked) == len(set(runner.asked)) == 24
    best = min(task.config_space.get(index)["tile_x"].size[1] * -1 for index in runner.asked)
    assert tuner.best_config["tile_x"].size[1] == -best
    assert tuner.best_flops == pytest.approx(task.flop * -best)


def filtered_task() -> Any:
    task, _ = get_sample_task()
    task.config_space.multi_filter(lambda one: 32 <= one["tile_x"].size[1] * one["tile_y"].size[1] < 1024)
    return task


@pytest.mark.parametrize("kind", [RandomTuner, GridSearchTuner])
def test_an_index_tuner_stays_in_its_range(kind: Any) -> None:
    task, _ = get_sample_task()
    tuner = kind(task, range_idx=(8, 15))
    assert (tuner.begin_idx, tuner.end_idx, tuner.range_length, tuner.visited_max) == (8, 16, 8, 8)

    tuner.tune(n_trial=20, measure_option=option())

    assert sorted(tuner.visited) == list(range(8, 16))
    assert not tuner.has_next()


@pytest.mark.parametrize("kind", [RandomTuner, GridSearchTuner])
def test_an_index_tuner_skips_filtered_configurations(kind: Any) -> None:
    task = filtered_task()
    expected = [n for n in range(8, 16) if task.config_space.is_index_valid(n)]
    tuner = kind(task, range_idx=(8, 15))
    assert tuner.visited_max == len(expected)

    tuner.tune(n_trial=20, measure_option=option())

    assert sorted(tuner.visited) == expected


def test_a_grid_begins_with_the_first_unfiltered_configuration() -> None:
    tuner = GridSearchTuner(filtered_task())

    assert (tuner.index, tuner.range_length, tuner.visited_max) == (5, 64, 34)


@pytest.mark.parametrize("given", [(15, 8), (0, 64), (-1, 3), 7])
def test_an_invalid_range_is_an_error(given: Any) -> None:
    task, _ = get_sample_task()

    with pytest.raises(InputError, match="expected two numbers from 0 to 63"):
        GridSearchTuner(task, range_idx=given)


@pytest.mark.parametrize("population", [32, 100])
@pytest.mark.parametrize("make", [lambda: get_sample_task()[0], filtered_task])
def test_the_first_generation_of_a_genetic_tuner_has_distinct_genes(population: int, make: Any) -> None:
    task = make()
    tuner = GATuner(task, pop_size=population)
    size = len(task.config_space)
    assert tuner.pop_size == len(tuner.visited) == len(tuner.genes) == min(population, size)

    tuner.tune(n_trial=size, measure_option=option())

    assert tuner.visited == set(task.config_space.indices())


def test_a_tuner_learns_from_given_records() -> None:
    task, _ = get_sample_task()
    tuner = XGBTuner(task)
    records = get_sample_records(5)

    tuner.update([inp for inp, _ in records], [res for _, res in records])

    assert len(tuner.xs) == len(tuner.ys) == len(tuner.visited) == 5
    assert not {one.index for one in tuner.next_batch(10)} & set(tuner.xs)


def test_history_is_used_from_a_minimum_of_records() -> None:
    task, _ = get_sample_task()
    for least, known in ((10, True), (11, False)):
        tuner = XGBTuner(task)
        tuner.load_history(get_sample_records(10), min_seed_records=least)
        assert (tuner.cost_model.base_model is not None) is known
        assert len(tuner.next_batch(4)) == 4


def test_history_is_read_from_a_log(tmp_path: Path) -> None:
    task, _ = get_sample_task()
    inputs, results = zip(*get_sample_records(12), strict=True)
    autotvm.callback.log_to_file(str(tmp_path / "log"))(None, inputs, results)
    tuner = XGBTuner(task)

    tuner.load_history(autotvm.record.load_from_file(str(tmp_path / "log")), min_seed_records=10)

    assert tuner.cost_model.base_model is not None
    assert len(tuner.next_batch(4)) == 4


def test_a_cost_model_orders_configurations_as_they_were_measured() -> None:
    task, _ = get_sample_task()
    space = task.config_space
    numbers = range(8, 56)  # tiles of 2 to 64: those of 1 and of 128 are the same loops
    speeds = {n: float(space.get(n)["tile_x"].size[1]) for n in numbers}
    base = XGBoostCostModel(task, feature_type="itervar", loss_type="rank")
    base.fit(numbers[::2], list(speeds.values())[::2], plan_size=16)
    model = XGBoostCostModel(task, feature_type="itervar", loss_type="rank")
    model.load_basemodel(base)
    model.fit(numbers[:10], list(speeds.values())[:10], plan_size=16)

    for one in (base, model):
        scores = dict(zip(numbers, one.predict(numbers), strict=True))
        assert min(scores[n] for n in numbers if speeds[n] == 64) > max(
            scores[n] for n in numbers if speeds[n] == 2
        )


def test_early_stopping_counts_trials_without_improvement() -> None:
    task, _ = get_sample_task()
    tuner = GridSearchTuner(task)

    tuner.tune(n_trial=64, measure_option=option(Known()), early_stopping=4)

    assert tuner.counter == 4  # the first eight all have a tile of 1


def test_callbacks_get_the_tuner_the_inputs_and_the_results() -> None:
    task, _ = get_sample_task()
    seen: list[Any] = []
    monitor = autotvm.callback.Monitor()
    tuner = RandomTuner(task)

    tuner.tune(8, option(), callbacks=[lambda *given: seen.append(given), monitor], si_prefix="M")

    assert [(given[0], len(given[1]), len(given[2])) for given in seen] == [(tuner, 4, 4)] * 2
    assert monitor.trial_scores().max() == tuner.best_flops
    assert len(monitor.trial_timestamps()) == 8


def test_a_failed_measurement_has_no_flops() -> None:
    class Failing(Known):
        def run(self, measure_inputs: Sequence[Any], build_results: Sequence[Any]) -> list[Any]:
            return [autotvm.MeasureResult((RuntimeError("no"),), 4, 0.1, 1.0) for _ in measure_inputs]

    task, _ = get_sample_task()
    tuner = RandomTuner(task)
    tuner.tune(4, option(Failing()))

    assert (tuner.best_flops, tuner.best_config, tuner.counter) == (0, None, 4)


@pytest.mark.slow
def test_a_local_runner_measures_on_this_machine() -> None:
    task, _ = get_sample_task(32)
    runner = autotvm.LocalRunner(number=2, repeat=3, timeout=60)
    results: list[Any] = []
    tuner = GridSearchTuner(task, range_idx=(0, 3))

    tuner.tune(4, option(runner), callbacks=[lambda _tuner, _inputs, new: results.extend(new)])

    assert [one.error_no for one in results] == [0] * 4
    assert all(len(one.costs) == 3 and min(one.costs) > 0 for one in results)


def test_a_configuration_without_a_knob_is_an_instantiation_error() -> None:
    task, target = get_sample_task(16)
    config = task.config_space.get(0)
    config.settings.pop("tile_x")
    [built] = autotvm.LocalBuilder().build([autotvm.MeasureInput(target, task, config)])

    assert built.error_no == autotvm.MeasureErrorNo.INSTANTIATION_ERROR
    assert "knob 'tile_x'" in str(built.costs[0])


def test_a_runner_on_other_machines_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="RPCRunner: 'pi' at localhost:9190: nothing is measured on"):
        autotvm.RPCRunner("pi", "localhost", 9190, number=4)


def test_options_are_checked() -> None:
    task, _ = get_sample_task()
    with pytest.raises(InputError, match="measure_option: runner is 'rpc', expected 'local'"):
        autotvm.measure_option("local", "rpc")
    assert [format_si_prefix(2e3, one) for one in ("k", " ", "\xb5")] == pytest.approx([2.0, 2e3, 2e9])
    with pytest.raises(InputError, match="si_prefix is 'g'"):
        RandomTuner(task).tune(1, option(), si_prefix="g")
    with pytest.raises(InputError, match="tune: measure_option: None given, expected autotvm"):
        RandomTuner(task).tune(1, None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnsupportedError, match="build_func is 'ndk'"):
        autotvm.LocalBuilder(build_func="ndk")


@pytest.mark.parametrize("name", ["DPTuner", "PBQPTuner"])
def test_graph_tuners_are_errors_that_name_the_replacement(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"(?s){name} is not.*relay.build chooses the layouts"):
        getattr(autotvm.graph_tuner, name)()
