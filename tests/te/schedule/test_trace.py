"""The trace of a schedule: what is recorded, how it prints, and that replaying it gives the same loops."""

from __future__ import annotations

import inspect
import linecache
import random

import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError


def matmul(n: int = 64):
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def blocked():
    s, A, B, C = matmul()
    cached = s.cache_write(C, "local")
    io, jo, _, ji = s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=8, y_factor=16)
    s[C].vectorize(ji)
    s[cached].compute_at(s[C], jo)
    (k,) = s[cached].op.reduce_axis
    ko, ki = s[cached].split(k, factor=4)
    s[cached].reorder(ko, ki, *s[cached].op.axis)
    s[cached].unroll(ki)
    packed = s.cache_read(B, "global", [cached])
    s[packed].parallel(s[packed].op.axis[0])
    s[C].parallel(io)
    return s, [A, B, C]


def test_a_trace_prints_the_calls_as_written() -> None:
    s, _ = blocked()

    assert str(s.trace).splitlines() == [
        "C.local = s.cache_write(C, 'local')",
        "i.outer, j.outer, i.inner, j.inner = s[C].tile(i, j, x_factor=8, y_factor=16)",
        "s[C].vectorize(j.inner)",
        "s[C.local].compute_at(s[C], j.outer)",
        "k.outer, k.inner = s[C.local].split(k, factor=4)",
        "s[C.local].reorder(k.outer, k.inner, i.c, j.c)",
        "s[C.local].unroll(k.inner)",
        "B.global = s.cache_read(B, 'global', [C.local])",
        "s[B.global].parallel(ax0)",
        "s[C].parallel(i.outer)",
    ]


def test_a_step_knows_the_line_of_the_user() -> None:
    s, _ = blocked()

    lines = [linecache.getline(step.span.source, step.span.line).strip() for step in s.trace]

    assert lines[3] == "s[cached].compute_at(s[C], jo)"
    assert len(s.trace) == 10


def test_a_replay_gives_the_same_loops_at_every_step() -> None:
    s, args = blocked()
    again = s.replay()

    assert str(te.lower(again, args)) == str(te.lower(s, args))
    assert str(again) == str(s)
    assert str(again.trace) == str(s.trace)
    assert len(s.replay(3).trace) == 3
    assert str(s.replay(0)) == str(matmul()[0])


def test_a_replay_does_not_change_the_schedule() -> None:
    s, _ = blocked()
    before = str(s)

    again = s.replay()
    again[again.origins[0]].unroll(again.stages[-1].leaf_iter_vars[2])

    assert (str(s), len(s.trace), len(again.trace)) == (before, 10, 11)


