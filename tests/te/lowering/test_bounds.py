"""Bound inference: the region of its tensor that a stage computes, and the size of its buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret


def allocations(schedule, args) -> dict[str, list]:
    """The shapes of the buffers that lowering allocates, ints where constant."""
    function = te.lower(schedule, args)
    found = [node.buffer for node in postorder(function.body) if isinstance(node, ir.Allocate)]
    return {b.name: [x.value if hasattr(x, "value") else str(x) for x in b.shape] for b in found}


def producer_and_consumer(index):
    """``B`` of 256 elements, read by ``C`` at ``index(i)`` and computed per tile of 4 of ``C``."""
    A = te.placeholder((256,), name="A")
    B = te.compute((256,), lambda i: A[i] * 2, name="B")
    C = te.compute((16,), lambda i: B[index(i)] + 1, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=4)
    s[B].compute_at(s[C], outer)
    return s, A, B, C


@pytest.mark.parametrize(
    ("index", "extent"),
    [
        (lambda i: i, 4),
        (lambda i: i + 3, 4),
        (lambda i: i * 3, 10),
        (lambda i: i * -2 + 50, 7),
        (lambda i: 40 - i, 4),
        (lambda i: i // 2, 2),
        (lambda i: i // 8, 1),
        (lambda i: i % 8, 4),
        (lambda i: i % 3, 3),
        (lambda i: te.truncmod(i, 8), 4),
        (lambda i: te.truncdiv(i, 2), 2),
        (lambda i: te.min(i + 2, 15), 4),
        (lambda i: te.max(te.min(i - 1, 15), 0), 4),
        (lambda i: te.select(i < 8, i, i + 1), 5),
        (lambda i: te.if_then_else(i < 8, i + 2, i), 6),
        (lambda i: te.likely(i < 3).astype("int32") + i, 256),
        (lambda i: i * i, 82),
        (lambda i: te.const(7), 1),
        (lambda i: i.astype("int64") + 1, 4),
    ],
)
def test_a_tile_of_four_needs_only_the_elements_it_reads(index, extent, run) -> None:
    s, A, B, C = producer_and_consumer(index)
    (size,) = allocations(s, [A, C])["B"]

    assert size == extent
    a = np.arange(256, dtype="float32")
    plain = te.create_schedule(C.op)
    plain[B].compute_inline()
    expected = run(plain, [A, C], [a], [(16,)])[0]
    np.testing.assert_array_equal(run(s, [A, C], [a], [(16,)])[0], expected)


def test_a_tile_needs_the_union_of_its_windows(run) -> None:
    A = te.placeholder((40,), name="A")
    B = te.compute((40,), lambda i: A[i] + 1.0, name="B")
    k = te.reduce_axis((0, 3), name="k")
    C = te.compute((16,), lambda i: te.sum(B[i * 2 + k], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=4)
    s[B].compute_at(s[C], outer)

    assert allocations(s, [A, C]) == {"B": [9]}
    a = np.arange(40, dtype="float32")
    want = sum((a + 1)[d : d + 32 : 2] for d in range(3))
    np.testing.assert_array_equal(run(s, [A, C], [a], [(16,)])[0], want)


def test_the_region_is_the_union_of_the_reads_of_all_consumers() -> None:
    A = te.placeholder((40,), name="A")
    B = te.compute((40,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((16,), lambda i: B[i] + B[i + 5], name="C")
    D = te.compute((16,), lambda i: C[i] * B[i + 7], name="D")
    s = te.create_schedule(D.op)
    outer, _ = s[D].split(D.op.axis[0], factor=4)
    s[C].compute_at(s[D], outer)
    s[B].compute_at(s[D], outer)

    assert allocations(s, [A, D]) == {"B": [11], "C": [4]}


def test_nested_compute_at_relaxes_the_loops_in_between() -> None:
    A = te.placeholder((64,), name="A")
    B = te.compute((62,), lambda i: A[i] + A[i + 2], name="B")
    C = te.compute((60,), lambda i: B[i] * B[i + 2], name="C")
    D = te.compute((60,), lambda i: C[i] - 1.0, name="D")
    s = te.create_schedule(D.op)
    outer, rest = s[D].split(D.op.axis[0], factor=20)
    middle, _ = s[D].split(rest, factor=5)
    s[C].compute_at(s[D], middle)
    s[B].compute_at(s[D], outer)
    assert allocations(s, [A, D]) == {"B": [22], "C": [5]}

    s[B].compute_at(s[C], C.op.axis[0])
    assert allocations(s, [A, D]) == {"B": [3], "C": [5]}


def test_a_part_of_a_fused_loop_needs_the_rows_it_touches() -> None:
    A = te.placeholder((8, 12), name="A")
    B = te.compute((8, 12), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 12), lambda i, j: B[i, j] * 2.0, name="C")

    def rows(factor):
        s = te.create_schedule(C.op)
        outer, _ = s[C].split(s[C].fuse(*C.op.axis), factor=factor)
        s[B].compute_at(s[C], outer)
        return allocations(s, [A, C])["B"]

    assert rows(24) == [2, 12]
    assert rows(4) == [1, 4]
    assert rows(5) == [2, 12]
    assert rows(1) == [1, 1]


def test_a_part_of_a_fused_loop_touches_a_bounded_number_of_symbolic_rows(run) -> None:
    m, n = te.size_var("m"), te.size_var("n")
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((m, n), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(s[C].fuse(*C.op.axis), factor=5)
    s[B].compute_at(s[C], outer)

    rows, columns = allocations(s, [A, C])["B"]
    assert (rows, columns) == ("max(3 // n + 2, 0)", "n")  # 4 elements may be beyond the first row
    for shape in ((3, 4), (1, 7), (6, 1), (0, 2), (3, 0)):
        a = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        np.testing.assert_array_equal(run(s, [A, C], [a], [shape])[0], (a + 1) * 2)


def test_a_gather_needs_the_whole_tensor(run) -> None:
    s_indices = te.placeholder((16,), "int32", name="I")
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((16,), lambda i: B[s_indices[i]], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])

    assert allocations(s, [A, s_indices, C]) == {"B": [10]}
    a, places = np.arange(10, dtype="float32"), np.arange(16, dtype="int32") % 7
    np.testing.assert_array_equal(run(s, [A, s_indices, C], [a, places], [(16,)])[0], (a + 1)[places])


def test_reads_outside_a_padded_tensor_are_guarded(run, loops) -> None:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((18,), lambda i: te.if_then_else(te.all(i >= 1, i < 17), B[i - 1], 0.0), name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=6)
    s[B].compute_at(s[C], outer)
    a = np.arange(16, dtype="float32")

    assert allocations(s, [A, C]) == {"B": [6]}
    assert "if " in loops(s, [A, C]).split("for i.inner")[0]
    np.testing.assert_array_equal(run(s, [A, C], [a], [(18,)])[0], np.pad(a * 2, 1))


def test_tiles_of_symbolic_extents_have_constant_size() -> None:
    h, w = te.size_var("h"), te.size_var("w")
    A = te.placeholder((h + 2, w + 2), name="A")
    k, r = te.reduce_axis((0, 3), name="k"), te.reduce_axis((0, 3), name="r")
    B = te.compute((h + 2, w + 2), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((h, w), lambda i, j: te.sum(B[i + k, j + r], axis=[k, r]), name="C")
    s = te.create_schedule(C.op)
    _, inner, *_ = s[C].tile(*C.op.axis, 4, 8)
    s[B].compute_at(s[C], inner)

    assert allocations(s, [h, w, A, C]) == {"B": [6, 10]}


def test_a_symbolic_root_stage_is_computed_entirely() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n // 2,), lambda i: B[i * 2], name="C")
    s = te.create_schedule(C.op)

    assert allocations(s, [A, C]) == {"B": ["n"]}


def test_a_constant_root_stage_computes_only_what_is_read() -> None:
    A = te.placeholder((40,), name="A")
    B = te.compute((40,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i * 2 + 10], name="C")

    assert allocations(te.create_schedule(C.op), [A, C]) == {"B": [15]}


def test_a_stage_computed_per_row_of_symbolic_length(run) -> None:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, m), name="k")
    C = te.compute((n,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    a = np.arange(12, dtype="float32").reshape(3, 4)

    assert allocations(s, [A, C]) == {"B": [1, "m"]}
    np.testing.assert_array_equal(run(s, [A, C], [a], [(3,)])[0], a.sum(1) * 2)


def test_a_consumer_outside_the_loop_is_named() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    D = te.compute((8,), lambda i: B[i] - C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])

    with pytest.raises(ScheduleError) as error:
        te.lower(s, [A, D])
    assert "compute_at: B is computed at axis i of C, but D, which is outside that loop, reads it too" in str(
        error.value
    )
    assert "s[B].compute_at(s[C], C.op.axis[0])" in str(error.value)


def test_a_fused_symbolic_loop_needs_no_guards(loops, run) -> None:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, 4, m), name="A")
    B = te.compute((n, 4, m), lambda i, c, j: A[i, c, j] + 1.0, name="B")
    C = te.compute((n, 4, m), lambda i, c, j: B[i, c, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    i, c, _ = C.op.axis
    outer, _ = s[C].split(c, factor=2)
    s[B].compute_at(s[C], s[C].fuse(i, outer))
    s[C].fuse(*s[C].leaf_iter_vars[1:])

    assert allocations(s, [A, C]) == {"B": [1, 2, "m"]}
    assert "if " not in loops(s, [A, C])
    a = np.arange(24, dtype="float32").reshape(2, 4, 3)
    np.testing.assert_array_equal(run(s, [A, C], [a], [(2, 4, 3)])[0], (a + 1) * 2)


def test_a_fact_of_one_loop_nest_is_not_used_in_another(run) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n - 5,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n,), lambda i: te.if_then_else(i < n - 5, B[te.max(te.min(i, n - 6), 0)], 2.0), name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=4)

    for size in (0, 3, 9):
        a = np.arange(size, dtype="float32")
        want = np.where(np.arange(size) < size - 5, a + 1, 2)
        np.testing.assert_array_equal(run(s, [A, C], [a], [(size,)])[0], want)


def test_a_tile_of_fused_symbolic_axes_has_constant_size() -> None:
    h, w = te.size_var("h"), te.size_var("w")
    a = te.placeholder((h, w), name="a")
    flat = te.compute((h * w,), lambda p: a[p // w, p % w] * 2.0, name="flat")
    b = te.compute((h, w), lambda y, x: flat[y * w + x] + 1.0, name="b")
    schedule = te.create_schedule(b.op)
    outer, _ = schedule[b].split(schedule[b].fuse(*b.op.axis), 14)
    schedule[flat].compute_at(schedule[b], outer)

    function = te.lower(schedule, [a, b])

    tiles = [node.buffer for node in postorder(function.body) if isinstance(node, ir.Allocate)]
    assert [tuple(extent.value for extent in tile.shape) for tile in tiles] == [(14,)]
    x = np.random.default_rng(0).standard_normal((5, 9)).astype("float32")
    y = np.empty_like(x)
    interpret(function, [x, y])
    np.testing.assert_allclose(y, x * 2 + 1, rtol=1e-6)


def test_a_tile_of_fused_axes_with_sums_as_extents_has_constant_size() -> None:
    h, w, n = te.size_var("h"), te.size_var("w"), te.size_var("n")
    a = te.placeholder((h * (w + 1) * (n + 2),), name="a")
    double = te.compute(a.shape, lambda p: a[p] * 2.0, name="double")
    b = te.compute((h, w + 1, n + 2), lambda y, x, z: double[(y * (w + 1) + x) * (n + 2) + z] + 1.0, name="b")
    schedule = te.create_schedule(b.op)
    outer, _ = schedule[b].split(schedule[b].fuse(*b.op.axis), 14)
    schedule[double].compute_at(schedule[b], outer)

    assert allocations(schedule, [a, b, h, w, n]) == {"double": [14]}


def test_a_tile_has_constant_extent_even_if_the_axis_may_be_shorter(run: Any) -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    rows = te.min(n, te.const(5, "int64"))
    double = te.compute((rows,), lambda i: a[i] * 2.0, name="double")
    b = te.compute((rows,), lambda i: double[i] + 1.0, name="b")
    schedule = te.create_schedule(b.op)
    outer, inner = schedule[b].split(b.op.axis[0], 8)
    schedule[b].unroll(inner)
    schedule[double].compute_at(schedule[b], outer)
    schedule[double].unroll(double.op.axis[0])

    assert allocations(schedule, [a, b]) == {"double": [8]}
    for size in (0, 3, 9):
        x = np.arange(size, dtype="float32")
        shape = (min(size, 5),)
        np.testing.assert_array_equal(run(schedule, [a, b], [x], [shape])[0], x[:5] * 2 + 1)


def test_a_cache_left_unread_by_inlining_is_lowered(run: Any) -> None:
    at = te.placeholder((4,), "int32", name="at")
    x = te.placeholder((8,), name="x")
    a = te.compute((8, 3), lambda i, j: x[j], name="A")
    b = te.compute((4, 3), lambda i, j: a[te.max(te.min(at[i], 7), 0), j], name="B")
    s = te.create_schedule(b.op)
    s.cache_read(at, "local", [b])
    s[a].compute_inline()

    given = np.arange(8, dtype="f4")
    result = run(s, [at, x, b], [np.array([3, 9, -1, 0], "i4"), given], [(4, 3)])[0]
    np.testing.assert_array_equal(result, np.tile(given[:3], (4, 1)))
