"""Recurrences: a running sum, a cell of two stages, and several states."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te


def test_a_running_sum(check: Any) -> None:
    m, n = te.var("m"), te.var("n")
    X, state = te.placeholder((m, n), name="X"), te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: X[0, i])
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
    total = te.scan(init, update, state, inputs=[X])
    s = te.create_schedule(total.op)
    outer, inner = s[update].split(update.op.axis[1], factor=8)
    s[update].parallel(outer)
    s[update].vectorize(inner)
    s[init].vectorize(s[init].split(init.op.axis[1], factor=8)[1])
    x = np.random.rand(10, 16).astype("f4")
    check(s, [X, total], [x], np.cumsum(x, 0))


def test_a_cell_of_two_stages(check: Any) -> None:
    m, n = te.var("m"), te.var("n")
    X, state = te.placeholder((m, n), name="X"), te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: X[0, i])
    half = te.compute((m, n), lambda t, i: state[t - 1, i] * 0.5, name="half")
    update = te.compute((m, n), lambda t, i: half[t, i] + X[t, i], name="update")
    smooth = te.scan(init, update, state, inputs=[X])
    s = te.create_schedule(smooth.op)
    outer, _ = s[update].split(update.op.axis[1], factor=4)
    s[half].compute_at(s[update], outer)
    x = np.random.rand(8, 10).astype("f4")
    want = x.copy()
    for t in range(1, 8):
        want[t] += want[t - 1] / 2
    check(s, [X, smooth], [x], want)


def test_several_states(check: Any) -> None:
    m, n, width = te.var("m"), te.var("n"), te.var("width")
    X, Y = te.placeholder((m, n), name="X"), te.placeholder((m, width), name="Y")
    sx, sy = te.placeholder((m, n)), te.placeholder((m, width))
    init = te.compute((1, n), lambda _, i: X[0, i]), te.compute((1, width), lambda _, i: Y[0, i])
    update = (
        te.compute((m, n), lambda t, i: sx[t - 1, i] + X[t, i]),
        te.compute((m, width), lambda t, i: sy[t - 1, i] + sx[t - 1, 0]),
    )
    first, second = te.scan(list(init), list(update), [sx, sy], inputs=[X, Y])
    s = te.create_schedule(first.op)
    x, y = np.random.rand(6, 4).astype("f4"), np.random.rand(6, 3).astype("f4")
    sums = np.cumsum(x, 0)
    others = np.cumsum(np.vstack([y[:1], np.repeat(sums[:-1, :1], 3, axis=1)]), 0)
    check(s, [X, Y, first, second], [x, y], sums, others)
