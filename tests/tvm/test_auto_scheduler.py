"""The auto-scheduler under TVM's names: workloads, tasks, records, and whole models."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlite import relay, te
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.driver import build
from tvmlite.tvm import auto_scheduler, tuned
from tvmlite.tvm.auto_scheduler.utils import calc_workload_dis_factor
from tvmlite.tvm.autotvm import targets


@auto_scheduler.register_workload
def product(n: int, m: int, k: int) -> list[te.Tensor]:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    return [a, b, te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]


def runner() -> auto_scheduler.LocalRunner:
    return auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0, timeout=60)


class Seen(auto_scheduler.measure.PythonBasedMeasureCallback):
    def __init__(self) -> None:
        self.pairs: list[Any] = []

    def callback(self, policy: Any, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        assert isinstance(policy, auto_scheduler.search_policy.SearchPolicy)
        self.pairs += zip(inputs, results, strict=True)


def check_product(schedule: Any, arguments: Any, n: int = 32) -> None:
    generator = np.random.default_rng(0)
    a, b = generator.random((n, n), np.float32), generator.random((n, n), np.float32)
    c = np.empty((n, n), np.float32)
    build(schedule, arguments)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("model", [auto_scheduler.RandomModel, auto_scheduler.XGBModel])
def test_a_product_is_tuned_and_its_best_schedule_applied(tmp_path: Path, model: Any) -> None:
    task = auto_scheduler.SearchTask(func=product, args=(32, 32, 32), target="llvm")
    log, seen = str(tmp_path / "log.json"), Seen()
    options = auto_scheduler.TuningOptions(
        num_measure_trials=4,
        runner=runner(),
        verbose=0,
        measure_callbacks=[auto_scheduler.RecordToFile(log), seen],
    )
    policy = auto_scheduler.SketchPolicy(
        task, model(), init_search_callbacks=[auto_scheduler.PreloadMeasuredStates(log)]
    )

    task.tune(options, policy)

    assert len(seen.pairs) == 4
    inputs, results = auto_scheduler.RecordReader(log).read_lines()
    assert [res.costs for res in results] == [res.costs for _, res in seen.pairs]
    assert {inp.task.workload_key for inp in inputs} == {json.dumps(["product", 32, 32, 32])}
    best_input, best = auto_scheduler.load_best_record(log)
    assert np.median(best.costs) == min(np.median(res.costs) for res in results if not res.error_no)
    schedule, arguments = task.apply_best(log)
    assert [one.name for one in arguments] == ["A", "B", "C"]
    check_product(schedule, arguments)
    assert "s[C]" in task.print_best(log)
    check_product(*task.compute_dag.apply_steps_from_state(best_input.state))


def test_a_task_is_made_from_a_name_a_key_or_tensors() -> None:
    key = auto_scheduler.make_workload_key(product, (16, 16, 16))
    tensors = product(16, 16, 16)

    for task in (
        auto_scheduler.SearchTask(func="product", args=(16, 16, 16), target="llvm"),
        auto_scheduler.SearchTask(workload_key=key, target="llvm"),
        auto_scheduler.SearchTask(compute_dag=auto_scheduler.ComputeDAG(tensors), target="llvm"),
    ):
        assert task.compute_dag.flop_ct == 2 * 16**3
        assert [one.name for one in task.compute_dag.tensors] == ["A", "B", "C"]
        check_product(*task.compute_dag.apply_steps_from_state(task.compute_dag.init_state), n=16)


def test_a_state_of_plain_loops_is_measured() -> None:
    task = auto_scheduler.SearchTask(func=product, args=(16, 16, 16), target="llvm")
    given = [auto_scheduler.MeasureInput(task, task.compute_dag.init_state)]

    built = auto_scheduler.LocalBuilder().build(given)
    for context in (runner(), auto_scheduler.LocalRPCMeasureContext(number=1, timeout=60).runner):
        [result] = context.run(given, built)
        assert (result.error_no, result.error_msg) == (0, "")
        assert min(result.costs) > 0


def test_records_are_saved_and_read(tmp_path: Path) -> None:
    task = auto_scheduler.SearchTask(func=product, args=(16, 16, 16), target="llvm")
    state = auto_scheduler.compute_dag.State(task.core.default, task.core)
    inputs = [auto_scheduler.MeasureInput(task, state)] * 2
    results = [auto_scheduler.MeasureResult((cost,), 0, "", 0.2, 1.0) for cost in (0.5, 0.25)]
    log = tmp_path / "log.json"

    auto_scheduler.save_records(log, inputs, results)

    again, found = auto_scheduler.RecordReader(log).read_lines()
    assert [one.state for one in again] == [state, state]
    assert [one.costs for one in found] == [(0.5,), (0.25,)]
    assert auto_scheduler.load_best_record(log)[1].costs == (0.25,)
    assert auto_scheduler.RecordReader(log).read_lines(max_lines=1, skip_lines=1)[1][0].costs == (0.25,)


def network() -> Any:
    x, w = relay.var("x", shape=(4, 32)), relay.var("w", shape=(32, 32))
    y = relay.nn.relu(relay.nn.dense(x, w))
    return relay.Function((x, w), relay.nn.dense(y, w)), {"w": np.eye(32, dtype=np.float32)}


@pytest.mark.slow
def test_the_tasks_of_a_model_are_tuned_together_and_applied(tmp_path: Path) -> None:
    main, params = network()
    tasks, weights = auto_scheduler.extract_tasks(main, params, "llvm")
    assert len(tasks) == len(weights) >= 1
    log = str(tmp_path / "log.json")
    scheduler = auto_scheduler.TaskScheduler(tasks, weights)

    scheduler.tune(
        auto_scheduler.TuningOptions(
            num_measure_trials=2 * len(tasks),
            runner=runner(),
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
        )
    )

    assert any(np.isfinite(scheduler.best_costs))
    machine = targets.machine("llvm")
    with auto_scheduler.ApplyHistoryBest(log):
        assert tuned.records_in_force(machine)
    assert not tuned.records_in_force(machine)


def test_a_log_without_the_task_is_a_runtime_error_as_in_tvm(tmp_path: Path) -> None:
    task = auto_scheduler.SearchTask(func=product, args=(16, 16, 16), target="llvm")
    log = tmp_path / "empty.json"
    log.write_text("")

    with pytest.raises(RuntimeError, match=r"has no measurement of \[\"product\", 16"):
        task.apply_best(log)


def tvms_line(steps: list[Any], cost: float, key: str = '["product", 32, 32, 32]') -> str:
    """A line as TVM's auto-scheduler writes it."""
    task = [key, "llvm -keys=cpu -link-params=0", [4, 64, 64, 0, 0, 0, 0, 0], "", 1, []]
    return json.dumps({"i": [task, [[], steps]], "r": [[cost], 0, 0.5, 1], "v": "v0.6"}) + "\n"


