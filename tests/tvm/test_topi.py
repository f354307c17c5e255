"""``tvm.topi`` compared with numpy, with known and open extents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError, TvmliteError, UnsupportedError
from tvmlite.tvm import te, topi


def run(make: Callable[..., Any], *arrays: Any, schedule: bool = False) -> Any:
    """The result for ``arrays`` of what ``make`` declares on placeholders."""
    given = [np.asarray(one) for one in arrays]
    tensors = [te.placeholder(x.shape, x.dtype.name, f"x{k}") for k, x in enumerate(given)]
    made = make(*tensors)
    outputs = made if isinstance(made, list) else [made]
    s = topi.generic.schedule_injective(outputs) if schedule else te.create_schedule([o.op for o in outputs])
    return tvm.build(s, [*tensors, *outputs])(*given)


def some(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape).astype("f4") + 0.5


X = some(3, 4, 5)
Y = some(4, 5)
INTS = np.arange(12, dtype="i4").reshape(3, 4) - 5


@pytest.mark.parametrize(
    ("make", "arrays", "wanted"),
    [
        (topi.add, (X, Y), X + Y),
        (topi.subtract, (Y, X), Y - X),
        (topi.multiply, (X, Y), X * Y),
        (topi.divide, (X, Y), X / Y),
        (topi.maximum, (X, Y), np.maximum(X, Y)),
        (topi.power, (X, Y), X**Y),
        (topi.greater, (X, Y), X > Y),
        (topi.logical_not, (INTS > 0,), INTS <= 0),
        (topi.bitwise_xor, (INTS, INTS * 3), INTS ^ (INTS * 3)),
        (topi.floor_divide, (INTS, INTS * 0 + 4), INTS // 4),
        (lambda x: topi.add(x, 3), (X,), X + 3),
        (lambda x: topi.subtract(1, x), (X,), 1 - X),
        (lambda x: topi.multiply(x, tvm.tir.const(2.0)), (X,), X * 2),
        (lambda x: topi.add(x, 0.5), (INTS,), INTS + 0.5),
        (lambda x: topi.add(x, np.ones(5, "f4")), (X,), X + 1),
        (topi.exp, (X,), np.exp(X)),
        (topi.tanh, (X,), np.tanh(X)),
        (topi.sigmoid, (X,), 1 / (1 + np.exp(-X))),
        (topi.log10, (X,), np.log10(X)),
        (topi.identity, (X,), X),
        (topi.abs, (INTS,), abs(INTS)),
        (lambda x: topi.clip(x, 0.7, 1.1), (X,), X.clip(0.7, 1.1)),
        (lambda x: topi.cast(x, "int32"), (X * 9,), (X * 9).astype("i4")),
        (lambda x: topi.full_like(x, 2.5), (X,), np.full_like(X, 2.5)),
        (lambda x, y: topi.elemwise_sum([x, y, x]), (X, X * 2), X * 4),
        (lambda x: topi.broadcast_to(x, (2, 4, 5)), (Y,), np.broadcast_to(Y, (2, 4, 5))),
        (lambda x: topi.sum(x, axis=1), (X,), X.sum(1)),
        (lambda x: topi.max(x, axis=(0, 2), keepdims=True), (X,), X.max((0, 2), keepdims=True)),
        (lambda x: topi.min(x), (X,), X.min()),
        (lambda x: topi.prod(x, axis=-1), (X,), X.prod(-1)),
        (lambda x: topi.argmax(x, axis=2), (X,), X.argmax(2)),
        (lambda x: topi.argmin(x, axis=0, keepdims=True), (X,), X.argmin(0, keepdims=True)),
        (lambda x: topi.all(x, axis=1), (INTS > -3,), (INTS > -3).all(1)),
        (lambda x: topi.transpose(x, (2, 0, 1)), (X,), X.transpose(2, 0, 1)),
        (lambda x: topi.reshape(x, (5, 12)), (X,), X.reshape(5, 12)),
        (lambda x: topi.expand_dims(x, 1, 2), (Y,), Y[:, None, None]),
        (lambda x: topi.squeeze(x, 1), (X[:, :1],), X[:, 0]),
        (lambda x: topi.flip(x, 2), (X,), X[:, :, ::-1]),
        (lambda x, y: topi.concatenate([x, y], 1), (X, X * 2), np.concatenate([X, X * 2], 1)),
        (lambda x, y: topi.stack([x, y], 2), (Y, Y * 2), np.stack([Y, Y * 2], 2)),
        (lambda x, i: topi.take(x, i, axis=1), (X, np.array([3, 0], "i4")), X.take([3, 0], 1)),
        (lambda x: topi.strided_slice(x, (0, 1, 0), (3, 4, 5), (2, 1, 2)), (X,), X[::2, 1:, ::2]),
        (topi.where, (INTS > 0, INTS, INTS * 2), np.where(INTS > 0, INTS, INTS * 2)),
        (lambda x: topi.repeat(x, 2, 1), (Y,), Y.repeat(2, 1)),
        (lambda x: topi.tile(x, (2, 3)), (Y,), np.tile(Y, (2, 3))),
        (lambda x: topi.cumsum(x, 1), (Y,), Y.cumsum(1)),
        (topi.shape, (X,), [3, 4, 5]),
        (lambda x: topi.layout_transform(x, "AB", "BA"), (Y,), Y.T),
        (lambda x: topi.argsort(x, dtype="int32"), (Y,), Y.argsort(-1, kind="stable")),
        (lambda x: topi.trilu(x, 0, True), (Y,), np.triu(Y)),
        (
            lambda x: topi.one_hot(x, tvm.tir.const(1), tvm.tir.const(0), 4, -1, "int32"),
            (np.array([2, 0], "i4"),),
            np.eye(4, dtype="i4")[[2, 0]],
        ),
        (topi.matmul, (Y, Y.T.copy()), Y @ Y.T),
        (topi.nn.relu, (X - 1,), np.maximum(X - 1, 0)),
        (lambda x: topi.nn.leaky_relu(x, 0.1), (X - 1,), np.where(X > 1, X - 1, (X - 1) * np.float32(0.1))),
        (topi.nn.softmax, (Y,), topi.testing.softmax_python(Y)),
        (lambda x: topi.nn.log_softmax(x, 1), (Y,), topi.testing.log_softmax_python(Y)),
        (topi.nn.dense, (Y, some(6, 5)), Y @ some(6, 5).T),
        (topi.nn.dense, (Y, some(6, 5), some(6)), Y @ some(6, 5).T + some(6)),
        (topi.nn.batch_matmul, (X, X * 2), X @ (X * 2).transpose(0, 2, 1)),
        (topi.nn.flatten, (X,), X.reshape(3, 20)),
        (lambda x: topi.nn.pad(x, (1, 0), (0, 2), 7.0), (Y,), np.pad(Y, ((1, 0), (0, 2)), constant_values=7)),
        (lambda x: topi.nn.dilate(x, (2, 3)), (Y,), topi.testing.dilate_python(Y, (2, 3))),
    ],
)
def test_an_operator_matches_numpy(make: Any, arrays: Any, wanted: Any) -> None:
    np.testing.assert_allclose(run(make, *arrays), wanted, rtol=2e-5, atol=1e-6)


def test_split_topk_and_arange_match_numpy() -> None:
    for got, wanted in zip(run(lambda x: topi.split(x, (1, 3), 1), X), np.split(X, (1, 3), 1), strict=True):
        np.testing.assert_array_equal(got, wanted)
    values, indices = run(lambda x: topi.topk(x, 2, dtype="int32"), Y)
    order = (-Y).argsort(-1, kind="stable")[:, :2]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(Y, order, -1))
    np.testing.assert_array_equal(run(lambda _: topi.arange(2, 11, 3, "int32"), Y), [2, 5, 8])


IMAGE, KERNEL = some(2, 4, 9, 8), some(6, 4, 3, 3)


@pytest.mark.parametrize("padding", [0, 1, (1, 2), (1, 0, 2, 1), "SAME", "VALID"])
def test_conv2d_matches_references(padding: Any) -> None:
    for stride in (1, (2, 1)):
        wanted = topi.testing.conv2d_nchw_python(IMAGE, KERNEL, stride, padding)
        got = run(lambda x, w, s=stride: topi.nn.conv2d_nchw(x, w, s, padding, 1), IMAGE, KERNEL)
        np.testing.assert_allclose(got, wanted, rtol=1e-4)
    last = IMAGE.transpose(0, 2, 3, 1).copy(), KERNEL.transpose(2, 3, 1, 0).copy()
    got = run(lambda x, w: topi.nn.conv2d_nhwc(x, w, 1, padding, 1), *last)
    np.testing.assert_allclose(got, topi.testing.conv2d_nhwc_python(*last, 1, padding), rtol=1e-4)


def test_other_convolutions_match_references() -> None:
    grouped = some(6, 2, 3, 3)
    got = run(lambda x, w: topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, 2), IMAGE, grouped)
    np.testing.assert_allclose(got, topi.testing.conv2d_nchw_python(IMAGE, grouped, 1, 1, 2), rtol=1e-4)
    each = some(4, 2, 3, 3)
    got = run(lambda x, w: topi.nn.depthwise_conv2d_nchw(x, w, 2, 1), IMAGE, each)
    np.testing.assert_allclose(got, topi.testing.depthwise_conv2d_python_nchw(IMAGE, each, 2, 1), rtol=1e-4)
    image, kernel = IMAGE.transpose(0, 2, 3, 1).copy(), each.transpose(2, 3, 0, 1).copy()
    got = run(lambda x, w: topi.nn.depthwise_conv2d_nhwc(x, w, 1, "SAME"), image, kernel)
    wanted = topi.testing.depthwise_conv2d_python_nhwc(image, kernel, 1, "SAME")
    np.testing.assert_allclose(got, wanted, rtol=1e-4)
    moved = IMAGE.transpose(2, 3, 1, 0).copy(), KERNEL.transpose(2, 3, 1, 0).copy()
    got = run(lambda x, w: topi.nn.conv2d_hwcn(x, w, 1, 1, 1), *moved)
    np.testing.assert_allclose(got, topi.testing.conv2d_hwcn_python(*moved, 1, 1), rtol=1e-4)
    line = some(2, 4, 9)
    got = run(lambda x, w: topi.nn.conv1d_ncw(x, w, 1, 1), line, some(6, 4, 3))
    wanted = topi.testing.conv2d_nchw_python(line[:, :, None], some(6, 4, 3)[:, :, None], 1, (0, 1))[:, :, 0]
    np.testing.assert_allclose(got, wanted, rtol=1e-4)


def test_conv2d_transpose_matches_a_scatter_in_numpy() -> None:
    image, kernel = some(1, 2, 4, 5), some(2, 3, 3, 3)
    wanted = np.zeros((1, 3, 9, 11), "f4")
    for y in range(4):
        for x in range(5):
            wanted[0, :, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3] += np.einsum(
                "i,iohw->ohw", image[0, :, y, x], kernel
            )

    got = run(
        lambda x, w: topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (0, 0), "float32", (0, 0)), image, kernel
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    cut = run(
        lambda x, w: topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (0, 0)), image, kernel
    )
    np.testing.assert_allclose(cut, wanted[:, :, 1:-1, 1:-1], rtol=1e-5)


def test_depth_to_space_and_space_to_depth_match_numpy() -> None:
    image = some(1, 8, 2, 3)
    wide = image.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)

    np.testing.assert_array_equal(run(lambda x: topi.nn.depth_to_space(x, 2), image), wide)
    np.testing.assert_array_equal(run(lambda x: topi.nn.space_to_depth(x, 2), wide), image)
    last = image.transpose(0, 2, 3, 1).copy()
    got = run(lambda x: topi.nn.depth_to_space(x, 2, "NHWC"), last)
    np.testing.assert_array_equal(got, wide.transpose(0, 2, 3, 1))


def test_pools_match_numpy() -> None:
    blocks = IMAGE[:, :, :8].reshape(2, 4, 4, 2, 4, 2)
    for kind, wanted in (("max", blocks.max((3, 5))), ("avg", blocks.mean((3, 5)))):
        got = run(
            lambda x, k=kind: topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), k), IMAGE[:, :, :8]
        )
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    last = IMAGE[:, :, :8].transpose(0, 2, 3, 1).copy()
    got = run(lambda x: topi.nn.pool2d(x, 2, 2, 1, 0, "max", layout="NHWC"), last)
    np.testing.assert_allclose(got, blocks.max((3, 5)).transpose(0, 2, 3, 1))
    got = run(lambda x: topi.nn.global_pool(x, "avg", "NHWC"), last)
    np.testing.assert_allclose(got, last.mean((1, 2), keepdims=True), rtol=1e-6)
    whole = run(lambda x: topi.nn.global_pool(x, "avg"), IMAGE)
    np.testing.assert_allclose(whole, IMAGE.mean((2, 3), keepdims=True), rtol=1e-6)
    adapted = run(lambda x: topi.nn.adaptive_pool(x, (1, 1), "max"), IMAGE)
    np.testing.assert_allclose(adapted, IMAGE.max((2, 3), keepdims=True))
    with pytest.raises(TensorExpressionError, match="pool_type is 'median', expected max or avg"):
        run(lambda x: topi.nn.global_pool(x, "median"), IMAGE)


def test_normalizations_match_numpy() -> None:
    scale, shift = some(4), some(4) - 1
    got = run(topi.nn.scale_shift_nchw, IMAGE, scale, shift)
    np.testing.assert_allclose(got, topi.testing.scale_shift_nchw_python(IMAGE, scale, shift), rtol=1e-6)
    mean, variance = IMAGE.mean((0, 2, 3)), IMAGE.var((0, 2, 3))
    got = run(lambda *x: topi.nn.batch_norm(*x)[0], IMAGE, scale, shift, mean, variance)
    column = [one[:, None, None] for one in (scale, shift, mean, variance)]
    wanted = (IMAGE - column[2]) / np.sqrt(column[3] + 1e-5) * column[0] + column[1]
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    got = run(lambda x, g, b: topi.nn.layer_norm(x, g, b, [-1]), Y, some(5), some(5))
    normal = (Y - Y.mean(-1, keepdims=True)) / np.sqrt(Y.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(got, normal * some(5) + some(5), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("var", [te.var, te.size_var])
def test_extents_may_be_open(var: Any) -> None:
    rows = var("rows")
    a = te.placeholder((rows, 5), name="a")
    made = topi.nn.softmax(topi.add(a, 1))
    best = topi.argmax(a, axis=1)
    for s in (te.create_schedule([made.op, best.op]), topi.x86.schedule_softmax([made, best])):
        powers, places = tvm.build(s, [a, made, best])(Y)
        np.testing.assert_allclose(powers, topi.testing.softmax_python(Y), rtol=1e-5)
        np.testing.assert_array_equal(places, Y.argmax(1))
    assert made.shape[0] is rows or made.shape[0] == rows


def test_schedules_compute_the_same() -> None:
    for schedule in (False, True):
        got = run(
            lambda x, w: topi.nn.relu(topi.nn.conv2d_nchw(x, w, 1, 1, 1)), IMAGE, KERNEL, schedule=schedule
        )
        np.testing.assert_allclose(got, topi.testing.conv2d_nchw_python(IMAGE, KERNEL, 1, 1), rtol=1e-4)


def test_a_scalar_variable_is_an_operand() -> None:
    a, n = te.placeholder((4,), name="a"), te.var("n")
    made = 3 + a * n - a / 2
    x = some(4)

    np.testing.assert_allclose(
        tvm.build(te.create_schedule(made.op), [n, a, made])(2, x), 3 + x * 2 - x / 2, rtol=1e-6
    )
    assert ((a + 1).op.tag, (n + a).op.tag, (a + a).op.tag) == ("elemwise", "elemwise", "broadcast")
    with pytest.raises(TensorExpressionError, match=r"topi\.add: a tensor or a number: 'x' given"):
        topi.add(a, "x")


def test_float_and_bool_scalars_are_operands() -> None:
    b = te.var("b", dtype="float32")
    x = np.array([7.5, -7.5], "f4")
    for make, wanted in ((topi.floor_divide, x // 2.5), (topi.floor_mod, x % 2.5)):
        a = te.placeholder((2,), name="a")
        c = make(a, b)
        np.testing.assert_allclose(tvm.build(te.create_schedule(c.op), [a, b, c])(x, 2.5), wanted)
    truths = [te.var(name, dtype="bool") for name in "pq"]
    assert str(topi.logical_xor(*truths)) == "(p: bool != q: bool)"


def test_schedule_pool_takes_a_layout() -> None:
    data = some(1, 2, 6, 6)
    a = te.placeholder(data.shape, name="a")
    made = topi.nn.pool2d(a, [2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max")
    s = topi.x86.schedule_pool(made, "NCHW")
    wanted = data.reshape(1, 2, 3, 2, 3, 2).max((3, 5))
    np.testing.assert_array_equal(tvm.build(s, [a, made])(data), wanted)


def test_ceil_mode_counts_windows_that_begin_beyond_the_data() -> None:
    options = ([3, 3], [3, 3], [1, 1], [2, 1, 2, 1])
    data = some(1, 1, 31, 31)
    for kind, counts in (("max", True), ("avg", False), ("avg", True)):
        made = run(lambda x, k=kind, c=counts: topi.nn.pool2d(x, *options, k, True, "NCHW", c), data)
        wanted = topi.testing.poolnd_python(
            data, *options[:3], options[3][:2], options[3][2:], kind, counts, True, layout="NCHW"
        )
        assert made.shape == (1, 1, 12, 11)
        np.testing.assert_allclose(made.clip(0), wanted.clip(0), rtol=1e-6)


def test_tag_scope_tags_results() -> None:
    a = te.placeholder((4,), name="a")
    with te.tag_scope("mine"):
        assert topi.exp(a).op.tag == "mine"


def test_shape_utilities_give_constants_and_indices() -> None:
    n = te.var("n")

    assert topi.utils.get_const_tuple((tvm.tir.const(3), n * 0 + 2, n)) == (3, 2, n)
    assert topi.utils.get_const_int(tvm.tir.const(2) * 3) == 6
    assert topi.utils.prod((2, 3)) == 6
    assert topi.utils.equal_const_int(tvm.tir.const(4), 4)
    assert topi.utils.ravel_index((1, 2), (3, 5)) == 7
    assert topi.utils.unravel_index(7, (3, 5)) == [1, 2]
    with pytest.raises(TensorExpressionError, match="get_const_int: n: int32 is no known int"):
        topi.utils.get_const_int(n)


def test_missing_functions_and_wrong_arguments_are_errors() -> None:
    with pytest.raises(UnsupportedError, match=r"tvm\.topi\.nn\.pool_grad is not in tvmlite"):
        topi.nn.pool_grad(None)
    with pytest.raises(AttributeError, match=r"tvm\.topi has no 'nothing'"):
        topi.nothing  # noqa: B018
    with pytest.raises(TensorExpressionError, match=r"topi\.relu|topi\.nn\.relu: 3 given, expected a tensor"):
        topi.nn.relu(3)
    with pytest.raises(TensorExpressionError, match="padding is 'FULL', expected ints, 'SAME' or 'VALID'"):
        run(lambda x, w: topi.nn.conv2d_nchw(x, w, 1, "FULL", 1), IMAGE, KERNEL)
    with pytest.raises(TvmliteError, match="data_layout is 'NWHC', expected NCHW or NHWC"):
        run(lambda x, w: topi.nn.conv2d(x, w, 1, 0, 1, "NWHC"), IMAGE, KERNEL)
