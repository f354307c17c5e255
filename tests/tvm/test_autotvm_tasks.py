"""Tasks of templates and models, and counts of their operations."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tvmlite import relay, te
from tvmlite.core.errors import ScheduleError
from tvmlite.driver import compile
from tvmlite.relay.ir import op as operators
from tvmlite.tvm import autotvm, tuned
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.measure import MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.task.relay_integration import bound
from tvmlite.tvm.autotvm.task.space import ConfigEntity
from tvmlite.tvm.autotvm.task.task import compute_flop
from tvmlite.tvm.testing.autotvm import bad_matmul, get_sample_task


def test_a_task_has_the_attributes_of_tvms() -> None:
    task, target = get_sample_task(64)

    assert task.workload == ("testing/matmul", 64, 64, 64, "float32")
    assert task.flop == 2 * 64**3
    assert task.target is target
    assert (task.name, task.kwargs, len(task.config_space)) == ("testing/matmul", {}, 49)
    schedule, arguments = task.instantiate(task.config_space.get(24))
    assert [one.name for one in arguments] == ["A", "B", "C"]
    assert "factor=8" in str(schedule.trace)


def test_a_task_is_pickled_as_its_name_and_arguments() -> None:
    task, _ = get_sample_task(16)

    again = pickle.loads(pickle.dumps(task))

    assert again.workload == task.workload
    assert len(again.config_space) == len(task.config_space)


def test_error_of_an_unknown_template_names_it() -> None:
    with pytest.raises(ScheduleError, match=r"there is no template 'no/such'; there are .*testing/matmul"):
        autotvm.task.create("no/such", (1,), "llvm")


def test_a_template_may_call_another() -> None:
    with pytest.warns(UserWarning, match="bad_matmul"):
        schedule, _ = bad_matmul(16, 16, 16, "float32")

    assert schedule.origins[0].name == "C"


def test_a_template_counts_its_own_operations() -> None:
    @autotvm.template("tests/moved")
    def moved(n: int) -> Any:
        a = te.placeholder((n,), name="a")
        b = te.compute((n,), lambda i: a[n - 1 - i], name="b")
        autotvm.get_config().add_flop(te.const(n, "int32"))
        return te.create_schedule(b.op), [a, b]

    assert autotvm.task.create("tests/moved", (64,), "llvm").flop == 64


@pytest.mark.parametrize(("dtype", "sums"), [("float32", "float32"), ("int8", "int32")])
def test_a_product_counts_two_operations_for_each_step(dtype: str, sums: str) -> None:
    a, b = te.placeholder((12, 20), dtype=dtype), te.placeholder((28, 20), dtype=dtype)
    k = te.reduce_axis((0, 20))
    c = te.compute((12, 28), lambda i, j: te.sum(a[i, k].astype(sums) * b[j, k].astype(sums), axis=k))

    assert compute_flop(te.create_schedule(c.op)) == 2 * 12 * 20 * 28


def test_counting_operations_of_data_movement_is_an_error() -> None:
    a = te.placeholder((8,))
    schedule = te.create_schedule(te.compute((8,), lambda i: a[i]).op)

    with pytest.raises(RuntimeError, match=r"it only moves data(.|\n)*add_flop"):
        compute_flop(schedule)


def test_a_topi_compute_and_schedule_form_one_task() -> None:
    @autotvm.register_topi_compute("tests/doubled")
    def doubled(cfg: Any, a: te.Tensor) -> te.Tensor:
        return te.compute(a.shape, lambda i: a[i] * 2, name="doubled")

    @autotvm.register_topi_schedule("tests/doubled")
    def schedule_doubled(cfg: Any, outs: Any) -> Any:
        s = te.create_schedule([one.op for one in outs])
        cfg.define_split("tile", s[outs[0]].op.axis[0], num_outputs=2)
        cfg["tile"].apply(s, outs[0], s[outs[0]].op.axis[0])
        return s

    a = te.placeholder((64,), name="a")
    task = autotvm.task.create("tests/doubled", (a,), "llvm")
    assert task.workload == ("tests/doubled", ("TENSOR", (64,), "float32"))
    assert len(task.config_space) == 7
    assert [one.name for one in task.instantiate(task.config_space.get(3))[1]] == ["placeholder", "doubled"]

    records = [(MeasureInput(task.target, task, task.config_space.get(4)), MeasureResult((1.0,), 0, 1, 1))]
    with autotvm.apply_history_best(records):
        assert "factor=16" in str(schedule_doubled([doubled(a)]).trace)


def network() -> tuple[Any, dict[str, np.ndarray]]:
    """Two convolutions of one shape with a relu, and a dense layer; and their weights by name."""
    generator = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 8, 12, 12))
    names = {"w1": (8, 8, 3, 3), "w2": (8, 8, 3, 3), "w3": (5, 8)}
    weights = {name: relay.var(name, shape=shape) for name, shape in names.items()}
    y = relay.nn.relu(relay.nn.conv2d(x, weights["w1"], padding=(1, 1)))
    y = relay.nn.relu(relay.nn.conv2d(y, weights["w2"], padding=(1, 1)))
    y = relay.reshape(relay.nn.global_avg_pool2d(y), newshape=(1, 8))
    main = relay.Function([x, *weights.values()], relay.nn.dense(y, weights["w3"]))
    params = {name: generator.random(shape).astype(np.float32) for name, shape in names.items()}
    return relay.Module({"main": main}), params


def test_the_tasks_of_a_model_are_its_kernels() -> None:
    mod, params = network()

    every = autotvm.task.extract_from_program(mod, params, "llvm")
    convolutions = autotvm.task.extract_from_program(
        mod.main, target="llvm", params=params, ops=("nn.conv2d",)
    )
    dense = autotvm.task.extract_from_program(
        mod, target="llvm", params=params, ops=(operators.get("nn.dense"),)
    )

    assert 0 < len(convolutions) < len(every)
    assert len(dense) == 1
    assert all("conv2d" in task.args[0] for task in convolutions)
    assert {task.args for task in convolutions} | {dense[0].args} <= {task.args for task in every}
    several = autotvm.task.extract_from_multiple_program([mod, mod], [params, params], "llvm")
    assert len(several) == len(every)


def test_kernels_derived_from_an_operator_are_its_tasks() -> None:
    x, w = relay.var("x", shape=(1, 64, 8, 8)), relay.var("w", shape=(64, 32, 4, 4))
    transposed = relay.nn.conv2d_transpose(
        relay.nn.dropout(x), w, channels=32, kernel_size=(4, 4), strides=(2, 2), padding=(1, 1)
    )
    params = {"w": np.ones((64, 32, 4, 4), np.float32)}
    main = relay.Function((x, w), transposed)
    found = autotvm.task.extract_from_program(main, params, "llvm", ops=("nn.conv2d_transpose",))

    texts = [task.args[0] for task in found]
    assert ["nn.contrib_conv2d" in one for one in texts] == [True, False]
    assert ["nn.contrib_interleave" in one for one in texts] == [False, True]
    with pytest.warns(UserWarning, match=r"no kernel has nn\.dropout, it is left out or computed by others"):
        assert autotvm.task.extract_from_program(main, params, "llvm", ops=("nn.dropout",)) == []


def test_configurations_of_kernels_are_autotvms_and_can_be_built() -> None:
    mod, params = network()
    for task in autotvm.task.extract_from_program(mod, params, "llvm"):
        space = task.config_space
        config = space.get(space.get_rand_index())
        assert config.valid()
        assert isinstance(config, ConfigEntity)
        [built] = autotvm.LocalBuilder().build([MeasureInput("llvm", task, config)])
        assert isinstance(built, MeasureResult) or built.candidate is not None


def test_records_of_a_log_apply_only_within_the_block() -> None:
    mod, params = network()
    [task] = autotvm.task.extract_from_program(mod, params, "llvm", ops=("nn.dense",))
    config = task.config_space.get(task.config_space.indices()[-1])
    machine = targets.machine("llvm")

    with autotvm.apply_history_best([(MeasureInput("llvm", task, config), MeasureResult((1e-6,), 0, 1, 1))]):
        records = tuned.records_in_force(machine)
        assert records[0].config.settings == config.settings
        lib = compile(bound(mod, params), machine, records=records)
    tuned_kernels = [row for row in lib.report.rows if row.schedule.startswith("tuned")]
    assert len(tuned_kernels) == 1
    assert tuned.records_in_force(machine) == []


@pytest.mark.parametrize(
    "text", ["llvm -keys=cpu -link-params=0", "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu", "llvm"]
)
def test_targets_in_tvms_syntax_are_parsed(text: str) -> None:
    assert targets.machine(text).kind == "llvm"
    assert targets.kind(text) == "cpu"
    assert targets.kind("cuda -keys=cuda") == "cuda"
