"""Programs that the fuzzer once found wrong, made small: each must stay right."""

from __future__ import annotations

from typing import Any

import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.fuzz.expected.check import check


def test_a_strided_vector_of_few_lanes_reads_nothing_beyond_its_last_element() -> None:
    a = te.placeholder((2, 4), name="A")
    b = te.compute((2, 4), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    i, j = b.op.axis
    s[b].reorder(j, i)
    s[b].vectorize(i)
    check(s, backends=("llvm",))


def test_a_buffer_private_to_lanes_is_flat() -> None:
    a = te.placeholder((1, 3), name="A")
    b = te.compute((1, 3), lambda i, j: a[i, j], name="B")
    c = te.compute((1, 2), lambda i, j: b[i, j] + b[i, 0], name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[1])
    s[c].vectorize(c.op.axis[1])
    check(s)


def test_a_private_buffer_met_twice_is_the_one_at_hand() -> None:
    a = te.placeholder((1, 1, 3), name="A")
    b = te.compute((1, 1, 3), lambda i, j, k: a[i, j, k], name="B")
    c = te.compute((1, 2, 3), lambda i, j, k: b[i, 0, k], name="C")
    s = te.create_schedule(c.op)
    s[c].vectorize(c.op.axis[1])
    _, inner = s[c].split(c.op.axis[2], nparts=2)
    s[b].compute_at(s[c], inner)
    check(s)


def test_a_pair_reduced_in_lanes_with_a_tail_keeps_its_names() -> None:
    a = te.placeholder((5, 2), name="A")
    pair = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] + y[1]), lambda t0, t1: (0, 0), name="pair")
    k = te.reduce_axis((0, 5), name="k")
    b, _ = te.compute((2,), lambda j: pair((a[k, j], a[k, j] * a[k, j]), axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].split(k, factor=2)
    s[b].vectorize(b.op.axis[0])
    check(s)


def test_the_condition_of_a_partial_sum_reads_nothing_beyond_the_axis() -> None:
    m = te.size_var("m")
    a = te.placeholder((m,), name="A")
    k = te.reduce_axis((0, m), name="k")
    b = te.compute((), lambda: te.sum(a[k], axis=k, where=a[k] > 0), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=2)
    s.rfactor(b, inner)
    check(s, sizes={"m": 3})


def test_zeros_stored_by_one_thread_leave_its_neighbours_results_alone() -> None:
    a = te.placeholder((1, 3, 4), name="A")
    w = te.placeholder((6,), name="W")
    k = te.reduce_axis((0, 1), name="k")
    c = te.compute((6, 2), lambda f, y: te.sum(a[0, f // 2 + k, y * 2] * w[f], axis=k), name="C")
    s = te.create_schedule(c.op)
    f, y = c.op.axis
    s[c].reorder(y, k, f)
    s[c].parallel(y)
    check(s, backends=("c",))


def test_a_choice_of_two_arrays_reads_neither_beyond_its_end() -> None:
    a, b = te.placeholder((6,), "int32", name="A"), te.placeholder((6,), "int32", name="B")
    c = te.compute((12,), lambda i: te.if_then_else(i < 6, a[i], b[i - 6]), name="C")
    check(te.create_schedule(c.op), backends=("c",))


def test_a_loop_that_ends_before_its_first_full_turn_does_no_more_than_it_has() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k, where=i > 2), name="B")
    s = te.create_schedule(b.op)
    for rows in (0, 1, 2, 5):
        check(s, sizes={"n": rows, "m": 3})


def test_a_refused_rfactor_leaves_the_schedule_as_it_was() -> None:
    a = te.placeholder((4, 6, 5), name="A")
    k, r = te.reduce_axis((0, 6), name="k"), te.reduce_axis((0, 5), name="r")
    b = te.compute((4,), lambda i: te.sum(a[i, k, r], axis=[k, r]), name="B")
    s = te.create_schedule(b.op)
    s[b].fuse(b.op.axis[0], k)
    before = str(s)
    with pytest.raises(
        ScheduleError, match=r"rfactor: axis i\.k\.fused of stage B is fused from a reduce axis"
    ):
        s.rfactor(b, r)
    assert str(s) == before


def test_a_function_without_a_statement_is_one_in_c_too() -> None:
    a = te.placeholder((3, 0), name="A")
    b = te.compute((3, 0), lambda i, j: a[i, j] + 1.0, name="B")
    check(te.create_schedule(b.op))


def test_a_tensor_computed_inside_a_loop_is_not_fetched_ahead_in_it() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[1])
    s[c].prefetch(b, c.op.axis[0])
    with pytest.raises(ScheduleError, match="prefetch: B is computed inside the loop i of C"):
        te.lower(s, [a, c])


def test_each_late_refusal_shows_the_line_of_its_own_primitive() -> None:
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].loop_partition(k, [9])
    s[b].decompose_reduction(b.op.axis[0])
    with pytest.raises(ScheduleError, match=r"(?s)has 8 iterations.*s\[b\]\.loop_partition\(k, \[9\]\)"):
        te.lower(s, [a, b])


