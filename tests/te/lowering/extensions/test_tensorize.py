"""Inner loops are replaced by an intrinsic where, and only where, they compute the same."""

# ruff: noqa: E501 (loops as they are printed)

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError, TensorExpressionError


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def gemv(m: int, n: int, parts: str = "body reset update", strides: Any = ("t", 1), **of_matrix: Any) -> Any:
    """``c[i] = sum(a[k] * b[i, k])`` by hand-written loops; ``parts`` are the statements it provides."""
    a, b = te.placeholder((n,), name="a"), te.placeholder((m, n), name="b")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    steps = None if strides is None else [te.var(x) if isinstance(x, str) else x for x in strides]
    matrix = te.decl_buffer(b.shape, b.dtype, "b", strides=steps, **of_matrix)

    def emit(ins: Any, outs: Any) -> Any:
        def loops(starts: bool, adds: bool) -> te.ir_builder.IRBuilder:
            ib = te.ir_builder.create()
            vector, rows, out = (ib.buffer_ptr(x) for x in (*ins, *outs))
            with ib.for_range(0, m, name="row") as i:
                if starts:
                    out[i] = 0.0
                if adds:
                    with ib.for_range(0, n, name="column") as j:
                        out[i] = out[i] + vector[j] * rows[i, j]
            return ib

        made = {
            "body": loops(True, True).get(),
            "reset": loops(True, False).get(),
            "update": loops(False, True).get(),
        }
        given = tuple(made[p] if p in parts else None for p in made)
        return given if parts != "body" else made["body"]

    return te.decl_tensor_intrin(c.op, emit, "gemv", binds={b: matrix})


