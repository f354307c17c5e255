"""States of ``auto_scheduler``: primitives by hand, their loops, and what is built of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ScheduleError, UnsupportedError
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


def test_stages_stand_in_loops_and_in_reads() -> None:
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


def test_buffers_and_parts_of_reductions_are_stages() -> None:
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


def test_a_split_follows_others() -> None:
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


def test_a_state_by_hand_is_built_and_has_no_record() -> None:
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
    with pytest.raises(UnsupportedError, match="primitives called by hand, has no settings"):
        auto_scheduler.measure_record.dump_record_to_string(given[0], result)


def test_a_generated_state_has_loops_and_may_be_changed() -> None:
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


def test_a_graph_is_of_a_schedule_and_counts_what_is_stated() -> None:
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
