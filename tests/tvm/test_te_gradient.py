"""``te.gradient``, compared with derivatives written in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, TensorExpressionError, UnsupportedError
from tvmlite.tvm import te, tir, topi

A = te.placeholder((3, 4), name="A")
X = np.random.default_rng(0).uniform(0.2, 2, (3, 4)).astype("f4")
K = te.reduce_axis((0, 4), "k")


def run(made: Any, inputs: list[Any], *arrays: np.ndarray) -> np.ndarray:
    function = tvm.build(te.create_schedule(made.op), [*inputs, made], "llvm")
    out = np.zeros([int(n) for n in made.shape], made.dtype)
    function(*arrays, out)
    return out


def summed(output: Any, inputs: Any) -> list[Any]:
    return te.gradient(output, inputs, head=topi.full_like(output, 1.0))


@pytest.mark.parametrize(
    ("element", "wanted"),
    [
        (te.exp, np.exp),
        (te.log, lambda x: 1 / x),
        (te.sqrt, lambda x: 0.5 / np.sqrt(x)),
        (te.rsqrt, lambda x: -0.5 * x**-1.5),
        (te.tanh, lambda x: 1 - np.tanh(x) ** 2),
        (te.sigmoid, lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
        (te.sin, np.cos),
        (te.cos, lambda x: -np.sin(x)),
        (te.erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x)),
        (lambda x: te.abs(x - 1), lambda x: np.sign(x - 1)),
        (lambda x: te.power(x, x), lambda x: x**x * (np.log(x) + 1)),
        (lambda x: 3 / x - x * x, lambda x: -3 / x**2 - 2 * x),
        (lambda x: te.max(x, 1.0) + te.min(x, 1.0) * 2, lambda x: np.where(x > 1, 1, 2)),
        (lambda x: tir.Select(x > 1, x * x, x), lambda x: np.where(x > 1, 2 * x, 1)),
        (lambda x: x.astype("float64").astype("float32") + te.floor(x), np.ones_like),
        (lambda x: x.astype("int32").astype("float32"), np.zeros_like),
    ],
)
def test_gradients_of_elementwise_functions_match_numpy(
    element: Callable[[Any], Any], wanted: Callable[[Any], Any]
) -> None:
    (grad,) = summed(te.compute((3, 4), lambda i, j: element(A[i, j]), name="B"), A)
    np.testing.assert_allclose(run(grad, [A], X), wanted(X), rtol=1e-4, atol=1e-5)


S = te.placeholder((4, 4), name="S")
Y = np.arange(16, dtype="f4").reshape(4, 4)


@pytest.mark.parametrize(
    ("shape", "element", "wanted"),
    [
        ((4, 4), lambda i, j: S[j, 3 - i] * S[i, j], np.rot90(Y) + np.rot90(Y, -1)),
        ((2, 2), lambda i, j: te.sum(S[i * 2 + j, K], axis=K), np.ones((4, 4))),
        ((16,), lambda i: S[i // 4, i % 4] * (i + 1), Y + 1),
        ((6,), lambda i: tir.if_then_else(tir.all(i >= 1, i < 5), S[0, i - 1] * i, 0.0), (Y + 1) * (Y < 4)),
        ((4,), lambda i: S[te.min(i + 1, 3), 0], np.array([[0], [1], [1], [2]]) * (np.arange(4) == 0)),
    ],
)
def test_gradients_of_permuted_and_repeated_reads_match_numpy(
    shape: tuple[int, ...], element: Any, wanted: np.ndarray
) -> None:
    (grad,) = summed(te.compute(shape, element), S)
    np.testing.assert_array_equal(run(grad, [S], Y), wanted)


def test_a_gradient_of_a_permuted_read_needs_no_reduction() -> None:
    head = te.placeholder((4, 4), name="head")
    (grad,) = te.gradient(te.compute((4, 4), lambda i, j: S[j, 3 - i]), S, head=head)
    assert not grad.op.reduce_axis
    assert str(grad.op.body[0]) == "head[3 - i1, i0]"


def test_gradients_of_a_reduction_with_a_head_by_several_tensors() -> None:
    w, head = te.placeholder((5, 4), name="W"), te.placeholder((2, 3, 5), name="head")
    y, h = np.random.rand(5, 4).astype("f4"), np.random.rand(2, 3, 5).astype("f4")
    dense = te.compute((3, 5), lambda i, j: te.sum(A[i, K] * w[j, K], axis=K), name="dense")
    by_a, by_w = te.gradient(dense, [A, w], head=head)

    np.testing.assert_allclose(run(by_a, [w, head], y, h), h @ y, rtol=1e-5)
    np.testing.assert_allclose(run(by_w, [A, head], X, h), np.einsum("pij,ik->pjk", h, X), rtol=1e-5)


def test_the_gradient_of_a_tied_maximum_goes_to_one_element() -> None:
    ties = np.array([[1, 3, 3, 2], [5, 4, 5, 5], [0, 0, 0, 0]], "f4")
    (grad,) = summed(te.compute((3,), lambda i: te.max(A[i, K], axis=K)), A)
    found = run(grad, [A], ties)
    np.testing.assert_array_equal(found.sum(axis=1), [1, 1, 1])
    np.testing.assert_array_equal(ties[found == 1], [3, 5, 0])


@pytest.mark.parametrize(("size", "stride", "pad"), [(2, 1, 0), (3, 2, 1)])
def test_the_gradient_of_max_pooling_goes_to_the_largest_element(size: int, stride: int, pad: int) -> None:
    data = te.placeholder((1, 1, 6, 6), name="data")
    pooled = topi.nn.pool2d(data, (size, size), (stride, stride), (1, 1), (pad,) * 4, "max")
    head = te.placeholder(pooled.shape, name="head")
    random = np.random.default_rng(1)
    image = random.permutation(36).reshape(1, 1, 6, 6).astype("f4")
    heads = random.standard_normal([int(n) for n in pooled.shape]).astype("f4")
    padded = np.pad(image[0, 0], pad, constant_values=-1)
    wanted = np.zeros_like(padded)
    for i, j in np.ndindex(heads.shape[2:]):
        window = np.s_[i * stride : i * stride + size, j * stride : j * stride + size]
        wanted[window] += heads[0, 0, i, j] * (padded[window] == padded[window].max())

    (grad,) = te.gradient(pooled, data, head)

    inside = np.s_[pad : 6 + pad, pad : 6 + pad]
    np.testing.assert_allclose(run(grad, [data, head], image, heads)[0, 0], wanted[inside], rtol=1e-6)


def test_the_gradient_of_a_product_reduction_matches_numpy() -> None:
    product = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="product")
    (grad,) = summed(te.compute((3,), lambda i: product(A[i, K], axis=K)), A)
    np.testing.assert_allclose(run(grad, [A], X), X.prod(axis=1, keepdims=True) / X, rtol=1e-5)


def test_without_a_head_the_full_jacobian_is_given() -> None:
    unused = te.placeholder((2,), name="unused")
    output = te.compute((3,), lambda i: A[i, 0] * A[i, 0])
    grad, zeros = te.gradient(output, [A, unused])
    wanted = np.zeros((3, 3, 4), "f4")
    wanted[range(3), range(3), 0] = 2 * X[:, 0]
    np.testing.assert_allclose(run(grad, [A], X), wanted, rtol=1e-6)
    np.testing.assert_array_equal(run(zeros, []), np.zeros((3, 2)))


def test_unsupported_gradients_are_errors() -> None:
    loops = te.extern((3, 4), [A], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="loops")
    for made, name in (
        (loops, "loops is computed by loops or a scan"),
        (
            te.compute((3,), lambda i: te.sum(A[i, K], axis=K, init=1.0), name="started"),
            "started is a reduction",
        ),
        (te.compute((3, 4), lambda i, j: te.acosh(A[i, j])), "te.gradient: acosh is not differentiated"),
    ):
        with pytest.raises(UnsupportedError, match=name):
            te.gradient(made, A)
    with pytest.raises(TensorExpressionError, match="head has 1 axes, expected at least 2"):
        te.gradient(te.compute((3, 4), lambda i, j: A[i, j]), A, head=te.placeholder((3,)))


def test_check_numerical_grads_finds_wrong_gradients() -> None:
    x = np.array([0.5, 2.0])
    tvm.testing.check_numerical_grads(lambda a, b: (a * a * b).sum(), [x, x], [2 * x * x])
    tvm.testing.check_numerical_grads(lambda a: (a * a).sum(), {"a": x}, {"a": 2 * x})
    with pytest.raises(AssertionError, match=r"the derivative by 'a' at \(1,\) is 2, differences give 4"):
        tvm.testing.check_numerical_grads(lambda a: (a * a).sum(), {"a": x}, {"a": np.array([1.0, 2.0])})
    with pytest.raises(InputError, match=r"input 0 has shape \(2,\), its derivative \(1,\)"):
        tvm.testing.check_numerical_grads(np.sum, [x], [x[:1]])
