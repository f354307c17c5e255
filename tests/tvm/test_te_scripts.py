"""Scripts as in courses: tensor expressions and their schedules, compared with numpy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError
from tvmlite.te.tensor import registry
from tvmlite.tvm import te, topi
from tvmlite.tvm.contrib import cblas, clang
from tvmlite.tvm.topi.utils import get_const_tuple


@pytest.fixture(autouse=True)
def _own_names() -> Iterator[None]:
    kept = dict(registry._functions), dict(registry._rules)
    yield
    registry._functions, registry._rules = kept


def uniform(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).random(shape, dtype="float32")


def test_vector_addition() -> None:
    n = te.var("n")
    a, b = te.placeholder((n,), name="a"), te.placeholder((n,), name="b")
    total = te.compute(a.shape, lambda i: a[i] + b[i], name="total")
    schedule = te.create_schedule(total.op)
    outer, inner = schedule[total].split(total.op.axis[0], factor=16)
    schedule[total].parallel(outer)
    schedule[total].vectorize(inner)
    module = tvm.build(schedule, [a, b, total], target="llvm", name="add")
    device = tvm.device("llvm", 0)
    x, y = tvm.nd.array(uniform(1000), device), tvm.nd.array(uniform(1000) * 2, device)
    made = tvm.nd.array(np.zeros(1000, "float32"), device)

    module(x, y, made)

    tvm.testing.assert_allclose(made.numpy(), x.numpy() + y.numpy())
    assert module.time_evaluator(module.entry_name, device, number=3)(x, y, made).mean > 0


def test_a_matrix_product_with_all_steps_of_the_tutorial() -> None:
    m = n = k = 96
    block = 32
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    axis = te.reduce_axis((0, k), name="k")
    packed = te.compute((n / block, k, block), lambda z, y, x: b[y, z * block + x], name="packed")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(
            a[i, axis] * packed[tvm.tir.indexdiv(j, block), axis, tvm.tir.indexmod(j, block)], axis=axis
        ),
        name="C",
    )
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "global")
    outer_i, outer_j, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], block, block)
    s[cache].compute_at(s[c], outer_j)
    inner_i, inner_j = s[cache].op.axis
    outer_k, inner_k = s[cache].split(s[cache].op.reduce_axis[0], factor=4)
    s[cache].reorder(outer_k, inner_i, inner_k, inner_j)
    s[cache].unroll(inner_k)
    s[cache].vectorize(inner_j)
    s[c].parallel(outer_i)
    s[packed].vectorize(s[packed].op.axis[2])
    s[packed].parallel(s[packed].op.axis[0])
    x, y = uniform(m, k), uniform(k, n)

    product = tvm.build(s, [a, b, c], tvm.target.Target("llvm -keys=cpu"))(x, y)

    np.testing.assert_allclose(product, x @ y, rtol=1e-5)


def row_times_matrix(rows: int, length: int) -> tuple[Any, dict[Any, Any]]:
    vector, matrix = te.placeholder((length,), name="a"), te.placeholder((rows, length), name="b")
    k = te.reduce_axis((0, length), name="k")
    out = te.compute((rows,), lambda i: te.sum(vector[k] * matrix[i, k], axis=k), name="c")
    declare = tvm.tir.decl_buffer
    binds = {
        vector: declare(vector.shape, vector.dtype, name="A", offset_factor=1, strides=[1]),
        matrix: declare(matrix.shape, matrix.dtype, name="B", offset_factor=1, strides=[te.var("stride"), 1]),
        out: declare(out.shape, out.dtype, name="C", offset_factor=1, strides=[1]),
    }
    return out.op, binds


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_a_matrix_product_is_tensorized_by_a_c_function() -> None:
    rows, columns, length, factor = 32, 48, 64, 16
    a, b = te.placeholder((rows, length), name="A"), te.placeholder((columns, length), name="B")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[1], factor=factor)
    outer_k, inner_k = s[c].split(c.op.reduce_axis[0], factor=factor)
    s[c].reorder(c.op.axis[0], outer, outer_k, inner, inner_k)
    op, binds = row_times_matrix(factor, factor)

    def instruction(ins: Any, outs: Any) -> Any:
        pointers = outs[0].access_ptr("w"), ins[0].access_ptr("r"), ins[1].access_ptr("r")
        reset = tvm.tir.call_extern("int32", "row_clear", pointers[0], factor)
        update = tvm.tir.call_extern("int32", "row_add", *pointers, factor, ins[1].strides[0])
        return update, reset, update

    s[c].tensorize(inner, te.decl_tensor_intrin(op, instruction, binds=binds))
    source = """
        extern "C" int row_add(float *out, float *a, float *b, int n, int stride) {
            for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) out[i] += a[j] * b[i * stride + j];
            return 0;
        }
        extern "C" int row_clear(float *out, int n) { for (int i = 0; i < n; ++i) out[i] = 0; return 0; }
    """
    s[c].pragma(c.op.axis[0], "import_llvm", clang.create_llvm(source))
    x, y = uniform(rows, length), uniform(columns, length)

    made = tvm.build(s, [a, b, c], target="llvm", name="gemv")(x, y)

    assert made.shape == get_const_tuple(c.shape)
    np.testing.assert_allclose(made, x @ y.T, rtol=1e-4)


def test_an_intrinsic_is_called_on_windows() -> None:
    width = 16
    x, y = te.placeholder((width,), name="x"), te.placeholder((width,), name="y")
    z = te.compute(x.shape, lambda i: x[i] + y[i], name="z")

    def instruction(ins: Any, outs: Any) -> Any:
        builder = tvm.tir.ir_builder.create()
        builder.emit(outs[0].vstore(0, ins[0].vload(0, "float32x16") + ins[1].vload(0, "float32x16")))
        return builder.get()

    add = te.decl_tensor_intrin(z.op, instruction, default_buffer_params={"offset_factor": width})
    a, b = te.placeholder((8, width), name="A"), te.placeholder((8, width), name="B")
    c = te.compute((8, width), lambda i: add(a[i, 0:width], b[i, 0:width]), name="C")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], factor=4)
    left, right = uniform(8, width), uniform(8, width) + 1

    loops = str(tvm.lower(s, [a, b, c]))
    assert "ramp(" in loops
    np.testing.assert_allclose(tvm.build(s, [a, b, c])(left, right), left + right)
    s[c].tensorize(s[c].leaf_iter_vars[0], te.decl_tensor_intrin(z.op, instruction, "other"))
    with pytest.warns(
        UserWarning, match="C is computed by tensor_intrin as it was declared, and not by other"
    ):
        assert str(tvm.lower(s, [a, b, c])) == loops
    with pytest.raises(tvm.TVMError, match=r"tensor_intrin: x is a window of \(8\), expected \(16\)"):
        te.compute((8, width), lambda i: add(a[i, 0:8], b[i, 0:8]))


def test_a_recurrence_by_a_scan_of_two_stages() -> None:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n))
    first = te.compute((1, n), lambda _, i: x[0, i])
    doubled = te.compute((m, n), lambda t, i: state[t - 1, i] * 2, name="doubled")
    step = te.compute((m, n), lambda t, i: doubled[t, i] + x[t, i], name="step")
    made = te.scan(first, step, state, inputs=[x])
    s = te.create_schedule(made.op)
    s[doubled].compute_at(s[step], step.op.axis[1])
    given = uniform(6, 5)
    wanted = given.copy()
    for t in range(1, 6):
        wanted[t] += 2 * wanted[t - 1]

    np.testing.assert_allclose(tvm.build(s, [x, made], "llvm")(given), wanted, rtol=1e-5)
    assert tvm.te.schedule.InferBound(s.normalize())[made.op.scan_axis].min.value == 1


def test_bounds_of_shared_stages_cover_all_threads() -> None:
    a = te.placeholder((64, 64), name="a")
    b = te.compute((64, 64), lambda i, j: a[i, j] + 1, name="b")
    c = te.compute((64, 64), lambda i, j: b[i, j] * 2, name="c")

    def extent(scope: str, axis: str) -> int:
        s = te.create_schedule(c.op)
        s[b].set_scope(scope)
        _outer, inner = s[c].split(c.op.axis[0], factor=16)
        s[c].bind(inner, te.thread_axis(axis))
        s[b].compute_at(s[c], c.op.axis[1])
        return te.schedule.InferBound(s)[b.op.axis[0]].extent.value

    assert [extent(scope, "threadIdx.x") for scope in ("shared", "warp", "local")] == [16, 16, 1]
    assert [extent(scope, "blockIdx.x") for scope in ("shared", "local", "global")] == [1, 1, 1]
    assert extent("warp", "threadIdx.y") == 1


@pytest.mark.parametrize("rows", [4, 3])
def test_inputs_of_a_scan_are_computed_for_its_rows_only(rows: int) -> None:
    x, state = te.placeholder((rows, 2), name="x"), te.placeholder((5, 2), name="state")
    first = te.compute((1, 2), lambda *_: 0.0, name="first")
    doubled = te.compute((5, 2), lambda t, i: x[t - 1, i] * 2, name="doubled")  # not defined for row 0
    step = te.compute((5, 2), lambda t, i: state[t - 1, i] + doubled[t, i], name="step")
    total = te.scan(first, step, state, inputs=[x])
    s = te.create_schedule(total.op)
    if rows == 3:
        with pytest.raises(TensorExpressionError, match="reads tensor 'x' at 0 to 3 on axis 0, whose extent"):
            tvm.build(s, [x, total])
        return
    given, made = uniform(rows, 2), tvm.nd.empty((5, 2))
    tvm.build(s, [x, total])(given, made)
    np.testing.assert_allclose(made.numpy()[1:], np.cumsum(2 * given, 0), rtol=1e-6)
    assert isinstance(tvm.lower(s, [x, state, total])["main"], tvm.tir.PrimFunc)


def test_cache_write_resets_the_schedule_of_the_copy() -> None:
    a = te.placeholder((8, 6), name="a")
    b = te.compute((8, 6), lambda i, j: a[i, j] * 2, name="b")
    s = te.create_schedule(b.op)
    _outer, _inner = s[b].split(b.op.axis[0], factor=4)
    cached = s.cache_write(b, "local")
    assert len(cached.op.axis) == 3
    assert tuple(s[b].leaf_iter_vars) == tuple(b.op.axis)
    _rows, columns, *_ = s[b].tile(*b.op.axis, 2, 3)
    s[cached].compute_at(s[b], columns)
    x = uniform(8, 6)
    np.testing.assert_array_equal(tvm.build(s, [a, b])(x), x * 2)


def test_a_blas_product_and_a_python_function_are_stages() -> None:
    a, b = te.placeholder((7, 5), name="A"), te.placeholder((5, 6), name="B")
    bias = te.var("bias", dtype="float32")
    product = cblas.matmul(a, b)
    shifted = te.compute(product.shape, lambda i, j: product[i, j] + bias, name="shifted")
    x, y = uniform(7, 5), uniform(5, 6)
    made = tvm.nd.empty((7, 6))

    tvm.build(te.create_schedule(shifted.op), [a, b, shifted, bias], "llvm")(x, y, made, 2.0)

    np.testing.assert_allclose(made.numpy(), x @ y + 2, rtol=1e-5)

    @tvm.register_func
    def mirrored(source: Any, target: Any) -> None:
        tvm.nd.array(source.numpy()[::-1]).copyto(target)

    backwards = te.extern(
        a.shape, [a], lambda ins, outs: tvm.tir.call_packed("mirrored", ins[0], outs[0]), name="backwards"
    )
    np.testing.assert_array_equal(tvm.build(te.create_schedule(backwards.op), [a, backwards])(x), x[::-1])
    assert tvm.get_global_func("mirrored") is mirrored
    assert tvm.get_global_func("no.such.function", allow_missing=True) is None


def test_a_user_defined_intrinsic_is_lowered_by_a_rule() -> None:
    def softplus(call: Any) -> Any:
        return tvm.tir.log1p(tvm.tir.exp(call.args[0]))

    tvm.ir.register_op_attr("tir.softplus", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    tvm.ir.register_intrin_lowering("tir.softplus", target="llvm", f=softplus, level=99)
    a = te.placeholder((te.var("n"),), name="A")
    b = te.compute(a.shape, lambda i: tvm.tir.call_intrin(a.dtype, "tir.softplus", a[i]), name="B")
    x = uniform(20) * 4 - 2

    made = tvm.build(te.create_schedule(b.op), [a, b], "llvm")(x)

    np.testing.assert_allclose(made, np.log1p(np.exp(x)), rtol=1e-5)


def test_a_rule_overrides_the_lowering_of_a_known_intrinsic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_rules", {})
    a = te.placeholder((8,), name="A")
    b = te.compute(a.shape, lambda i: te.exp(a[i]), name="B")
    s, x = te.create_schedule(b.op), uniform(8)
    assert "expf" not in tvm.build(s, [a, b], "llvm").get_source()

    def by_library(call: Any) -> Any:
        return tvm.tir.call_pure_extern("float32", f"{call.op.name[4:]}f", call.args[0])

    tvm.ir.register_intrin_lowering("tir.exp", target="llvm", f=by_library, level=99)
    made = tvm.build(s, [a, b], "llvm")

    assert "@expf" in made.get_source()
    np.testing.assert_allclose(made(x), np.exp(x), rtol=1e-6)


@te.hybrid.script
def smoothed(values, weight):  # type: ignore[no-untyped-def]
    """A moving average that leaves both ends unchanged."""
    out = output_tensor(values.shape, values.dtype)  # type: ignore[name-defined]  # noqa: F821
    last = values.shape[0] - 1
    out[0] = values[0]
    out[last] = values[last]
    for i in range(1, last):
        total = 0.0
        for j in const_range(3):  # type: ignore[name-defined]  # noqa: F821
            total += values[i + j - 1] * weight[j]
        out[i] = total
    return out


def test_a_hybrid_script_runs_in_python_and_as_a_tensor() -> None:
    n = te.size_var("n")
    values = te.placeholder((n,), name="values")
    weights = [0.25, 0.5, 0.25]
    made = smoothed(values, weights)
    doubled = te.compute(made.shape, lambda i: made[i] * 2, name="doubled")
    x = uniform(12)
    wanted = x.copy()
    wanted[1:-1] = x[:-2] * 0.25 + x[1:-1] * 0.5 + x[2:] * 0.25

    np.testing.assert_allclose(smoothed(x, weights), wanted, rtol=1e-6)
    result = tvm.build(te.create_schedule(doubled.op), [values, doubled])(x)
    np.testing.assert_allclose(result, wanted * 2, rtol=1e-6)


def test_argmax_by_a_reduction_of_pairs() -> None:
    def larger(x: Any, y: Any) -> Any:
        first = x[1] >= y[1]
        return tvm.tir.Select(first, x[0], y[0]), tvm.tir.Select(first, x[1], y[1])

    def least(index: str, value: str) -> Any:
        return tvm.tir.const(-1, index), te.min_value(value)

    argmax = te.comm_reducer(larger, least, name="argmax")
    rows, columns = te.var("rows"), te.var("columns")
    values = te.placeholder((rows, columns), name="values")
    k = te.reduce_axis((0, columns), name="k")
    place, best = te.compute((rows,), lambda i: argmax((k.var, values[i, k]), axis=k), name="best")
    x = uniform(9, 13)

    where, largest = tvm.build(te.create_schedule(place.op), [values, place, best])(x)

    np.testing.assert_array_equal(where, x.argmax(1))
    np.testing.assert_array_equal(largest, x.max(1))


def test_a_convolution_tiled_by_rows() -> None:
    images, inside, outside, size, window = 1, 4, 8, 14, 3
    data = te.placeholder((images, inside, size, size), name="data")
    kernel = te.placeholder((outside, inside, window, window), name="kernel")
    padded = te.compute(
        (images, inside, size + 2, size + 2),
        lambda n, c, y, x: tvm.tir.if_then_else(
            tvm.tir.all(y >= 1, y < size + 1, x >= 1, x < size + 1),
            data[n, c, y - 1, x - 1],
            tvm.tir.const(0.0, "float32"),
        ),
        name="padded",
    )
    c, dy, dx = (te.reduce_axis((0, extent)) for extent in (inside, window, window))
    conv = te.compute(
        (images, outside, size, size),
        lambda n, o, y, x: te.sum(padded[n, c, y + dy, x + dx] * kernel[o, c, dy, dx], axis=[c, dy, dx]),
        name="conv",
    )
    s = te.create_schedule(conv.op)
    _, o, y, x = conv.op.axis
    outer, inner = s[conv].split(y, factor=7)
    s[conv].reorder(outer, o, c, dy, dx, inner, x)
    s[conv].vectorize(x)
    s[conv].parallel(outer)
    s[padded].compute_inline()
    image, weights = uniform(images, inside, size, size), uniform(outside, inside, window, window)

    made = tvm.build(s, [data, kernel, conv], "llvm")(image, weights)

    np.testing.assert_allclose(made, topi.testing.conv2d_nchw_python(image, weights, 1, 1), rtol=1e-4)


def test_a_topi_softmax_under_a_target() -> None:
    rows = te.var("rows")
    scores = te.placeholder((rows, 33), name="scores")
    made = topi.nn.softmax(scores * 2 - 1)
    with tvm.target.Target("llvm"):
        schedule = topi.generic.schedule_softmax(made)
        module = tvm.build(schedule, [scores, made])
    x = uniform(10, 33)
    powers = np.exp(x.astype("float64") * 2 - 1)

    np.testing.assert_allclose(module(x), powers / powers.sum(1, keepdims=True), rtol=1e-5)
