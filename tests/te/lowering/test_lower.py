"""Complete computations, lowered and interpreted, against numpy; errors of lowering."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError, TensorExpressionError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.types import dim
from tvmlite.te import expr as e
from tvmlite.te.loop.verify import verify


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def test_broadcast(run) -> None:
    A, b = te.placeholder((5, 7), name="A"), te.placeholder((7,), name="b")
    C = te.compute((5, 7), lambda i, j: te.tanh(A[i, j] + b[j]), name="C")
    s = te.create_schedule(C.op)
    s[C].vectorize(s[C].split(C.op.axis[1], factor=4)[1])
    x, y = normal(5, 7), normal(7)

    np.testing.assert_allclose(run(s, [A, b, C], [x, y], [(5, 7)])[0], np.tanh(x + y), rtol=1e-6)


@pytest.mark.parametrize("tiles", [(4, 4, 2), (3, 5, 7), (16, 16, 16)])
def test_matmul_tiled(run, tiles) -> None:
    A, B = te.placeholder((11, 9), name="A"), te.placeholder((9, 13), name="B")
    k = te.reduce_axis((0, 9), name="k")
    C = te.compute((11, 13), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    *outer, i, j = s[C].tile(*C.op.axis, *tiles[:2])
    ko, ki = s[C].split(k, factor=tiles[2])
    s[C].reorder(*outer, ko, ki, i, j)
    s[C].unroll(i)
    a, b = normal(11, 9), normal(9, 13)

    np.testing.assert_allclose(run(s, [A, B, C], [a, b], [(11, 13)])[0], a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pad_at", ["inline", "root", "tile", "reduction"])
def test_conv2d_with_padding_tiled_and_cached(run, pad_at) -> None:
    channels, size, filters = 3, 9, 5
    X = te.placeholder((channels, size, size), name="X")
    W = te.placeholder((filters, channels, 3, 3), name="W")
    P = te.compute(
        (channels, size + 2, size + 2),
        lambda c, h, w: te.if_then_else(
            te.all(h >= 1, h < size + 1, w >= 1, w < size + 1), X[c, h - 1, w - 1], 0.0
        ),
        name="P",
    )
    c, kh, kw = (te.reduce_axis((0, n), name=x) for n, x in ((channels, "c"), (3, "kh"), (3, "kw")))
    Y = te.compute(
        (filters, size, size),
        lambda o, h, w: te.sum(P[c, h + kh, w + kw] * W[o, c, kh, kw], axis=[c, kh, kw]),
        name="Y",
    )
    Z = te.compute((filters, size, size), lambda o, h, w: te.max(Y[o, h, w], 0.0), name="Z")
    s = te.create_schedule(Z.op)
    acc = s.cache_write(Y, "local")
    o, h, w = Z.op.axis
    ho, wo, hi, wi = s[Z].tile(h, w, 4, 8)
    s[Z].reorder(o, ho, wo, hi, wi)
    s[Z].vectorize(wi)
    s[Z].parallel(o)
    s[Y].compute_at(s[Z], wo)
    s[acc].compute_at(s[Z], wo)
    s[acc].reorder(c, kh, kw, *acc.op.axis)
    s[acc].vectorize(acc.op.axis[2])
    if pad_at == "inline":
        s[P].compute_inline()
    elif pad_at != "root":
        s[P].compute_at(*((s[Z], wo) if pad_at == "tile" else (s[acc], c)))
    x, kernel = normal(channels, size, size), normal(filters, channels, 3, 3)

    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    want = np.maximum(np.einsum("chwyx,ocyx->ohw", windows, kernel), 0)
    got = run(s, [X, W, Z], [x, kernel], [(filters, size, size)])[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_reduction_over_several_axes_with_condition_and_init(run) -> None:
    A = te.placeholder((3, 4, 5), name="A")
    j, k = te.reduce_axis((0, 4), name="j"), te.reduce_axis((1, 5), name="k")
    B = te.compute(
        (3,), lambda i: te.sum(A[i, j, k], axis=[j, k], where=te.all(j != 2, A[i, j, k] > 0.0)), name="B"
    )
    s = te.create_schedule(B.op)
    s[B].split(k, factor=3)
    a = normal(3, 4, 5)
    kept = a[:, [0, 1, 3], 1:]
    np.testing.assert_allclose(run(s, [A, B], [a], [(3,)])[0], np.maximum(kept, 0).sum((1, 2)), rtol=1e-5)

    total = te.comm_reducer(lambda x, y: x + y, lambda dtype: te.const(0, dtype), name="total")
    k = te.reduce_axis((0, 5), name="k")
    bias = te.placeholder((3,), name="bias")
    C = te.compute((3,), lambda i: total(A[i, 0, k], axis=k, init=bias[i]), name="C")
    got = run(te.create_schedule(C.op), [A, bias, C], [a, normal(3)], [(3,)])[0]
    np.testing.assert_allclose(got, a[:, 0].sum(1) + normal(3), rtol=1e-5)


def test_argmax_is_a_reduction_of_pairs(loops, run) -> None:
    n = te.var("n")
    A = te.placeholder((n, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")
    argmax = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
        lambda index, value: (te.const(-1, index), te.min_value(value)),
        name="argmax",
    )
    where, most = te.compute((n,), lambda i: argmax((k.astype("int32"), A[i, k]), axis=k), name="T")
    s = te.create_schedule(where.op)
    s[where].split(where.op.axis[0], factor=4)
    a = normal(10, 7)

    got = run(s, [A, where, most], [a], [(10,), (10,)])
    np.testing.assert_array_equal(got[0], a.argmax(1))
    np.testing.assert_array_equal(got[1], a.max(1))
    assert "combined0 = select(A[i.outer * 4 + i.inner, k] <= T_1[" in loops(s, [A, where, most])


def test_an_output_may_be_read_by_another_output(run) -> None:
    A = te.placeholder((6,), name="A")
    B = te.compute((6,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((6,), lambda i: B[i] + 1.0, name="C")
    a = normal(6)

    for s in (te.create_schedule([B.op, C.op]), te.create_schedule(C.op)):
        got = run(s, [C, A, B], [a], [(6,), (6,)])
        np.testing.assert_array_equal(got[0], a * 2 + 1)
        np.testing.assert_array_equal(got[1], a * 2)


def test_rank_0_and_empty_shapes(run) -> None:
    A = te.placeholder((4,), name="A")
    k = te.reduce_axis((0, 4), name="k")
    total = te.compute((), lambda: te.sum(A[k], axis=k), name="total")
    double = te.compute((), lambda: total() * 2.0, name="double")
    s = te.create_schedule(double.op)
    np.testing.assert_allclose(run(s, [A, double], [normal(4)], [()])[0], normal(4).sum() * 2, rtol=1e-5)

    E = te.placeholder((0, 3), name="E")
    F = te.compute((0, 3), lambda i, j: E[i, j] + 1.0, name="F")
    assert run(te.create_schedule(F.op), [E, F], [np.zeros((0, 3), "float32")], [(0, 3)])[0].shape == (0, 3)
    k = te.reduce_axis((0, 0), name="k")
    G = te.compute((3,), lambda j: te.sum(E[k, j], axis=k), name="G")
    got = run(te.create_schedule(G.op), [E, G], [np.zeros((0, 3), "float32")], [(3,)])[0]
    np.testing.assert_array_equal(got, np.zeros(3))


@pytest.mark.parametrize("n", [0, 1, 7, 8])
def test_one_lowered_function_works_for_all_sizes(run, n) -> None:
    size = te.var("n")
    A = te.placeholder((size, 3), name="A")
    B = te.compute((size + 1, 3), lambda i, j: te.if_then_else(i < size, A[i, j], 1.0), name="B")
    C = te.compute((3, size + 1), lambda i, j: B[j, i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], s[C].split(C.op.axis[1], factor=4)[0])
    a = normal(n, 3) if n else np.zeros((0, 3), "float32")

    want = np.concatenate([a, np.ones((1, 3), "float32")]).T * 2
    np.testing.assert_array_equal(run(s, [A, C], [a], [(3, n + 1)])[0], want)


def test_sizes_are_ordered_by_first_appearance() -> None:
    n, m = te.var("n"), te.var("m")
    batch = dim("batch")
    A, B = te.placeholder((m, batch), name="A"), te.placeholder((batch, n), name="B")
    C = te.compute((m, n), lambda i, j: A[i, 0] * B[0, j], name="C")
    function = te.lower(te.create_schedule(C.op), [B, A, C], name="outer")

    assert function.name == "outer"
    assert [v.name for v in function.sizes] == ["batch", "n", "m"]
    assert all(v.dtype == "int64" and isinstance(v, e.SizeVar) for v in function.sizes)
    assert function.sizes[0] is batch


def test_a_variable_may_be_an_argument(run) -> None:
    n, scale = te.var("n"), te.var("scale", "float32")
    A = te.placeholder((te.size_var("m"),), name="A")
    C = te.compute((n * 2,), lambda i: A[i] * scale + n, name="C")
    s = te.create_schedule(C.op)
    function = te.lower(s, [n, A, scale, C])
    verify(function)

    assert [p.name for p in function.params] == ["n", "A", "scale", "C"]
    assert [v.name for v in function.sizes] == ["m"]
    a = normal(9)
    got = run(s, [n, A, scale, C], [3, a, np.float32(2)], [(6,)])[0]
    np.testing.assert_allclose(got, a[:6] * 2 + 3, rtol=1e-6)


def test_index_arithmetic_is_int64_and_values_keep_their_dtype(loops) -> None:
    A = te.placeholder((8, 8), "int32", name="A")
    C = te.compute((8, 8), lambda i, j: te.select(A[i, j] < j, i * 3, A[j, i] + j // 2), name="C")
    s = te.create_schedule(C.op)
    function = te.lower(s, [A, C])

    assert {n.dtype for n in postorder(function.body) if isinstance(n, e.Var)} == {"int64"}
    assert loops(s, [A, C]) == text(
        """
        for i in range(0, 8):
            for j in range(0, 8):
                C[i, j] = select(A[i, j] < int32(j), int32(i) * 3, A[j, i] + int32(j) // 2)
        """
    )


def test_buffers_of_one_name_are_distinguished() -> None:
    A = te.placeholder((4,), name="T")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="T")
    C = te.compute((4,), lambda i: B[i] + 1.0, name="T")
    function = te.lower(te.create_schedule(C.op), [A, C])

    assert [b.name for b in function.buffers] == ["T", "T_1"]
    assert "allocate T_2[4] float32:" in str(function)


def test_lowering_does_not_change_the_schedule(loops) -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()

    assert loops(s, [A, C]) == loops(s, [A, C])
    assert [stage.name for stage in s.stages] == ["A", "B", "C"]


def two_stages():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    return te.create_schedule(C.op), A, B, C


@pytest.mark.parametrize(
    ("pick", "message"),
    [
        (lambda A, B, C: [A], "lower: C is an output of the schedule, but not among the arguments"),
        (lambda A, B, C: [C], "lower: A is read, but not among the arguments"),
        (lambda A, B, C: [A, C, C], "lower: argument C is given twice"),
        (lambda A, B, C: [A, C, 3], "lower: argument 3 is neither a tensor nor a te.var"),
    ],
)
def test_invalid_arguments_are_refused(pick, message) -> None:
    s, *tensors = two_stages()

    with pytest.raises(TensorExpressionError, match=re.escape(message) + r"\n  at .*test_lower\.py:\d+"):
        te.lower(s, pick(*tensors))


def test_a_tensor_argument_must_be_computed_at_root() -> None:
    s, A, B, C = two_stages()
    s[B].compute_inline()
    with pytest.raises(
        ScheduleError, match=r"compute_inline: B is an argument .*\n  at .*s\[B\].compute_inline"
    ):
        te.lower(s, [A, B, C])
    s[B].compute_at(s[C], C.op.axis[0])
    with pytest.raises(
        ScheduleError, match=r"compute_at: B is an argument of the function, so it is computed"
    ):
        te.lower(s, [A, B, C])


def test_a_size_that_no_argument_determines_is_named() -> None:
    n = te.var("n")
    A = te.placeholder((n * 2,), name="A")
    C = te.compute((n * 2,), lambda i: A[i] + 1.0, name="C")

    with pytest.raises(TensorExpressionError) as error:
        te.lower(te.create_schedule(C.op), [A, C])
    assert (
        "lower: the size variable n of A's shape is not known: no argument has an axis of just that"
        in str(error.value)
    )
    assert 'A = te.placeholder((n * 2,), name="A")' in str(error.value)
    assert "hint: give n as an argument" in str(error.value)


def test_a_variable_without_a_value_is_named() -> None:
    A = te.placeholder((8,), name="A")
    C = te.compute((8,), lambda i: A[i] * te.var("alpha", "float32"), name="C")

    with pytest.raises(TensorExpressionError, match="lower: the variable alpha has no value"):
        te.lower(te.create_schedule(C.op), [A, C])


def test_all_values_of_a_reduction_must_be_outputs() -> None:
    A = te.placeholder((4, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda a, b: (te.const(0, a), te.const(1, b)), name="both"
    )
    C = te.compute((4,), lambda i: both((A[i, k], A[i, k]), axis=k)[0], name="C")

    with pytest.raises(
        TensorExpressionError, match="compute 'C': the reduction gives 2 values, each must be one"
    ):
        te.lower(te.create_schedule(C.op), [A, C])


@pytest.mark.parametrize("primitive", ["split", "cache_write", "vectorize", "compute_at"])
def test_a_combiner_may_depend_on_an_axis(run, primitive) -> None:
    A, k = te.placeholder((6, 5), name="A"), te.reduce_axis((0, 5), name="k")

    def row(i):
        least = te.comm_reducer(
            lambda x, y: te.max(x + y, i.astype("float32")), lambda dtype: (i + 1).astype(dtype), name="least"
        )
        return least(A[i, k], axis=k)

    B = te.compute((6,), row, name="B")
    C = te.compute((3,), lambda i: B[i + 2] * 2, name="C")
    s = te.create_schedule(C.op)
    if primitive == "split":
        s[B].reorder(k, s[B].split(B.op.axis[0], 4)[1])
    elif primitive == "cache_write":
        s.cache_write(B, "local")
    elif primitive == "vectorize":
        s[B].vectorize(B.op.axis[0])
    else:
        s[B].compute_at(s[C], C.op.axis[0])
    a = normal(6, 5)

    want = np.arange(1, 7, dtype=np.float32)
    for column in a.T:
        want = np.maximum(want + column, np.arange(6, dtype=np.float32))
    np.testing.assert_allclose(run(s, [A, C], [a], [(3,)])[0], want[2:5] * 2, rtol=1e-6)


@pytest.mark.parametrize("primitive", ["split", "reorder", "rfactor", "compute_at"])
def test_a_reduction_whose_extent_depends_on_the_row_needs_the_row_loop(primitive) -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: te.sum(A[(k := te.reduce_axis((0, i + 1), name="k"))], axis=k), name="B")
    C = te.compute((4,), lambda i: B[i + 2], name="C")
    s = te.create_schedule(C.op)

    def schedule() -> None:
        if primitive == "split":
            s[B].split(B.op.axis[0], 4)
        elif primitive == "reorder":
            s[B].reorder(B.op.reduce_axis[0], B.op.axis[0])
        elif primitive == "rfactor":
            s.rfactor(B, B.op.reduce_axis[0])
        else:
            s[B].compute_at(s[C], C.op.axis[0])
        te.lower(s, [A, C])

    with pytest.raises(ScheduleError, match=r"the extent of axis k of stage B depends on axis i, whose loop"):
        schedule()
