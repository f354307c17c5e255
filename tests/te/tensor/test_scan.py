"""Tensors computed row by row, alone and among other stages, on the interpreter and both code generators."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import runtime, te
from tvmlite.core.errors import ExecutionError, ScheduleError, TensorExpressionError


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def running_sum(m: Any = 7, n: Any = 5) -> Any:
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    return X, init, update, state, te.scan(init, update, state, inputs=[X])


def holds(s: Any, args: Any, run: Any, given: np.ndarray, *wanted: np.ndarray) -> None:
    results = [run(s, args, [given], [w.shape for w in wanted])]
    for target in ("native", "c"):
        made = tvmlite.build(s, args, target=target, name="scanned")(given)
        results.append(list(made) if isinstance(made, tuple) else [made])
    for result in results:
        for got, want in zip(result, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_rows_are_computed_one_after_the_other_in_one_array(loops: Any, run: Any) -> None:
    X, _, update, _, S = running_sum()
    s = te.create_schedule(S.op)
    s[update].parallel(update.op.axis[1])

    assert loops(s, [X, S]) == text(
        """
        for i in range(0, 5):
            scan[0, i] = X[0, i]
        for scan.idx in range(0, 6):
            for i_1 in parallel(0, 5):
                scan[scan.idx + 1, i_1] = scan[scan.idx, i_1] + X[scan.idx + 1, i_1]
        """
    )
    x = np.random.rand(7, 5).astype("f4")
    holds(s, [X, S], run, x, np.cumsum(x, 0))


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("target", ["native", "c"])
def test_threads_that_share_a_turn_see_the_whole_row_before(target: str) -> None:
    W, X = te.placeholder((40, 40), name="W"), te.placeholder((30, 40), name="X")
    state, k = te.placeholder((30, 40), name="state"), te.reduce_axis((0, 40), name="k")
    init = te.compute((1, 40), lambda _, i: X[0, i], name="init")
    product = te.compute((30, 40), lambda t, i: te.sum(W[i, k] * state[t - 1, k], k), name="product")
    update = te.compute((30, 40), lambda t, i: product[t, i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[W, X])
    s = te.create_schedule(S.op)
    outer, _ = s[update].split(update.op.axis[1], factor=8)
    s[update].parallel(outer)
    s[product].compute_at(s[update], outer)
    made = tvmlite.build(s, [W, X, S], target=target, name="recurrence")
    random = np.random.default_rng(0)
    w, x = random.uniform(-0.1, 0.1, (40, 40)).astype("f4"), random.uniform(-1, 1, (30, 40)).astype("f4")
    wanted = x.astype(np.float64)
    for t in range(1, 30):
        wanted[t] += w @ wanted[t - 1]

    for count in (1, 2, 3):
        runtime.set_num_threads(count)
        for _ in range(5):
            np.testing.assert_allclose(made(w, x), wanted, rtol=1e-4, atol=1e-5)


def test_symbolic_rows_and_a_reader(run: Any) -> None:
    X, _, update, _, S = running_sum(te.var("m"), te.var("n"))
    doubled = te.compute(S.shape, lambda i, j: S[i, j] * 2.0, name="doubled")
    s = te.create_schedule(doubled.op)
    s[update].split(update.op.axis[1], factor=4)
    x = np.random.rand(7, 5).astype("f4")
    holds(s, [X, doubled], run, x, np.cumsum(x, 0) * 2)


def test_fewer_rows_than_the_init_has_are_an_error() -> None:
    X, _, _, _, S = running_sum(te.var("m"), 5)
    made = tvmlite.build(te.create_schedule(S.op), [X, S])
    with pytest.raises(ExecutionError, match="scan 'scan': there are fewer rows than its init has"):
        made(np.zeros((0, 5), "f4"))


def test_what_the_update_reads_is_computed_at_each_turn(loops: Any, run: Any) -> None:
    X = te.placeholder((6, 4), name="X")
    state = te.placeholder((6, 4), name="state")
    k = te.reduce_axis((0, 4), name="k")
    init = te.compute((2, 4), lambda t, i: X[t, i], name="init")
    total = te.compute((6,), lambda t: te.sum(state[t - 2, k], axis=k), name="total")
    once = te.compute((6, 4), lambda t, i: X[t, i] * 3.0, name="once")
    update = te.compute((6, 4), lambda t, i: total[t] + once[t, i] - state[t - 1, i], name="update")
    S = te.scan(init, update, state, inputs=[X])
    s = te.create_schedule(S.op)
    s[once].compute_inline()

    assert loops(s, [X, S]) == text(
        """
        for t in range(0, 2):
            for i in range(0, 4):
                scan[t, i] = X[t, i]
        for scan.idx in range(0, 4):
            allocate total[1] float32:
                total[0] = 0.0
                for k in range(0, 4):
                    total[0] = total[0] + scan[scan.idx, k]
                for i_1 in range(0, 4):
                    scan[scan.idx + 2, i_1] = total[0] + X[scan.idx + 2, i_1] * 3.0 - scan[scan.idx + 1, i_1]
        """
    )
    x = np.random.rand(6, 4).astype("f4")
    want = x.copy()
    for t in range(2, 6):
        want[t] = want[t - 2].sum() + x[t] * 3 - want[t - 1]
    holds(s, [X, S], run, x, want)
    s[total].compute_at(s[update], update.op.axis[1])
    holds(s, [X, S], run, x, want)
    s[total].compute_root()
    s.cache_write(update, "local")
    holds(s, [X, S], run, x, want)


def test_several_states_go_together(run: Any) -> None:
    X = te.placeholder((6,), name="X")
    a, b = te.placeholder((6,), name="a"), te.placeholder((6,), "int32", name="b")
    init = te.compute((1,), lambda t: X[t], name="first")
    count = te.compute((1,), lambda t: te.const(0), name="count")
    best = te.compute((6,), lambda t: te.max(a[t - 1], X[t]), name="best")
    where = te.compute((6,), lambda t: te.select(X[t] > a[t - 1], t, b[t - 1]), name="where")
    greatest, place = te.scan([init, count], [best, where], [a, b], inputs=[X])
    s = te.create_schedule(greatest.op)
    x = np.random.rand(6).astype("f4")
    wanted = np.maximum.accumulate(x), np.array([x[: n + 1].argmax() for n in range(6)])
    holds(s, [X, greatest, place], run, x, *wanted)


def test_parts_that_do_not_fit_are_refused() -> None:
    X, init, update, state, _ = running_sum()
    with pytest.raises(TensorExpressionError, match="scan 'scan': 1, 2, 1 inits, updates and states"):
        te.scan([init], [update, update], [state])
    with pytest.raises(TensorExpressionError, match=r"the init .*X.* is not a compute"):
        te.scan(X, update, state)
    with pytest.raises(TensorExpressionError, match="the state update is not a placeholder"):
        te.scan(init, update, update)
    other = te.placeholder((7, 5), "int32", name="other")
    with pytest.raises(TensorExpressionError, match=r"init is float32 \(1, 5\), the state int32 \(7, 5\)"):
        te.scan(init, update, other)
    longer = te.placeholder((8, 5), name="longer")
    with pytest.raises(TensorExpressionError, match=r"has shape \(7, 5\), the state \(8, 5\)"):
        te.scan(init, update, longer)


def test_a_part_of_a_scan_is_laid_out_as_the_whole(loops: Any) -> None:
    X, _, update, _, S = running_sum()
    s = te.create_schedule(S.op)
    s[update].transform_layout(lambda t, i: [i, t])
    with pytest.raises(
        ScheduleError, match="transform_layout: update is a part of the scan scan, whose layout"
    ):
        loops(s, [X, S])
    s = te.create_schedule(S.op)
    s[update].storage_align(update.op.axis[1], 16)
    with pytest.raises(ScheduleError, match="storage_align: update is a part of the scan scan, whose layout"):
        loops(s, [X, S])
    s = te.create_schedule(S.op)
    s[update].align_bounds(update.op.axis[1], 5)
    with pytest.raises(
        ScheduleError,
        match=r"(?s)align_bounds: update is a part of the scan scan, whose iterations .*align_bounds",
    ):
        loops(s, [X, S])


def test_a_scan_keeps_its_order_and_its_place(loops: Any) -> None:
    X, init, update, _, S = running_sum()
    Y = te.compute((7, 5), lambda i, j: S[i, j] + 1.0, name="Y")
    s = te.create_schedule(Y.op)
    with pytest.raises(ScheduleError, match=r"axis scan\.idx of stage scan is a ordered axis"):
        s[S].parallel(S.op.scan_axis)
    with pytest.raises(ScheduleError, match="compute_at: scan is a scan, which cannot be moved"):
        s[S].compute_at(s[Y], Y.op.axis[0])
    s[init].compute_inline()
    with pytest.raises(ScheduleError, match="compute_inline: init is an init or update of the scan scan"):
        loops(s, [X, Y])
    s = te.create_schedule(S.op)
    with pytest.raises((ScheduleError, TensorExpressionError), match="update"):
        loops(s, [X, S, update])