def product(n: int = 4, m: int = 8, l: int = 6) -> Any:  # noqa: E741
    A, B = te.placeholder((n, l), name="A"), te.placeholder((m, l), name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def both(s: te.Schedule, args: list[te.Tensor], *inputs: np.ndarray) -> list[np.ndarray]:
    return [tvmlite.build(s, args, target=t, name="tensorized")(*inputs) for t in ("native", "c")]


def test_loops_are_replaced_by_the_body_of_the_intrinsic(
    loops: Callable[..., str], run: Callable[..., Any]
) -> None:
    s, A, B, C = product()
    _, inner = s[C].split(C.op.axis[1], factor=4)
    s[C].tensorize(inner, gemv(4, 6))

    assert loops(s, [A, B, C]) == text(
        """
        for i in range(0, 4):
            for j.outer in range(0, 2):
                for row in range(0, 4):
                    C[i * 8 + j.outer * 4 + row] = 0.0
                    for column in range(0, 6):
                        C[i * 8 + j.outer * 4 + row] = C[i * 8 + j.outer * 4 + row] + A[i * 6 + column] * B[j.outer * 24 + row * 6 + column]
        """
    )
    a, b = np.random.rand(4, 6).astype("f4"), np.random.rand(8, 6).astype("f4")
    for result in (*run(s, [A, B, C], [a, b], [(4, 8)]), *both(s, [A, B, C], a, b)):
        np.testing.assert_allclose(result, a @ b.T, rtol=1e-5)


def test_a_reduction_around_the_intrinsic_resets_once_and_then_updates(
    loops: Callable[..., str], run: Callable[..., Any]
) -> None:
    s, A, B, C = product()
    _, inner = s[C].split(C.op.axis[1], factor=4)
    outer, k = s[C].split(C.op.reduce_axis[0], factor=3)
    s[C].reorder(outer, inner, k)
    s[C].tensorize(inner, gemv(4, 3))

    assert loops(s, [A, B, C]) == text(
        """
        for i in range(0, 4):
            for j.outer in range(0, 2):
                for row in range(0, 4):
                    C[i * 8 + j.outer * 4 + row] = 0.0
                for k.outer in range(0, 2):
                    for row_1 in range(0, 4):
                        for column in range(0, 3):
                            C[i * 8 + j.outer * 4 + row_1] = C[i * 8 + j.outer * 4 + row_1] + A[i * 6 + k.outer * 3 + column] * B[j.outer * 24 + row_1 * 6 + k.outer * 3 + column]
        """
    )
    a, b = np.random.rand(4, 6).astype("f4"), np.random.rand(8, 6).astype("f4")
    for result in (*run(s, [A, B, C], [a, b], [(4, 8)]), *both(s, [A, B, C], a, b)):
        np.testing.assert_allclose(result, a @ b.T, rtol=1e-5)


def test_without_a_reset_the_first_iteration_is_the_body(
    loops: Callable[..., str], run: Callable[..., Any]
) -> None:
    s, A, B, C = product()
    _, inner = s[C].split(C.op.axis[1], factor=4)
    outer, k = s[C].split(C.op.reduce_axis[0], factor=3)
    s[C].reorder(outer, inner, k)
    s[C].tensorize(inner, gemv(4, 3, "body update"))

    assert "if k.outer == 0:" in loops(s, [A, B, C])
    a, b = np.random.rand(4, 6).astype("f4"), np.random.rand(8, 6).astype("f4")
    np.testing.assert_allclose(run(s, [A, B, C], [a, b], [(4, 8)])[0], a @ b.T, rtol=1e-5)


@pytest.mark.parametrize("factor", [None, 1, 2, 3])
def test_without_a_reset_the_body_runs_first_for_each_element_of_a_fused_loop(
    factor: int | None, run: Callable[..., Any]
) -> None:
    s, A, B, C = product()
    rows, inner = s[C].split(C.op.axis[1], factor=4)
    outer, k = s[C].split(C.op.reduce_axis[0], factor=2)
    s[C].reorder(rows, outer, inner, k)
    s[C].tensorize(inner, gemv(4, 2, "body update"))
    both_ways = s[C].fuse(rows, outer)
    if factor is not None:
        s[C].split(both_ways, factor=factor)

    a, b = np.random.rand(4, 6).astype("f4"), np.random.rand(8, 6).astype("f4")
    for result in (*run(s, [A, B, C], [a, b], [(4, 8)]), *both(s, [A, B, C], a, b)):
        np.testing.assert_allclose(result, a @ b.T, rtol=1e-5)


def test_a_reset_in_shrinking_tiles_is_refused() -> None:
    s, A, B, C = product(m=20)
    outer, inner = s[C].split(C.op.axis[1], factor=4)
    k_outer, k = s[C].split(C.op.reduce_axis[0], factor=3)
    s[C].reorder(k_outer, outer, inner, k)
    s[C].tensorize(inner, gemv(4, 3))
    s[C].split(outer, factor=2, tail="shrink")

    with pytest.raises(
        ScheduleError, match=r"tensorize: axis j\.outer of stage C is split with tail="
    ) as caught:
        te.lower(s, [A, B, C])
    assert "s[C].tensorize(inner" in str(caught.value)


def test_around_the_intrinsic_a_loop_of_one_iteration_is_the_body(run: Callable[..., Any]) -> None:
    s, A, B, C = product()
    _, inner = s[C].split(C.op.axis[1], factor=4)
    outer, k = s[C].split(C.op.reduce_axis[0], factor=6)
    s[C].reorder(outer, inner, k)
    s[C].tensorize(inner, gemv(4, 6, "body update"))

    a, b = np.random.rand(4, 6).astype("f4"), np.random.rand(8, 6).astype("f4")
    np.testing.assert_allclose(run(s, [A, B, C], [a, b], [(4, 8)])[0], a @ b.T, rtol=1e-5)


def test_the_intrinsic_uses_the_buffers_of_stages_computed_in_its_loops(run: Callable[..., Any]) -> None:
    s, A, B, C = product()
    AA, BB = s.cache_read(A, "local", [C]), s.cache_read(B, "local", [C])
    CC = s.cache_write(C, "local")
    outer, _ = s[C].split(C.op.axis[1], factor=4)
    s[CC].compute_at(s[C], outer)
    s[CC].tensorize(CC.op.axis[1], gemv(4, 6))
    s[AA].compute_at(s[C], C.op.axis[0])
    s[BB].compute_at(s[C], outer)

    a, b = np.random.rand(4, 6).astype("f4"), np.random.rand(8, 6).astype("f4")
    np.testing.assert_allclose(run(s, [A, B, C], [a, b], [(4, 8)])[0], a @ b.T, rtol=1e-5)


def test_an_intrinsic_without_statements_is_generated_from_its_formula(run: Callable[..., Any]) -> None:
    """Uses a reduction of pairs with a condition."""

    def largest(shape: tuple[int, ...], columns: int, name: str) -> tuple[te.Tensor, Any]:
        argmax = te.comm_reducer(pick, lambda i, v: (te.const(-1, i), te.min_value(v)), "argmax")
        x = te.placeholder((*shape, columns), name="x")
        k = te.reduce_axis((0, columns), name="k")
        return x, te.compute(
            shape, lambda *i: argmax((k.var, x[(*i, k.var)]), axis=k, where=k % 2 == 0), name=name
        )

    def pick(a: Any, b: Any) -> Any:
        return te.select(a[1] >= b[1], a[0], b[0]), te.select(a[1] >= b[1], a[1], b[1])

    x, (index, value) = largest((8,), 6, "M")
    s = te.create_schedule(index.op)
    _, inner = s[index].split(index.op.axis[0], factor=4)
    s[index].tensorize(inner, te.decl_tensor_intrin(largest((4,), 6, "m")[1][0].op))
    given = np.random.rand(8, 6).astype("f4")
    indices, values = run(s, [x, index, value], [given], [(8,), (8,)])
    np.testing.assert_array_equal(indices, given[:, ::2].argmax(1) * 2)
    np.testing.assert_array_equal(values, given[:, ::2].max(1))


def test_an_intrinsic_may_use_variables_of_the_loops_around_it(run: Callable[..., Any]) -> None:
    n, width = 10, 4
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=width)
    cached = s.cache_write(B, "global")  # of 3 x 4 elements, the last two outside B
    outer, inner = cached.op.axis
    x = te.placeholder((width,), name="x")
    y = te.compute((width,), lambda i: te.select(outer.var * width + i < n, x[i] * 2.0, 0.0), name="y")

    def emit(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, te.min(width, n - outer.var * width)) as i:
            target[i] = source[i] * 2.0
        return ib.get()

    s[cached].tensorize(inner, te.decl_tensor_intrin(y.op, emit, "part"))
    a = np.arange(n, dtype="f4")

    np.testing.assert_array_equal(run(s, [A, B], [a], [(n,)])[0], a * 2)