def test_a_replay_follows_rfactor_and_fusion() -> None:
    A = te.placeholder((8, 30), name="A")
    k = te.reduce_axis((0, 30), name="k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=4)
    partial = s.rfactor(B, ki)
    s[partial].compute_at(s[B], s[B].op.axis[0])
    s[B].fuse(s[B].op.axis[0], s[B].op.reduce_axis[0])

    assert str(te.lower(s.replay(3), [A, B])) != str(te.lower(s.replay(2), [A, B]))
    assert str(s.replay()) == str(s)


def test_a_failing_primitive_keeps_its_completed_steps() -> None:
    s, _, _, C = matmul()

    with pytest.raises(ScheduleError, match="vectorize"):
        s[C].vectorize(C.op.reduce_axis[0])
    assert len(s.trace) == 0

    with pytest.raises(ScheduleError, match="factor 0"):
        s[C].tile(*C.op.axis, 4, 0)
    assert str(s.trace) == "i.outer, i.inner = s[C].split(i, factor=4)"
    assert str(s.replay()) == str(s)


def test_a_copy_continues_with_its_own_trace() -> None:
    s, args = blocked()
    copy = s.copy()

    copy[copy.origins[0]].pragma(copy.stages[-1].leaf_iter_vars[1], "unroll_explicit", True)

    assert (len(s.trace), len(copy.trace)) == (10, 11)
    assert str(te.lower(copy.replay(), args)) == str(te.lower(copy, args))


NOT_PRIMITIVES = {"create_group", "normalize"}
"""They change no loop: moves of a group are recorded for its stages, and normalizing gives a new schedule."""


@pytest.mark.parametrize("owner", [te.Stage, te.Schedule])
def test_every_primitive_is_recorded(owner: type) -> None:
    rewrites = {
        name: method
        for name, method in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_") and name not in NOT_PRIMITIVES and "-->" in (method.__doc__ or "")
    }

    assert rewrites
    assert [name for name, method in rewrites.items() if not hasattr(method, "__wrapped__")] == []


def test_loop_variables_in_an_expression_are_mapped_in_a_replay() -> None:
    A = te.placeholder((32,), name="A")
    B = te.compute((32,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], factor=8)
    s[B].set_store_predicate(outer.var < 3)
    again = s.replay()

    assert str(s.trace[1]) == "s[B].set_store_predicate(i.outer < 3)"
    assert str(te.lower(again, [A, B])) == str(te.lower(s, [A, B]))
    assert "i.outer < 3" in str(te.lower(again, [A, B]))


@pytest.mark.parametrize("seed", range(5))
def test_random_traces_can_be_replayed(seed: int) -> None:
    rng = random.Random(seed)
    s, A, B, C = matmul(24)
    for _ in range(12):
        stage = s[C]
        leaf = rng.choice(stage.leaf_iter_vars)
        match rng.randrange(4):
            case 0:
                stage.split(leaf, **{rng.choice(["factor", "nparts"]): rng.choice([2, 3, 5])})
            case 1:
                stage.reorder(*rng.sample(stage.leaf_iter_vars, 2))
            case 2:
                stage.unroll(leaf)
            case _ if leaf.kind == "data":
                stage.parallel(leaf)
    again = s.replay()

    assert str(again) == str(s)
    assert str(te.lower(again, [A, B, C])) == str(te.lower(s, [A, B, C]))


def test_a_stage_can_be_changed_only_by_primitives() -> None:
    s, _, _, C = matmul()
    s[C].unroll(C.op.axis[0])

    with pytest.raises(AttributeError):
        s[C].attach_type = "inline"
    with pytest.raises(AttributeError):
        s[C].loop_kinds.clear()
    with pytest.raises(TypeError):
        s[C].leaf_iter_vars[0] = C.op.axis[1]


def test_undo_reverts_the_last_primitives() -> None:
    s, args = blocked()
    stage, whole = s[args[2]], str(s)
    before, lines = str(s.replay(7)), str(s.trace).splitlines()
    again, packed = s.copy(), s.stages[2]

    s.undo(3)
    assert (str(s), str(s.trace).splitlines()) == (before, lines[:7])
    assert s[args[2]] is stage
    assert len(s.stages) == 4
    s.undo(7)
    assert str(s) == str(s.replay(0))
    assert len(stage.leaf_iter_vars) == 3
    assert str(again) == whole

    with pytest.raises(ScheduleError, match=r"unroll: stage B.global is not in the schedule any more"):
        packed.unroll(packed.leaf_iter_vars[0])
    with pytest.raises(ScheduleError, match=r"undo: 1 steps given, but only 0 .*\n  at .*test_trace"):
        s.undo()


def test_scheduling_can_continue_after_undo() -> None:
    s, A, B, C = matmul(16)
    s[C].split(C.op.axis[0], factor=3)
    s.undo()
    outer, _ = s[C].split(C.op.axis[0], factor=4)
    s[C].parallel(outer)

    assert str(te.lower(s, [A, B, C])) == str(te.lower(s.replay(), [A, B, C]))
    assert str(s.trace).splitlines()[1] == "s[C].parallel(i.outer)"


def test_states_share_unchanged_stages() -> None:
    s, (A, _, C) = blocked()
    before, after = s.trace[-2].state, s.trace[-1].state

    assert after.stages[A.op] is before.stages[A.op]
    assert after.stages[C.op] is not before.stages[C.op]
    assert s.state is after
    assert s.copy().state is after