TILED = [
    ["SP", 2, 0, 32, [4, 1, 4], 1],
    ["SP", 2, 4, 32, [1, 2, 8], 1],
    ["SP", 2, 8, 32, [4], 1],
    ["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]],
    ["FU", 2, [0, 1, 2, 3]],
    ["AN", 2, 0, 3],
    ["PR", 2, 0, "auto_unroll_max_step$16"],
    ["AN", 2, 6, 2],
]
"""Steps of a tiled product with a parallel outer loop and a vectorized inner one."""


def test_a_log_of_tvms_auto_scheduler_is_read(tmp_path: Path) -> None:
    log = tmp_path / "tvm.json"
    log.write_text(tvms_line([], 0.2) + tvms_line(TILED, 0.1))
    task = auto_scheduler.SearchTask(func=product, args=(32, 32, 32), target="llvm")

    inputs, results = auto_scheduler.RecordReader(str(log)).read_lines()
    best, found = auto_scheduler.load_best_record(str(log), task.workload_key, "llvm")

    assert [one.costs for one in results] == [(0.2,), (0.1,)]
    assert best is not None
    assert found is not None
    assert (best.state, found.costs, best.task.workload_key) == (inputs[1].state, (0.1,), task.workload_key)
    extents = [one.range.extent for one in best.state.stages[2].iters]
    assert extents == [2 * 2 * 4 * 1, 8, 1, 2, 4, 4, 8]
    schedule, arguments = task.apply_best(log)
    assert "parallel" in task.print_best(log)
    check_product(schedule, arguments)


def test_a_log_of_tvms_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    task = auto_scheduler.SearchTask(func=product, args=(32, 32, 32), target="llvm")
    log = tmp_path / "tvm.json"

    log.write_text(tvms_line([["FU", 2, [0, 7]]], 0.1))
    with pytest.raises(InputError, match=r"loop 7 of stage 2, C, which has 3(?s:.*)another computation"):
        task.apply_best(log)
    log.write_text(tvms_line([["XY", 2]], 0.1))
    with pytest.raises(InputError, match=r"\['XY', 2\] is no step of TVM's auto-scheduler"):
        task.apply_best(log)
    log.write_text('{"i": 1}\n')
    with pytest.raises(InputError, match="is no record of TVM's auto-scheduler"):
        task.apply_best(log)
    log.write_text(tvms_line([], 0.1, '["nobody/made/this", 1]'))
    with pytest.raises(InputError, match=r"no workload 'nobody/made/this'(?s:.*)register_workload"):
        list(auto_scheduler.load_records(log))
    with (
        pytest.raises(
            UnsupportedError, match="is a log of TVM's auto-scheduler: its records are for TVM's kernels"
        ),
        auto_scheduler.ApplyHistoryBest(log),
    ):
        pass
    log.write_text("nonsense\n")
    with pytest.raises(InputError, match="line 1"):
        task.apply_best(log)


def test_simple_tasks_are_extracted_if_asked_for() -> None:
    x = relay.var("x", shape=(8, 8))
    mod = relay.Function((x,), relay.tanh(x))

    assert auto_scheduler.extract_tasks(mod, None, "llvm") == ([], [])
    assert auto_scheduler.extract_tasks(mod, None, "llvm", include_simple_tasks=True)[1] in ([], [1])
    with pytest.raises(UnsupportedError, match="dump_workload_to_dag_log is not supported"):
        auto_scheduler.extract_tasks(mod, None, "llvm", dump_workload_to_dag_log="dags.json")
    with auto_scheduler.ApplyHistoryBestOrSample(None):
        pass


def test_the_distance_of_workloads_is_that_of_their_shapes() -> None:
    wanted = ("conv", (8, 3, 224, 224), (0, 0), "float32")

    assert calc_workload_dis_factor(wanted, wanted) == 1
    assert calc_workload_dis_factor(wanted, ("conv", (1, 3, 112, 112), (0, 0), "float32")) == 8 * 2 * 2
    for other in (
        ("dense", (8, 3, 224, 224), (0, 0), "float32"),
        ("conv", (8, 3, 223, 224), (0, 0), "float32"),
        ("conv", (8, 3, 224, 224), (1, 1), "float32"),
        ("conv", (8, 3, 224, 224), (0, 0), "int8"),
        ("conv", (8, 3, 224, 224)),
    ):
        assert calc_workload_dis_factor(wanted, other) == float("inf")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: auto_scheduler.SearchTask(target="llvm"), "func, workload_key or compute_dag must be given"),
        (lambda: auto_scheduler.make_workload_key("nothing", ()), "there is no workload 'nothing'"),
        (lambda: auto_scheduler.register_workload("product", list), "'product' is registered already"),
        (
            lambda: auto_scheduler.TuningOptions(runner="rpc"),
            "runner is 'rpc', expected 'local' or a LocalRunner",
        ),
        (lambda: auto_scheduler.TuningOptions(measure_callbacks=[print]), "measure_callbacks has a builtin"),
        (lambda: auto_scheduler.RPCRunner("pi", "localhost", 9190), "nothing is measured on other machines"),
        (lambda: auto_scheduler.PreloadCustomSketchRule(None, None), "no rules of one's own"),
        (
            lambda: auto_scheduler.TaskScheduler([], objective_func=max),
            "not supported: the time of a run is minimized",
        ),
        (lambda: auto_scheduler.ComputeDAG([1]), "a list of tensors"),
    ],
)
def test_unsupported_features_are_errors_that_name_them(call: Any, text: str) -> None:
    with pytest.raises((InputError, UnsupportedError), match=text):
        call()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("matmul_auto_scheduler_test", (8, 8, 8)),
        ("matmul_auto_scheduler_test_rename_1", (8, 8, 8)),
        ("double_matmul_auto_scheduler_test", (8,)),
        ("parallel_matmul_auto_scheduler_test", (8,)),
        ("zero_rank_reduce_auto_scheduler_test", (8,)),
        ("zero_rank_compute_auto_scheduler_test", (8,)),
    ],
)
def test_generated_schedules_compute_what_plain_loops_do(name: str, args: tuple[int, ...]) -> None:
    import tvmlite.tvm.testing.auto_scheduler  # noqa: F401  registers them

    task = auto_scheduler.SearchTask(func=name, args=args, target="llvm")
    state = auto_scheduler.compute_dag.State(task.core.default, task.core)
    results = []
    for one in (task.compute_dag.init_state, state):
        schedule, tensors = task.compute_dag.apply_steps_from_state(one)
        generator = np.random.default_rng(0)
        arrays = [generator.random([int(n) for n in t.shape]).astype(t.dtype) for t in tensors]
        build(schedule, tensors)(*arrays)
        results.append(arrays)

    for plain, generated in zip(*results, strict=True):
        np.testing.assert_allclose(generated, plain, rtol=1e-5)


