"""Features of loops have a fixed width, and their counts equal counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_tuning import small_matmul

from tvmlite import te
from tvmlite.autotune.in_force import using
from tvmlite.autotune.model.loop_features import NAMES, WIDTH, loop_features
from tvmlite.machine.target import Target
from tvmlite.te.lowering.lower import lower
from tvmlite.te.space import SplitChoice
from tvmlite.te.space.config import ConfigEntity, OptionChoice
from tvmlite.te.tensor.work import operations

AVX512 = Target.parse("llvm -mcpu=znver4 -mtriple=x86_64-linux-gnu")
AVX2 = Target.parse("llvm -mcpu=znver3 -mtriple=x86_64-linux-gnu")


def matmul(
    rows: int = 4, vectors: int = 2, n: int = 64, m: int = 64, k: int = 64, target: Target = AVX512
) -> dict[str, float]:
    """The features of a product in tiles of ``rows`` by ``vectors`` vectors, held in registers."""
    lanes = target.lanes("float32")
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "local")
    _, x, _, _ = s[c].tile(*s[c].op.axis, rows, vectors * lanes)
    s[sums].compute_at(s[c], x)
    i, j = s[sums].op.axis
    several, lane = s[sums].split(j, lanes)
    s[sums].reorder(*s[sums].op.reduce_axis, i, several, lane)
    s[sums].unroll(i)
    s[sums].unroll(several)
    s[sums].vectorize(lane)
    return named(s, [a, b, c], target)


def named(s: te.Schedule, args: list[te.Tensor], target: Target = AVX512) -> dict[str, float]:
    row = loop_features(lower(s, args), target, float(operations(s.origins, {})))
    assert row.shape == (WIDTH,)
    assert np.isfinite(row).all()
    return dict(zip(NAMES, row.tolist(), strict=True))


def test_features_describe_a_register_tile() -> None:
    found = matmul(rows=4, vectors=2)

    assert 2 ** found["0: kept"] - 1 == pytest.approx(4 * 2)  # accumulators
    assert 2 ** found["0: contiguous"] - 1 == pytest.approx(2)  # vectors of B
    assert 2 ** found["0: broadcast"] - 1 == pytest.approx(4)  # scalars of A
    assert found["0: scattered"] == 0
    assert found["0: held"] == 1
    assert 2 ** found["0: chain"] == pytest.approx(64)
    assert 2 ** found["0: trips"] == pytest.approx(64**3)
    assert (found["0: extent 0"], found["0: vectorize 0"], found["0: unroll 1"]) == (4, 1, 1)


def test_touched_bytes_of_the_innermost_loops_are_exact() -> None:
    found = matmul(rows=4, vectors=2)

    tile, weights, data = 4 * 32 * 4, 32 * 4, 4 * 64  # a line of A for each row
    assert 2 ** found["0: touched 2"] - 1 == pytest.approx(tile + weights + data)
    whole = 4 * 32 * 4 + 64 * 32 * 4 + 4 * 64 * 4
    assert 2 ** found["0: touched 3"] - 1 == pytest.approx(whole)


def test_a_cache_that_holds_all_data_loads_each_byte_once() -> None:
    found = matmul()
    work = 2 ** found["0: work"]

    moved = 2 ** found["0: moved 16777216"] * work - 1

    assert moved == pytest.approx(2 * 64 * 64 * 4 + 4 * 32 * 4)


def test_more_rows_of_the_same_tile_have_the_same_features() -> None:
    one, two = matmul(n=64), matmul(n=128)

    of_tile = ("lanes", "unrolled", "kept", "contiguous", "broadcast", "held", "chain", "cycles", "density")
    for name in (*(f"0: {word}" for word in of_tile), "0: touched 3", "cycles", "scratch", "moved 512"):
        assert one[name] == pytest.approx(two[name], abs=1e-2), name
    assert two["0: work"] == pytest.approx(one["0: work"] + 1)


def test_a_larger_tile_is_estimated_faster_until_registers_run_out() -> None:
    small, good, large = (matmul(rows=rows, n=96)["cycles"] for rows in (1, 8, 32))

    assert small < good > large


def test_with_few_registers_the_fewer_operands_stay_in_registers() -> None:
    """With 16 registers, 3 by 4 sums leave 4, enough for 3 operands and one more; 4 by 4 sums leave none."""
    wide, high, more = (
        2 ** matmul(rows, vectors, n=96, m=96, k=1024, target=AVX2)["cycles"]
        for rows, vectors in ((3, 4), (4, 3), (4, 4))
    )

    assert wide == pytest.approx(2 * 8 * 2, rel=0.1)  # two multiply-adds of 8 lanes a cycle
    assert high == pytest.approx(wide, rel=0.1)
    assert more < wide / 2


def test_a_dependent_chain_of_sums_is_estimated_slower() -> None:
    """One accumulator waits 4 cycles for its previous value; with 8 accumulators none waits."""
    alone, several = matmul(rows=1, vectors=1, k=1024), matmul(rows=2, vectors=4, k=1024)

    assert 2 ** alone["cycles"] == pytest.approx(2 * 16 / 4, rel=0.1)
    assert 2 ** several["cycles"] == pytest.approx(2 * 8 * 16 / 4, rel=0.1)  # two sums a cycle


def test_short_independent_reductions_are_estimated_faster() -> None:
    short, long = (row_sums(columns) for columns in (16, 512))

    assert short["cycles"] > long["cycles"] + 1


def row_sums(columns: int) -> dict[str, float]:
    """The features of scalar sums over many rows."""
    a = te.placeholder((4096, columns), name="A")
    k = te.reduce_axis((0, columns), name="k")
    total = te.compute((4096,), lambda i: te.sum(a[i, k], axis=k), name="T")
    return named(te.create_schedule(total.op), [a, total])


def test_overlapping_windows_share_loads() -> None:
    a = te.placeholder((18, 16), name="A")
    k = te.reduce_axis((0, 3), name="k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i + k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    outer, inner = s[c].split(i, 4)
    s[c].reorder(outer, k, inner, j)
    s[c].unroll(k)
    s[c].unroll(inner)
    s[c].vectorize(j)

    found = named(s, [a, c])

    assert 2 ** found["0: contiguous"] - 1 == pytest.approx(4 + 3 - 1)


def test_strided_vectors_are_counted_apart_from_contiguous_ones() -> None:
    a = te.placeholder((64, 64), name="A")
    c = te.compute((64, 64), lambda i, j: a[j, i], name="C")
    s = te.create_schedule(c.op)
    s[c].vectorize(s[c].split(c.op.axis[1], 16)[1])

    found = named(s, [a, c])

    assert (found["0: contiguous"], 2 ** found["0: scattered"] - 1) == (0, pytest.approx(16))


def test_fused_loops_guards_and_calls_are_counted() -> None:
    a = te.placeholder((7, 9), name="A")
    c = te.compute((7, 9), lambda i, j: te.exp(a[i, j]), name="C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(s[c].fuse(*c.op.axis), 16)
    s[c].parallel(outer)

    found = named(s, [a, c])

    assert (found["0: calls"], found["0: guards"]) == (1, 1)
    assert 2 ** found["0: parallel"] == pytest.approx(4)


def test_every_candidate_of_a_template_has_distinct_features() -> None:
    settings = [SplitChoice((-1, n)) for n in (1, 3, 16)]

    rows = []
    for y in settings:
        for vectorize in (False, True):
            knobs = {"y": y, "x": settings[2], "vectorize": OptionChoice(vectorize)}
            with using(ConfigEntity(knobs)):
                rows.append(named(*small_matmul(16, 16, 16)))

    assert len({tuple(row.values()) for row in rows}) == len(rows)