def test_what_lanes_have_to_themselves_is_not_fetched_ahead() -> None:
    a = te.placeholder((2, 4), name="A")
    b = te.compute((2, 4), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    cached = s.cache_write(b, "local")
    copied = s.cache_read(a, "local", [cached])
    i, j = s[cached].op.axis
    s[cached].prefetch(copied, j)
    s[copied].compute_at(s[cached], i)
    s[cached].compute_at(s[b], b.op.axis[1])
    s[b].vectorize(b.op.axis[1])
    check(s)


def test_rows_padded_in_an_empty_buffer_take_no_memory() -> None:
    a = te.placeholder((1, 3), name="A")
    b = te.compute((1, 0), lambda i, j: a[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 0), name="k")
    c = te.compute((1,), lambda i: te.sum(b[i, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[b].storage_align(b.op.axis[1], 16, 8)
    check(s)


def test_an_intrinsic_in_a_padded_row_is_where_its_elements_are() -> None:
    a = te.placeholder((6,), name="A")
    b = te.compute((6,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((6,), lambda i: b[5 - i], name="C")
    x = te.placeholder((1,), name="x")
    y = te.compute((1,), lambda i: x[i] * 2.0, name="y")
    strided = te.decl_buffer((1,), name="y", strides=[te.var("step")])
    s = te.create_schedule(c.op)
    s[b].storage_align(b.op.axis[0], 4, 8)
    s[b].tensorize(s[b].split(b.op.axis[0], factor=1)[1], te.decl_tensor_intrin(y.op, binds={y: strided}))
    check(s)


def test_a_loop_of_one_turn_is_always_the_first() -> None:
    a = te.placeholder((3, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    b = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="B")
    x = te.placeholder((1, 4), name="x")
    r = te.reduce_axis((0, 4), name="r")
    y = te.compute((1,), lambda i: te.sum(x[i, r], axis=r), name="y")
    plain = te.decl_tensor_intrin(y.op)
    parts = te.TensorIntrin(
        "sums", y.op, plain.input_buffers, plain.output_buffers, plain.body, None, plain.update
    )
    s = te.create_schedule(b.op)
    inner = s[b].split(k, factor=4)[1]
    s[b].tensorize(inner, parts)
    check(s)


def test_an_intrinsic_has_no_window_in_a_transformed_layout() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[i] * 2.0, name="C")
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(c.op)
    s[b].transform_layout(lambda i: [i % 4, i // 4])
    s[c].tensorize(c.op.axis[0], te.decl_tensor_intrin(y.op))
    with pytest.raises(ScheduleError, match=r"tensorize: .* the layout of B is transformed"):
        te.lower(s, [a, c])


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("quotient", [te.truncdiv, te.floordiv])
def test_quotients_that_are_0_or_1_are_summed_as_such(dtype: str, quotient: Any) -> None:
    """GCC 12 takes ``x / x`` for a truth, and sums truths as -1."""
    a = te.placeholder((40,), dtype, name="A")
    k = te.reduce_axis((0, 40), name="k")
    b = te.compute((), lambda: te.sum(quotient(a[k], a[k]), axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].unroll(k)
    check(s)


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
def test_the_least_doubles_are_halves_of_zero(narrow: str) -> None:
    a = te.placeholder((4,), "uint64", name="A")
    b = te.compute((4,), lambda i: te.reinterpret("float64", a[i] % 3 + 1).astype(narrow), name="B")
    c = te.compute((4,), lambda i: (b[i].astype("float64") * -1.0).astype(narrow), name="C")
    check(te.create_schedule(c.op))


def test_a_quotient_that_overflows_may_be_contracted() -> None:
    """GCC divides by a half as it multiplies by two, and fuses that with the difference."""
    a = te.placeholder((13, 2), name="A")
    b = te.compute((13, 2), lambda i, j: a[i, j] / te.const(0.5, "float32") - a[i, j], name="B")
    s = te.create_schedule(b.op)
    s[b].vectorize(b.op.axis[1])
    check(s, data="wide", seed=349)


def test_the_larger_of_floats_may_be_part_of_integers() -> None:
    a, b = (te.placeholder((8,), name=name) for name in "AB")
    c = te.compute((8,), lambda i: te.reinterpret("int32", te.max(a[i], b[i])) >> 22, name="C")
    d = te.compute((8,), lambda i: te.cast("int32", te.max(a[i], b[i]) > 0.5), name="D")
    s = te.create_schedule([c.op, d.op])
    for stage in (s[c], s[d]):
        stage.vectorize(stage.op.axis[0])
    check(s)


def test_the_least_numbers_of_bfloat16_may_become_0() -> None:
    a = te.placeholder((4, 16), "bfloat16", name="A")
    k = te.reduce_axis((0, 1), name="k")
    b = te.compute((4, 16), lambda i, j: te.sum(a[i, j + k], axis=k), name="B")
    check(te.create_schedule(b.op), data="wide", seed=126)


def test_odd_vectors_of_what_loops_filled() -> None:
    """LLVM 22 made vectors of the loops that fill the cache, and mixed its rows up."""
    a = te.placeholder((8, 8), "int32", name="A")
    k = te.reduce_axis((1, 3), name="k")
    b = te.compute((8, 7), lambda i, j: te.min(a[i, j + k - 1], axis=k), name="B")
    s = te.create_schedule(b.op)
    cached = s.cache_write(b, "local")
    read = s.cache_read(a, "local", [cached])
    column = s[cached].op.axis[1]
    s[read].compute_at(s[cached], column)
    s[read].vectorize(s[read].op.axis[1])
    s[cached].vectorize(column)
    s[b].vectorize(s[b].op.axis[1])
    check(s, data="wide", seed=5)


def test_two_stages_are_a_turn_ahead_of_one_loop() -> None:
    a, b = (te.placeholder((5, 6), name=name) for name in "AB")
    c = te.compute((5, 6), lambda i, j: a[i, j] * 2.0, name="C")
    d = te.compute((5, 6), lambda i, j: b[i, j] + 1.0, name="D")
    f = te.compute((5, 6), lambda i, j: c[i, j] * d[i, j], name="F")
    s = te.create_schedule(f.op)
    for one in (c, d):
        s[one].compute_at(s[f], f.op.axis[0])
        s[one].double_buffer()
    check(s)


def test_single_floats_are_rounded_to_bfloat16_by_arithmetic() -> None:
    """Of the instruction for one, LLVM 22 made vectors of 4 in a loop, and aborted where their signs were
    taken."""
    a = te.placeholder((32,), name="A")
    b = te.compute((32,), lambda i: a[i].astype("bfloat16"), name="B")
    for vector in (False, True):
        s = te.create_schedule(b.op)
        if vector:
            s[b].vectorize(s[b].split(b.op.axis[0], factor=16)[1])
        code = tvmlite.build(s, [a, b], target="llvm -mcpu=znver4").source("llvm")
        assert ("fptrunc <16 x float>" in code) == vector
        assert "fptrunc float" not in code
        check(s)


@pytest.mark.parametrize("steps", [0, 4, "n"])
def test_an_intrinsic_without_a_reset_of_a_reduction_that_may_be_empty(steps: int | str) -> None:
    size = te.size_var("n")
    extent = size if steps == "n" else steps
    a, b = te.placeholder((8, extent), name="A"), te.placeholder((6, extent), name="B")
    k = te.reduce_axis((0, extent), name="k")
    c = te.compute((8, 6), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    x, y = te.placeholder((1, 1), name="x"), te.placeholder((1, 1), name="y")
    r = te.reduce_axis((0, 1), name="r")
    z = te.compute((1, 1), lambda i, j: te.sum(x[i, r] * y[j, r], axis=r), name="z")
    plain = te.decl_tensor_intrin(z.op)
    parts = te.TensorIntrin(
        "sums", z.op, plain.input_buffers, plain.output_buffers, plain.body, None, plain.update
    )
    s = te.create_schedule(c.op)
    (i, j), step = c.op.axis, s[c].op.reduce_axis[0]
    outer, inner = s[c].split(i, factor=1)
    column, one = s[c].split(j, factor=1)
    term, last = s[c].split(step, factor=1)
    s[c].reorder(outer, term, column, inner, one, last)
    s[c].tensorize(inner, parts)
    s[c].fuse(term, column)
    for n in (0, 3) if steps == "n" else (1,):
        check(s, sizes={"n": n})


def test_a_branch_by_elements_never_written_is_some_branch() -> None:
    """LLVM took it for one that is never reached, left no code at all, and its linker aborted."""
    a = te.placeholder((4,), "uint16", name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((), lambda: te.prod(b[k], axis=k, where=b[k] <= b[k]), name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], k)
    s[b].set_store_predicate(b.op.axis[0] < 0)
    check(s)


def test_what_a_scan_computes_for_a_turn_is_never_more() -> None:
    """Tiles that shrink once had all of it computed, of which the first reads a row before the first."""
    m = te.size_var("m")
    a, state = (te.placeholder((m,), name=name) for name in ("A", "S"))
    first = te.compute((1,), lambda i: a[i], name="first")
    half = te.compute((m,), lambda i: state[i - 1] * 0.5, name="half")
    following = te.compute((m,), lambda i: half[i] + a[i], name="following")
    scanned = te.scan(first, following, state, inputs=[a], name="scanned")
    s = te.create_schedule(scanned.op)
    s.cache_write(half, "global")
    cached = s.cache_write(following, "global")
    _, inner = s[cached].split(s[cached].op.axis[0], factor=1, tail="shrink")
    s[half].compute_at(s[cached], inner)
    check(s, sizes={"m": 9})


def test_what_is_cut_off_to_0_has_no_sign() -> None:
    """GCC 12 made one truncation of the two conversions, and -0.0 of -0.5."""
    a = te.placeholder((8,), name="A")
    for between in ("int64", "int32", "uint8"):
        b = te.compute((8,), lambda i, to=between: te.rsqrt(a[i].astype(to).astype("float32")), name="B")
        check(te.create_schedule(b.op), data="normal", seed=2)


def test_the_largest_of_some_comparisons_is_compiled() -> None:
    """LLVM 22 ended the process where it laid comparisons side by side, one of which had become a shift."""
    a = te.placeholder((5, 6), "int32", name="A")
    k, j = te.reduce_axis((0, 5), name="k"), te.reduce_axis((0, 6), name="j")
    for reducer in (te.max, te.min):
        b = te.compute(
            (), lambda r=reducer: r((a[k, j] < te.convert(k) % 3).astype("int32"), axis=[k, j]), name="B"
        )
        s = te.create_schedule(b.op)
        _, inner = s[b].split(j, factor=3, tail="shrink")
        s[b].loop_partition(inner, [1, 2])
        check(s, data="normal", seed=61, target="llvm -mcpu=haswell")
