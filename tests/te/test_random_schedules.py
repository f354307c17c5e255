"""Random computations under random legal schedules agree with numpy."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t

Array = np.ndarray
Step = tuple[te.Tensor, Callable[[Array], Array]]


def scaled(x: te.Tensor, name: str, _: random.Random) -> Step:
    return te.compute(
        x.shape, lambda i, j: x[i, j] * 2 + j, name=name
    ), lambda a: a * 2 + np.arange(a.shape[1])


def padded(x: te.Tensor, name: str, _: random.Random) -> Step:
    h, w = x.shape
    made = te.compute(
        (h + 2, w + 1),
        lambda i, j: te.if_then_else(te.all(i >= 1, i < h + 1, j < w), x[i - 1, j], 0.5),
        name=name,
    )
    return made, lambda a: np.pad(a, ((1, 1), (0, 1)), constant_values=0.5)


def row_maxima(x: te.Tensor, name: str, _: random.Random) -> Step:
    k = te.reduce_axis((0, x.shape[1]), name="k")
    made = te.compute((x.shape[0], 3), lambda i, j: te.max(x[i, k] + j, axis=k), name=name)
    return made, lambda a: a.max(1)[:, None] + np.arange(3)


def odd_sums(x: te.Tensor, name: str, _: random.Random) -> Step:
    k = te.reduce_axis((0, x.shape[1]), name="k")
    made = te.compute((x.shape[0], 2), lambda i, j: te.sum(x[i, k] - j, axis=k, where=k % 2 == 1), name=name)
    return made, lambda a: (a[:, None, 1::2] - np.arange(2)[:, None]).sum(2)


def gram(x: te.Tensor, name: str, _: random.Random) -> Step:
    k = te.reduce_axis((0, x.shape[1]), name="k")
    made = te.compute((x.shape[0], x.shape[0]), lambda i, j: te.sum(x[i, k] * x[j, k], axis=k), name=name)
    return made, lambda a: a @ a.T


def windows(x: te.Tensor, name: str, _: random.Random) -> Step:
    h, w = x.shape
    k = te.reduce_axis((0, 3), name="k")
    made = te.compute((h, (w - 3) // 2 + 1), lambda i, j: te.sum(x[i, j * 2 + k], axis=k), name=name)
    return made, lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, axis=1)[:, ::2].sum(2)


def transposed(x: te.Tensor, name: str, _: random.Random) -> Step:
    h, w = x.shape
    return te.compute((w, h), lambda i, j: x[j, i] - i, name=name), lambda a: (a - np.arange(a.shape[1])).T


def flipped(x: te.Tensor, name: str, _: random.Random) -> Step:
    h, w = x.shape
    return te.compute((h, w), lambda i, j: x[i, w - 1 - j], name=name), lambda a: a[:, ::-1]


def joined(x: te.Tensor, name: str, _: random.Random) -> Step:
    h, w = x.shape
    made = te.compute((h, 2 * w), lambda i, j: te.if_then_else(j < w, x[i, j], x[i, j - w] * 3), name=name)
    return made, lambda a: np.concatenate([a, a * 3], axis=1)


STEPS = (scaled, padded, row_maxima, odd_sums, gram, transposed, flipped, joined)


def random_computation(rnd: random.Random) -> tuple[te.Tensor, te.Tensor, Array, Array]:
    """A chain of two to four steps, the values of its input and the expected result; rows may be symbolic."""
    rows, columns = rnd.randint(1, 7), rnd.randint(3, 8)
    source = te.placeholder((te.var("n") if rnd.random() < 0.4 else rows, columns), name="A")
    values = np.random.default_rng(rows * 10 + columns).integers(-4, 5, (rows, columns)).astype("float32")
    x, want = source, values.astype("float64")
    for number in range(rnd.randint(2, 4)):
        fits = [*STEPS, windows] if isinstance(x.shape[1], int) and x.shape[1] >= 3 else STEPS
        x, reference = rnd.choice(fits)(x, f"T{number}", rnd)
        want = reference(want)
    return source, x, values, want


def computes(s: te.Schedule) -> list[te.Stage]:
    return [stage for stage in s.stages if isinstance(stage.op, t.ComputeOp)]


def add_caches(rnd: random.Random, s: te.Schedule) -> None:
    for stage in computes(s):
        if rnd.random() < 0.25:
            s.cache_write(stage.op.output(0), "local")
    for stage in list(s.stages):
        readers = [other.op for other in s.stages if stage.op.output(0) in other.op.inputs]
        if readers and rnd.random() < 0.15:
            s.cache_read(stage.op.output(0), "local", readers)


def arrange_loops(rnd: random.Random, s: te.Schedule, stage: te.Stage) -> None:
    for _ in range(rnd.randint(0, 4)):
        axis = rnd.choice(stage.leaf_iter_vars)
        match rnd.choice(["factor", "nparts", "fuse", "reorder", "unroll", "parallel"]):
            case "factor":
                stage.split(axis, factor=rnd.randint(1, 5))
            case "nparts":
                stage.split(axis, nparts=rnd.randint(1, 4))
            case "fuse":
                place = stage.leaf_iter_vars.index(axis)
                stage.fuse(*stage.leaf_iter_vars[place : place + 2])
            case "reorder":
                stage.reorder(*rnd.sample(stage.leaf_iter_vars, rnd.randint(1, len(stage.leaf_iter_vars))))
            case "unroll" if axis.dom is not None and e.is_const(axis.dom.extent):
                stage.unroll(axis)
            case "parallel" if axis.kind == "data":
                stage.parallel(axis)
    reducing = [axis for axis in stage.leaf_iter_vars if axis.kind == "reduce"]
    if reducing and rnd.random() < 0.15:
        try:
            s.rfactor(stage.op.output(0), rnd.choice(reducing), rnd.randint(0, 2))
        except ScheduleError as error:
            if "is fused with data axis" not in str(error):
                raise


def place_stages(rnd: random.Random, s: te.Schedule) -> None:
    for stage in computes(s):
        choice = rnd.random()
        if stage.is_output:
            continue
        if choice < 0.2 and not stage.op.reduce_axis:
            stage.compute_inline()
        elif choice < 0.75:
            readers = [other for other in s.stages if stage.op.output(0) in other.op.inputs]
            reader = rnd.choice(readers)
            stage.compute_at(reader, rnd.choice(reader.leaf_iter_vars))


@pytest.mark.parametrize("block", range(8))
def test_a_random_schedule_agrees_with_numpy(block, run) -> None:
    legal = 0
    for seed in range(block * 50, block * 50 + 50):
        rnd = random.Random(seed)
        source, result, values, want = random_computation(rnd)
        s = te.create_schedule(result.op)
        add_caches(rnd, s)
        for stage in reversed(computes(s)):
            arrange_loops(rnd, s, stage)
        place_stages(rnd, s)
        try:
            got = run(s, [source, result], [values], [want.shape])[0]
        except ScheduleError as error:
            if "outside that loop" not in str(error) and "any more" not in str(error):
                raise
            continue
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}\n{s}")
        legal += 1
    assert legal >= 30
