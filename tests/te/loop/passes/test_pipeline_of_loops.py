"""Schedules lowered to the legal form: same results, valid form, short time."""

import time

import numpy as np
import pytest

from tvmlite import te
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.passes.simplify import simplify, simplify_once
from tvmlite.te.loop.verify import verify

TARGET = "c -vector-bits=512"


def matmul(m: object, n: object, k: object) -> object:
    """A GEMM with a register tile of 6 by 64, as in the templates."""
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c.op)
    tile = s.cache_write(c, "local")
    rows, row = s[c].split(c.op.axis[0], factor=6)
    columns, column = s[c].split(c.op.axis[1], factor=64)
    s[c].reorder(rows, columns, row, column)
    s[c].parallel(rows)
    outer, lane = s[c].split(column, factor=16)
    s[c].vectorize(lane)
    s[c].unroll(row)
    s[c].unroll(outer)
    s[tile].compute_at(s[c], columns)
    row, column = s[tile].op.axis
    outer, lane = s[tile].split(column, factor=16)
    s[tile].reorder(s[tile].op.reduce_axis[0], row, outer, lane)
    s[tile].vectorize(lane)
    s[tile].unroll(row)
    s[tile].unroll(outer)
    return te.lower(s, [a, b, c])


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(6, 64, 3), (5, 63, 4), (13, 70, 2), (1, 1, 1)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_a_tiled_gemm_keeps_its_results(
    shape: tuple[int, int, int], symbolic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, n, k = shape
    monkeypatch.setenv("TVMLITE_VERIFY", "1")
    extents = [te.size_var(x, "int64") for x in "mnk"] if symbolic else shape
    random = np.random.default_rng(1)
    a = random.integers(-4, 5, (m, k)).astype("float32")
    b = random.integers(-4, 5, (k, n)).astype("float32")
    c = np.full((m, n), np.nan, "float32")

    legal = legalize(matmul(*extents), TARGET)

    verify(legal, legal=True)
    interpret(legal, [a, b, c])
    np.testing.assert_array_equal(c, a @ b)


def test_full_tiles_have_neither_guards_nor_masks() -> None:
    text = str(legalize(matmul(516, 512, 512), TARGET))

    assert "if" not in text
    assert "where" not in text
    assert text.count("C.local[ramp(") == 24 * 4
    assert "A[i.outer * 3072 + k + 512]" in text


def test_lowered_functions_are_already_simplified() -> None:
    for function in (matmul(516, 512, 512), matmul(*(te.size_var(x, "int64") for x in "mnk"))):
        assert simplify_once(function) is function
        assert simplify(function) is function


def test_legalization_is_deterministic() -> None:
    assert str(legalize(matmul(13, 70, 2), TARGET)) == str(legalize(matmul(13, 70, 2), TARGET))


def test_legalizing_a_micro_kernel_is_fast() -> None:
    function = matmul(516, 512, 512)
    times = []
    for _ in range(5):
        start = time.process_time()
        legalize(function, TARGET)
        times.append(time.process_time() - start)

    assert min(times) < 0.1  # 10 ms where it was measured


def convolution() -> tuple[te.Schedule, list[te.Tensor]]:
    """A padded 3x3 convolution with inlined padding, vectorized over its columns."""
    x, w = te.placeholder((3, 7, 11), name="X"), te.placeholder((5, 3, 3, 3), name="W")
    pad = te.compute(
        (3, 9, 13),
        lambda c, i, j: te.if_then_else(
            te.all(i >= 1, i < 8, j >= 1, j < 12), x[c, i - 1, j - 1], te.const(0, "float32")
        ),
        name="pad",
    )
    c, di, dj = te.reduce_axis((0, 3)), te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
    y = te.compute(
        (5, 7, 11),
        lambda o, i, j: te.sum(pad[c, i + di, j + dj] * w[o, c, di, dj], axis=[c, di, dj]),
        name="Y",
    )
    s = te.create_schedule(y.op)
    s[pad].compute_inline()
    o, i, j = y.op.axis
    outer, lane = s[y].split(j, factor=4)
    s[y].reorder(o, i, outer, c, di, dj, lane)
    s[y].vectorize(lane)
    s[y].unroll(dj)
    s[y].parallel(o)
    return s, [x, w, y]


def test_a_convolution_with_inlined_padding_keeps_its_results() -> None:
    function = te.lower(*convolution())
    random = np.random.default_rng(2)
    x = random.integers(-4, 5, (3, 7, 11)).astype("float32")
    w = random.integers(-4, 5, (5, 3, 3, 3)).astype("float32")
    y = np.full((5, 7, 11), np.nan, "float32")

    legal = legalize(function, TARGET)

    verify(legal, legal=True)
    interpret(legal, [x, w, y])
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ((0, 0), (1, 1), (1, 1))), (3, 3), axis=(1, 2)
    )
    np.testing.assert_array_equal(y, np.einsum("cijab,ocab->oij", windows, w))


def test_rows_of_symbolic_length_keep_their_results() -> None:
    n = te.size_var("n", "int64")
    x = te.placeholder((n, n), name="X")
    k = te.reduce_axis((0, n), "k")
    largest = te.compute((n,), lambda i: te.max(x[i, k], axis=k), name="largest")
    y = te.compute((n, n), lambda i, j: (x[i, j] - largest[i]) * j.astype("float32"), name="Y")
    s = te.create_schedule(y.op)
    rows, columns = y.op.axis
    _, lane = s[y].split(columns, factor=8)
    s[y].vectorize(lane)
    s[y].parallel(rows)
    s[largest].compute_at(s[y], rows)
    random = np.random.default_rng(3)

    legal = legalize(te.lower(s, [x, y]), TARGET)

    for size in (1, 7, 8, 19):
        a = random.integers(-4, 5, (size, size)).astype("float32")
        b = np.full((size, size), np.nan, "float32")
        interpret(legal, [a, b])
        wanted = (a - a.max(1, keepdims=True)) * np.arange(size, dtype="float32")
        np.testing.assert_array_equal(b, wanted)
