"""Tasks from a computation alone, and schedules partly written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import autotune, te
from tvmlite.core.errors import ScheduleError
from tvmlite.te.schedule.stage_base import AT, INLINE
from tvmlite.te.space import task as registry


def product(n: int, m: int, k: int) -> tuple[Any, Any, Any, Any]:
    """``relu(a @ b)``, with the tensor before the relu."""
    a, b = te.placeholder((n, k), name="a"), te.placeholder((k, m), name="b")
    step = te.reduce_axis(k, "step")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, step] * b[step, j], step), name="c")
    d = te.compute((n, m), lambda i, j: te.if_then_else(c[i, j] > 0, c[i, j], te.const(0.0)), name="d")
    return a, b, c, d


@pytest.fixture
def names() -> Iterator[None]:
    """Templates that a test registers are gone after it."""
    before = dict(registry._TEMPLATES)
    yield
    registry._TEMPLATES.clear()
    registry._TEMPLATES.update(before)


def check(s: te.Schedule, args: list[te.Tensor]) -> None:
    random = np.random.default_rng(0)
    n, k, m = (int(x) for x in (*args[0].shape, args[1].shape[1]))  # type: ignore[arg-type]
    a, b = (random.uniform(-1, 1, shape).astype("float32") for shape in ((n, k), (k, m)))
    np.testing.assert_allclose(tvmlite.build(s, args)(a, b), np.maximum(a @ b, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("names")
def test_a_template_that_returns_only_tensors_is_tuned_and_its_record_used(tmp_path: Path) -> None:
    @autotune.template("generated product")
    def generated(n: int, m: int, k: int) -> list[te.Tensor]:
        a, b, _, d = product(n, m, k)
        return [a, b, d]

    path = tmp_path / "tune.jsonl"
    task = autotune.create("generated product", (16, 32, 24))
    with autotune.LocalRunner(budget=0.001) as runner:
        tuned = autotune.tune(task, path, trials=4, runner=runner, tuner="random")[0]
    with autotune.apply_history_best(path) as history:
        s, args = generated(16, 32, 24)

    assert len(task.config_space) > 100
    assert task.flop == 16 * 32 * (2 * 24)
    assert history.missing == []
    assert tuned.best is not None
    assert [str(step) for step in s.trace] == list(tuned.best.trace)
    check(s, args)


@pytest.mark.usefixtures("names")
def test_without_records_a_generated_schedule_computes_the_right_result() -> None:
    @autotune.template("generated product")
    def generated(n: int, m: int, k: int) -> list[te.Tensor]:
        a, b, _, d = product(n, m, k)
        return [a, b, d]

    check(*generated(20, 40, 12))


def test_stages_scheduled_by_hand_are_kept_and_the_rest_is_generated() -> None:
    a, b, _, d = product(20, 48, 12)
    s = te.create_schedule(d.op)
    rows, columns = s[d].split(d.op.axis[0], factor=4)
    s[d].vectorize(d.op.axis[1])
    by_hand = list(s[d].leaf_iter_vars)

    assert autotune.complete(s) is s

    assert list(s[d].leaf_iter_vars) == list(by_hand) == [rows, columns, d.op.axis[1]]
    assert any(stage.name == "c.local" and stage.attach_type == AT for stage in s.stages)
    check(s, [a, b, d])


def test_a_stage_attached_by_hand_stays_attached_and_its_parent_is_kept() -> None:
    a, b, c, d = product(20, 48, 12)
    s = te.create_schedule(d.op)
    s[c].compute_at(s[d], d.op.axis[0])
    autotune.complete(s)

    assert (s[c].attach_type, s[c].attach_ivar) == (AT, d.op.axis[0])
    assert s[d].leaf_iter_vars == d.op.axis
    check(s, [a, b, d])


def test_producers_are_not_inlined_into_a_hand_scheduled_reduction() -> None:
    x, w = te.placeholder((40,), name="x"), te.placeholder((5,), name="w")
    double = te.compute((40,), lambda i: x[i] * 2.0, name="double")
    k = te.reduce_axis(5, "k")
    y = te.compute((36,), lambda i: te.sum(double[i + k] * w[k], k), name="y")
    s = te.create_schedule(y.op)
    s[y].split(y.op.axis[0], factor=12)
    autotune.complete(s)

    assert s[double].attach_type != INLINE
    data, filters = np.arange(40, dtype="float32"), np.ones(5, "float32")
    expected = np.convolve(data * 2, filters, "valid")
    np.testing.assert_allclose(tvmlite.build(s, [x, w, y])(data, filters), expected)


@pytest.mark.usefixtures("names")
def test_completed_stages_add_knobs_to_those_of_the_template() -> None:
    @autotune.template("half")
    def half(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
        a, b, _, d = product(n, n, n)
        s = te.create_schedule(d.op)
        config = autotune.get_config()
        config.define_split("rows", d.op.axis[0], num_outputs=2)
        config["rows"].apply(s, d, d.op.axis[0])
        return autotune.complete(s), [a, b, d]

    space = autotune.create("half", (48,)).config_space

    assert {"rows", "c.tile", "c.order"} <= set(space.space_map)
    assert not any(name.startswith("d.") for name in space.space_map)


def test_only_a_schedule_can_be_completed() -> None:
    with pytest.raises(ScheduleError, match="complete: a list given, expected a schedule"):
        autotune.complete([])  # type: ignore[arg-type]


@pytest.mark.usefixtures("names")
def test_a_template_that_returns_only_placeholders_is_an_error() -> None:
    @autotune.template("nothing")
    def nothing() -> list[te.Tensor]:
        return [te.placeholder((4,))]

    with pytest.raises(ScheduleError, match="template 'nothing' gave 1 tensors, none of which is computed"):
        nothing()