def test_the_workload_key_depends_on_the_computation_alone() -> None:
    def key(factor: float) -> str:
        a = te.placeholder((4,), name="a")
        return auto_scheduler.ComputeDAG(
            [a, te.compute((4,), lambda i: a[i] * factor, name="b")]
        ).workload_key()

    def elsewhere() -> str:
        a = te.placeholder((4,), name="a")
        b = te.compute((4,), lambda i: a[i] * 2.0, name="b")
        return auto_scheduler.ComputeDAG([a, b]).workload_key()

    assert key(2.0) == elsewhere() != key(3.0)


def test_costs_have_a_value_and_a_registry_entry_can_be_pickled() -> None:
    result = auto_scheduler.MeasureResult([0.5, 2], 0, "", 1.0, 0.0)
    assert [one.value for one in result.costs] == [0.5, 2.0]
    assert result.costs == (0.5, 2.0)

    registry = auto_scheduler.workload_registry
    key = registry.register_workload_tensors('["pickled/product"]', product(8, 8, 8))
    again = pickle.loads(pickle.dumps(registry.serialize_workload_registry_entry(key)))
    del registry.WORKLOAD_FUNC_REGISTRY[key]
    registry.deserialize_workload_registry_entry(again)
    assert [one.name for one in registry.workload_key_to_tensors(key)] == ["A", "B", "C"]


@pytest.mark.slow
def test_a_task_without_trials_has_an_infinite_best_cost() -> None:
    tasks = [auto_scheduler.SearchTask(func=product, args=(n, n, n), target="llvm") for n in (4, 8)]
    scheduler = auto_scheduler.TaskScheduler(tasks, strategy="round-robin")

    scheduler.tune(auto_scheduler.TuningOptions(1, runner=runner(), verbose=0), "sketch.random")

    assert 0 < scheduler.best_costs[0] < scheduler.best_costs[1] == float("inf")
