"""Sweeping kernels read their weights in one direction in one run, and in the other in the next."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime, te
from tvmlite.model.artifact import CompiledModule

rng = np.random.default_rng(0)
WEIGHTS = [rng.standard_normal(shape, np.float32) / 16 for shape in ((256, 300), (256, 256))]
TARGETS = ["native", pytest.param("c", marks=pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc"))]


def layers(rows: int, target: str) -> CompiledModule:
    """Two dense layers on ``rows`` rows."""
    x = relay.var("x", shape=(rows, 300), dtype="float32")
    value: relay.Expr = x
    for weight in WEIGHTS:
        value = relay.nn.relu(relay.nn.dense(value, relay.const(weight)))
    return tvmlite.compile(relay.Function((x,), value), target=target)


def expected(x: np.ndarray) -> np.ndarray:
    for weight in WEIGHTS:
        x = np.maximum(x @ weight.astype(np.float64).T, 0)
    return x


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("target", TARGETS)
def test_sweeps_in_both_directions_give_the_same_bits(target: str, count: int) -> None:
    runtime.set_num_threads(count)
    lib, x = layers(1, target), rng.standard_normal((1, 300), np.float32)
    first = lib(x)
    np.testing.assert_allclose(first, expected(x), rtol=1e-4, atol=1e-5)
    for _ in range(4):
        np.testing.assert_array_equal(lib(x), first)


@pytest.mark.parametrize(("target", "form"), [("native", "llvm"), ("c", "c")])
def test_only_matrix_products_of_few_rows_sweep(target: str, form: str) -> None:
    few, many = (layers(rows, target).source(form) for rows in (1, 64))
    assert "@tvmlite_sweep(ptr" in few if form == "llvm" else "tvmlite_sweep(" in few
    assert few.count("tvmlite_next_run(") == 2  # declared, and called by the entry alone
    assert "tvmlite_parallel_for(" in many
    assert "tvmlite_sweep(" not in many
    assert "tvmlite_next_run(" not in many


def test_a_kernel_from_the_cache_keeps_its_sweep(empty_cache: Path) -> None:
    made, found = layers(1, "native"), layers(1, "native")
    assert all(row.from_cache for row in found.report.rows)
    assert found.source("llvm") == made.source("llvm")
    assert [one.interface for one in found.kernels] == [one.interface for one in made.kernels]
    assert "counts its runs" in found.source()


def test_the_sweep_pragma_works_in_a_schedule_written_by_hand() -> None:
    x = te.placeholder((4096,), "float32", "x")
    y = te.compute((4096,), lambda i: x[i] * 2.0, name="y")
    schedule = te.create_schedule(y.op)
    outer, _inner = schedule[y].split(y.op.axis[0], factor=64)
    schedule[y].parallel(outer)
    schedule[y].pragma(outer, "sweep")
    function = tvmlite.build(schedule, [x, y])
    assert "@tvmlite_sweep(ptr" in function.source("llvm")
    data, made = rng.standard_normal(4096, np.float32), np.zeros(4096, np.float32)
    function(data, made)
    np.testing.assert_array_equal(made, data * 2)
    serial = te.create_schedule(y.op)
    serial[y].pragma(y.op.axis[0], "sweep")  # has no effect on a serial loop
    assert "sweep" not in tvmlite.build(serial, [x, y]).source("llvm")