def test_strides_and_offset_are_passed_to_the_intrinsic(run: Callable[..., Any]) -> None:
    x = te.placeholder((2, 2), name="x")
    y = te.compute((2, 2), lambda i, j: x[i, j] * 2.0, name="y")
    step, at = te.var("step"), te.var("at")
    window = te.decl_buffer((2, 2), name="x", strides=[step, 1], elem_offset=at, offset_factor=2)

    def emit(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        out = ib.buffer_ptr(outs[0])
        for i in range(2):
            for j in range(2):
                out[i, j] = step * 1000 + at
        return ib.get()

    wide = te.decl_buffer((2, 2), name="y", strides=[te.var("other"), 1])
    intrin = te.decl_tensor_intrin(y.op, emit, binds={x: window, y: wide})
    A = te.placeholder((4, 6), name="A")
    C = te.compute((4, 6), lambda i, j: A[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    _, _, inner, _ = s[C].tile(C.op.axis[0], C.op.axis[1], 2, 2)
    s[C].tensorize(inner, intrin)
    (result,) = run(s, [A, C], [np.zeros((4, 6), "f4")], [(4, 6)])
    np.testing.assert_array_equal(result[::2, ::2], [[6000, 6002, 6004], [6012, 6014, 6016]])


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (
            lambda a, b, k: te.sum(a + b, axis=k),
            r"it computes A\[.*\] \+ B\[.*\], the intrinsic a\[k\] \* b\[i, k\]",
        ),
        (lambda a, b, k: te.max(a * b, axis=k), "it reduces by max of float32, the intrinsic by sum"),
        (lambda a, b, k: te.sum(a * b, axis=k, where=k < 3), "it computes"),
        (
            lambda a, b, k: te.sum(a.astype("float64"), axis=k),
            "it reduces by sum of float64, the intrinsic by sum of float32",
        ),
    ],
)
def test_the_error_says_how_the_computations_differ(formula: Any, reason: str) -> None:
    A, B = te.placeholder((8,), name="A"), te.placeholder((4, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((4,), lambda i: formula(A[k], B[i, k], k), name="C")
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[0], gemv(4, 8))

    with pytest.raises(
        ScheduleError, match=rf"(?s)stage C from axis i on .* intrinsic gemv does: {reason}.*tensorize\("
    ):
        te.lower(s, [A, B, C] if B in C.op.inputs else [A, C])


def test_other_extents_other_reads_and_tails_are_refused() -> None:
    s, A, B, C = product(4, 10, 6)
    _, inner = s[C].split(C.op.axis[1], factor=4)
    s[C].tensorize(inner, gemv(4, 6))
    with pytest.raises(ScheduleError, match="axis j has 10 values, of which the loops take 4 at a time"):
        te.lower(s, [A, B, C])

    s, A, B, C = product()
    s[C].tensorize(C.op.axis[1], gemv(4, 6))
    with pytest.raises(ScheduleError, match=r"its data axes there are \(j: 8\), the intrinsic's \(i: 4\)"):
        te.lower(s, [A, B, C])

    A, B = te.placeholder((6,), name="A"), te.placeholder((6, 4), name="B")
    k = te.reduce_axis((0, 6), name="k")
    C = te.compute((4,), lambda i: te.sum(A[k] * B[k, i], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[0], gemv(4, 6))
    with pytest.raises(ScheduleError, match="elements of b are 4 apart in B, the intrinsic wants 1"):
        te.lower(s, [A, B, C])


def test_a_strided_window_is_refused_unless_strides_are_declared() -> None:
    s, A, B, C = product()
    _, inner = s[C].split(C.op.axis[1], factor=4)
    outer, k = s[C].split(C.op.reduce_axis[0], factor=3)
    s[C].reorder(outer, inner, k)
    s[C].tensorize(inner, gemv(4, 3, strides=None))
    with pytest.raises(ScheduleError, match="along axis 0 of b are 6 apart in B, the intrinsic wants 3"):
        te.lower(s, [A, B, C])

    s[C].tensorize(inner, gemv(4, 3, offset_factor=2))
    with pytest.raises(ScheduleError, match="not known to be a multiple of 2"):
        te.lower(s, [A, B, C])


def test_a_reduction_around_an_intrinsic_without_update_is_refused() -> None:
    s, A, B, C = product()
    _, inner = s[C].split(C.op.axis[1], factor=4)
    outer, k = s[C].split(C.op.reduce_axis[0], factor=3)
    s[C].reorder(outer, inner, k)
    s[C].tensorize(inner, gemv(4, 3, "body"))
    with pytest.raises(ScheduleError, match=r"axis k\.outer of C reduces outside the intrinsic gemv"):
        te.lower(s, [A, B, C])


def test_a_stage_cannot_be_computed_in_a_tensorized_loop() -> None:
    s, A, B, C = product()
    AA = s.cache_read(A, "local", [C])
    _, inner = s[C].split(C.op.axis[1], factor=4)
    s[C].tensorize(inner, gemv(4, 6))
    s[AA].compute_at(s[C], inner)
    with pytest.raises(ScheduleError, match=r"A\.local is computed at axis j\.inner of C, a loop that"):
        te.lower(s, [A, B, C])


def test_invalid_intrinsics_are_refused() -> None:
    s, A, B, C = product()
    with pytest.raises(ScheduleError, match="'gemv' is no intrinsic"):
        s[C].tensorize(C.op.axis[1], "gemv")  # type: ignore[arg-type]
    with pytest.raises(TensorExpressionError, match="A is not a compute"):
        te.decl_tensor_intrin(A.op)
    with pytest.raises(TensorExpressionError, match="B is neither read nor made by"):
        te.decl_tensor_intrin(
            te.compute((4,), lambda i: A[i, 0], name="X").op, binds={B: te.decl_buffer((8, 6))}
        )
    with pytest.raises(TensorExpressionError, match="gave 2 statements, expected a body"):
        te.decl_tensor_intrin(C.op, lambda i, o: (o[0].vstore((0, 0), 0.0),) * 2)
    with pytest.raises(TensorExpressionError, match="'x' has 2 axes and 1 strides"):
        te.decl_buffer((4, 4), name="x", strides=[1])
