"""States of ``auto_scheduler``: primitives applied by hand, the loops they make, and their code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ScheduleError
from tvmlite.tvm import auto_scheduler, te, topi
from tvmlite.tvm.testing.auto_scheduler import get_tiled_matmul, matmul_auto_scheduler_test

NUMBERS = auto_scheduler.loop_state.State.ANNOTATION_TRANS_TABLE


def product(size: int = 64) -> tuple[Any, Any, Any]:
    a, b, c = matmul_auto_scheduler_test(size, size, size)
    dag = auto_scheduler.ComputeDAG([a, b, c])
    return dag, dag.get_init_state(), c


def extents(state: Any, stage: Any) -> list[Any]:
    return [one.range.extent for one in state[stage].iters]


def test_loops_are_split_reordered_fused_and_annotated() -> None:
    _, state, c = product()
    i, j, k = state[c].iters
    assert (i.range.extent, state[c].compute_at, state[c].op_type, state.stages[0].op_type) == (64, 0, 1, 0)

    outer, inner = state.split(c, i, [16])
    parts = state.split(c, j, [4, 8], inner_to_outer=False)
    assert [one.range.extent for one in (outer, inner, *parts)] == [4, 16, 4, 8, 2]
    assert state[c].iters[1] == inner != outer
    state.reorder(c, [outer, parts[0], k, inner, *parts[1:]])
    fused = state.fuse(c, [outer, parts[0]])
    assert (fused.range.extent, state[c].iters[0]) == (16, fused)
    last = state.vectorize(c, parts[2])
    assert last.annotation == state[c].iters[-1].annotation == NUMBERS["vectorize"]
    assert state.parallel(c, fused).annotation == NUMBERS["parallel"]
    assert state.unroll(c, parts[1], max_unroll=4).annotation == NUMBERS["none"]
    assert state.bind(c, inner, "threadIdx.x").annotation == NUMBERS["threadIdx.x"]
    state.pragma(c, fused, "auto_unroll_max_step$64")
    assert str(state).splitlines()[:2] == ["Placeholder: A, B", f"parallel {fused.name} (0,16)"]
    assert [one.primitive for one in state.transform_steps[:4]] == ["split", "split", "reorder", "fuse"]


def test_stages_are_attached_inlined_and_moved_to_the_root() -> None:
    a = te.placeholder((16, 16), name="a")
    b = topi.nn.relu(a)
    c = te.compute((16, 16), lambda i, j: b[i, j] * 2.0, name="c")
    dag = auto_scheduler.ComputeDAG([a, c])
    state = dag.get_init_state()

    state.compute_at(b, c, state[c].iters[0])
    assert (state[b].compute_at, extents(dag.infer_bound_from_state(state), b)) == (2, [1, 16])
    state.compute_root(b)
    assert extents(state, b) == [16, 16]
    kept = state.copy()
    state.compute_inline(b)
    assert (state[b].compute_at, kept[b].compute_at) == (1, 0)
    assert state != kept != dag.get_init_state()


def test_cache_stages_and_rfactor_add_stages() -> None:
    _, state, c = product()
    own = state.copy()
    buffer = state.cache_write(c, "global")
    read = state.cache_read(state.stage_ops[0], "global", [buffer])
    state.compute_at(read, buffer, state[buffer].iters[2])
    assert (extents(state, c), extents(state, buffer), extents(state, read)) == (
        [64, 64],
        [64, 64, 64],
        [1, 1],
    )
    outer, _ = own.split(c, own[c].iters[2], [16])
    parts = own.rfactor(c, outer, 2)
    assert (extents(own, parts), extents(own, c)) == ([64, 64, 4, 16], [64, 64, 4])


def test_follow_split_repeats_the_factors_of_other_splits() -> None:
    _, state, c = product()
    buffer = state.cache_write(c, "global")
    state.split(c, state[c].iters[0], [2, 4])
    number = len(state.transform_steps) - 1
    made = state.follow_split(buffer, state[buffer].iters[0], number, 1)
    assert [one.range.extent for one in made] == [8, 8]
    made = state.follow_fused_split(buffer, state[buffer].iters[2], [number, number], 1, True)
    assert [one.range.extent for one in made] == [4, 16]
    with pytest.raises(ScheduleError, match="step 0 of the state is no split"):
        state.follow_split(buffer, made[0], 0, 1)
    with pytest.raises(ScheduleError, match="the state has 4 stages, and none with the number 9"):
        state.compute_inline(9)


def test_a_state_by_hand_is_built_and_recorded() -> None:
    dag, state = get_tiled_matmul()
    schedule, tensors = dag.apply_steps_from_state(state)
    a, b = (np.random.default_rng(0).random((512, 512), np.float32) for _ in range(2))
    np.testing.assert_allclose(tvm.build(schedule, tensors, "llvm")(a, b), a @ b, rtol=1e-4)
    assert "compute_at" in dag.print_python_code_from_state(state)

    small, state, c = product(16)
    state.parallel(c, state[c].iters[0])
    task = auto_scheduler.SearchTask(compute_dag=small, target="llvm")
    given = [auto_scheduler.MeasureInput(task, state)]
    [built] = auto_scheduler.LocalBuilder().build(given)
    assert (built.error_no, built.error_msg) == (0, "")
    assert "parallel" in small.print_python_code_from_state(state)
    result = auto_scheduler.MeasureResult([0.1], 0, "", 0.2, 1)
    line = auto_scheduler.measure_record.dump_record_to_string(given[0], result)
    assert json.loads(line)["i"][1] == [[], [["AN", 2, 0, 3]]]
    again, found = auto_scheduler.measure_record.load_record_from_string(line)
    assert (again.state, found, again.task.workload_key) == (state, result, task.workload_key)


def every_primitive() -> tuple[Any, Any]:
    """A product followed by a relu: its graph, and a state made with every primitive."""
    a = te.placeholder((64, 64), name="A")
    b = te.placeholder((64, 64), name="B")
    k = te.reduce_axis((0, 64), name="k")
    twice = te.compute((64, 64), lambda i, j: a[i, j] * 2.0, name="twice")
    c = te.compute((64, 64), lambda i, j: te.sum(twice[i, k] * b[k, j], axis=k), name="C")
    d = topi.nn.relu(c)
    dag = auto_scheduler.ComputeDAG([a, b, d])
    state = dag.get_init_state()
    state.compute_inline(twice)
    state.split(c, state[c].iters[2], [8])
    parts = state.rfactor(c, state[c].iters[2], 2)
    state.storage_align(parts, state[parts].iters[0], 8, 4)
    copy = state.cache_read(b, "global", [parts])
    state.compute_at(copy, parts, state[parts].iters[0])
    state.compute_root(copy)
    own = state.cache_write(d, "global")
    source = len(state.transform_steps)
    state.split(d, state[d].iters[0], [4, 2])
    state.follow_split(own, state[own].iters[0], source, 2)
    state.follow_fused_split(parts, state[parts].iters[0], [source], 1, True)
    state.reorder(own, state[own].iters[::-1])
    state.fuse(d, state[d].iters[:2])
    state.parallel(d, state[d].iters[0])
    state.unroll(d, state[d].iters[1])
    state.vectorize(d, state[d].iters[2])
    state.pragma(d, state[d].iters[0], "auto_unroll_max_step$64")
    return dag, state


def test_steps_of_all_kinds_survive_a_round_trip_through_a_log(tmp_path: Path) -> None:
    dag, state = every_primitive()
    task = auto_scheduler.SearchTask(compute_dag=dag, target="llvm")
    inp = auto_scheduler.MeasureInput(task, state)
    log = str(tmp_path / "log.json")

    auto_scheduler.save_records(log, [inp], [auto_scheduler.MeasureResult([0.1], 0, "", 0.2, 1)])

    [again], _ = auto_scheduler.RecordReader(log).read_lines()
    assert again.state == state != dag.get_init_state()
    assert [one.row() for one in again.state.transform_steps] == [one.row() for one in state.transform_steps]
    assert {one.row()[0] for one in state.transform_steps} == {
        *("SP", "FSP", "FFSP", "FU", "RE", "AN", "PR", "SA", "CA", "CI", "CR", "CHR", "CHW", "RF")
    }
    a, b = (np.random.default_rng(0).random((64, 64), np.float32) for _ in range(2))
    schedule, tensors = task.apply_best(log)
    np.testing.assert_allclose(tvm.build(schedule, tensors, "llvm")(a, b), 2 * a @ b, rtol=1e-4)


def test_each_cache_copy_has_its_own_name() -> None:
    a = te.placeholder((16,), name="A")
    readers = [te.compute((16,), lambda i, n=n: a[i] * float(n), name=f"B{n}") for n in range(3)]
    dag = auto_scheduler.ComputeDAG([a, *readers])
    state = dag.get_init_state()

    for one in readers:
        state.cache_read(a, "local", [one])

    names = ["A", "A.d.d.local", "A.d.local", "A.local", "B0", "B1", "B2"]
    assert [op.name for op in state.stage_ops] == names
    again = auto_scheduler.ComputeDAG(state.schedule).get_init_state()
    assert [op.name for op in again.stage_ops] == names


def test_a_task_knows_the_machine_of_its_target() -> None:
    task = auto_scheduler.SearchTask(compute_dag=product(16)[0], target="llvm -num-cores=3")

    known = task.hardware_params
    assert (known.num_cores, known.vector_unit_bytes) == (3, task.core.target.vector_bits // 8)
    assert task.targets_as_text() == (str(task.target), "")


def test_a_stage_may_be_attached_after_its_producer() -> None:
    a = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    dag = auto_scheduler.ComputeDAG([a, c := te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="C")])
    state = dag.get_init_state()
    parts = state.cache_write(c, "global")
    state.compute_at(parts, c, state[c].iters[0])
    first = state.cache_read(a, "global", [parts])
    second = state.cache_read(first, "local", [parts])

    state.compute_at(first, parts, state[parts].iters[0])
    assert state[parts].iters[1].range is None  # ``second`` reads ``first`` from outside as yet
    state.compute_at(second, parts, state[parts].iters[1])

    assert extents(dag.infer_bound_from_state(state), second) == [1, 1]


def test_a_generated_state_can_be_changed() -> None:
    task = auto_scheduler.SearchTask(func="matmul_auto_scheduler_test", args=(32, 32, 32), target="llvm")
    state = auto_scheduler.loop_state.State(task.core.default, task.core)
    again = auto_scheduler.loop_state.State(task.core.default, task.core)
    assert state == again
    assert state.transform_steps
    assert len(state.stages) >= 3
    changed = state.copy()
    stage = changed.stage_ops[-1]
    changed.unroll(stage, changed[stage].iters[-1])
    assert changed != state
    assert len(changed.transform_steps) == len(state.transform_steps) + 1


def test_models_learn_and_predict() -> None:
    task = auto_scheduler.SearchTask(func="matmul_auto_scheduler_test", args=(64, 64, 64), target="llvm")
    states = auto_scheduler.SketchPolicy(task, seed=1).sample_initial_population()[:16]
    assert len(set(states)) == 16
    inputs = [auto_scheduler.MeasureInput(task, one) for one in states]
    costs = np.linspace(1, 2, len(states))
    results = [auto_scheduler.MeasureResult([one], 0, "", 0.1, 0) for one in costs]
    random, learned = auto_scheduler.RandomModel(), auto_scheduler.XGBModel()
    random.update(inputs, results)
    assert len(random.predict(task, states)) == len(learned.predict(task, states)) == 16

    learned.update(inputs, results)
    found = learned.predict(task, states)
    assert np.sqrt(np.mean((found - 1 / costs) ** 2)) < 0.2


def test_a_dag_is_made_from_a_schedule_and_counts_stated_flops() -> None:
    a, b, c = matmul_auto_scheduler_test(8, 8, 8)
    s = te.create_schedule(c.op)
    s.cache_write(c, "global")
    assert len(auto_scheduler.ComputeDAG(s).get_init_state().stage_ops) == 4
    d = te.compute((8, 8), lambda i, j: c[i, j], name="d", attrs={"FLOP": 77})
    assert auto_scheduler.ComputeDAG([a, b, d]).flop_ct == 2 * 8**3 + 77


def test_operations_are_counted_by_the_kind_of_the_result() -> None:
    a, b, c = matmul_auto_scheduler_test(8, 8, 8)
    product = 2 * 8**3
    padded = topi.nn.pad(c, [1, 1])
    chosen = te.compute((8, 8), lambda i, j: te.if_then_else(a[i, j] > 0, a[i, j] + b[i, j], 0.0))
    rooted = te.compute((8, 8), lambda i, j: te.sqrt(a[i, j]) * (i * 2 + j).astype("float32"))

    counts = [auto_scheduler.ComputeDAG([a, b, one]).flop_ct for one in (c, padded, chosen, rooted)]

    assert counts == [product, product, 2 * 8**2, 8**2]
