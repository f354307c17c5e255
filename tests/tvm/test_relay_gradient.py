"""``relay.transform.gradient``: each rule compared with finite differences, and supported functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError, InputError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.testing import check_grad, run_infer_type
from tvmlite.tvm.relay.transform import FirstOrderGradient, gradient

STEP = 1e-6

UNARY = """
    abs acos asin asinh atan atanh cos cosh erf exp log log10 log2 negative rsqrt sigmoid sin sinh sqrt tan
    tanh
"""

RULES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    **{name: (getattr(relay, name), [(2, 3)]) for name in UNARY.split()},
    "acosh": (lambda x: relay.acosh(x + relay.const(1.5, "float64")), [(2, 3)]),
    "add": (lambda a, b: relay.add(a, b), [(2, 3), (3,)]),
    "avg_pool2d": (
        lambda x: relay.nn.avg_pool2d(x, (3, 2), (2, 3), padding=(1, 0), count_include_pad=True),
        [(1, 2, 6, 6)],
    ),
    "avg_pool2d, inside": (lambda x: relay.nn.avg_pool2d(x, (2, 2), (2, 2), padding=(1, 1)), [(1, 2, 5, 4)]),
    "batch_flatten": (lambda x: relay.exp(relay.nn.batch_flatten(x)), [(2, 3, 2)]),
    "batch_matmul": (lambda a, b: relay.nn.batch_matmul(a, b), [(2, 3, 4), (1, 5, 4)]),
    "batch_matmul, both": (
        lambda a, b: relay.nn.batch_matmul(a, b, transpose_a=True, transpose_b=True),
        [(2, 4, 3), (2, 5, 4)],
    ),
    "bias_add": (lambda a, b: relay.exp(relay.nn.bias_add(a, b, axis=-2)), [(2, 3, 2), (3,)]),
    "broadcast_to": (lambda x: relay.exp(relay.broadcast_to(x, (2, 3))), [(3,)]),
    "clip": (lambda x: relay.clip(x, 0.3, 0.6), [(4, 4)]),
    "collapse": (lambda a, b: relay.exp(relay.collapse_sum_like(a, b)), [(2, 3), (3,)]),
    "concatenate": (lambda a, b: relay.exp(relay.concatenate([a, b, a], axis=1)), [(2, 3), (2, 1)]),
    "conv2d": (
        lambda a, b: relay.nn.conv2d(a, b, strides=(2, 3), padding=(1, 0), dilation=(1, 2)),
        [(2, 3, 9, 8), (4, 3, 3, 2)],
    ),
    "conv2d, in groups": (
        lambda a, b: relay.nn.conv2d(a, b, strides=(2, 1), padding=(1, 1), groups=2),
        [(2, 4, 6, 5), (6, 2, 3, 3)],
    ),
    "conv2d, depthwise": (lambda a, b: relay.nn.conv2d(a, b, groups=3), [(1, 3, 5, 4), (3, 1, 2, 3)]),
    "cross_entropy": (relay.nn.cross_entropy, [(2, 3), (2, 3)]),
    "cross_entropy_with_logits": (relay.nn.cross_entropy_with_logits, [(2, 3), (2, 3)]),
    "dense": (lambda a, b: relay.nn.dense(a, b), [(2, 3), (4, 3)]),
    "divide": (lambda a, b: a / b, [(2, 3), (2, 1)]),
    "expand_dims": (lambda x: relay.exp(relay.expand_dims(x, 1)), [(2, 3)]),
    "global_avg_pool2d": (relay.nn.global_avg_pool2d, [(1, 2, 3, 4)]),
    "leaky_relu": (lambda x: relay.nn.leaky_relu(x - relay.const(0.5, "float64"), 0.1), [(2, 3)]),
    "log_softmax": (lambda x: relay.exp(relay.nn.log_softmax(x, axis=0)), [(2, 3)]),
    "matmul": (lambda a, b: relay.nn.matmul(a, b, transpose_a=True), [(4, 3), (4, 5)]),
    "matmul, second": (lambda a, b: relay.nn.matmul(a, b, transpose_b=True), [(3, 4), (5, 4)]),
    "max": (lambda x: relay.max(x, axis=1), [(2, 3)]),
    "max_pool2d": (
        lambda x: relay.nn.max_pool2d(x, (3, 2), (2, 1), dilation=(1, 2), padding=(1, 0)),
        [(1, 2, 6, 5)],
    ),
    "maximum": (relay.maximum, [(2, 3), (3,)]),
    "mean": (lambda x: relay.exp(relay.mean(x, axis=-1, exclude=True)), [(2, 3, 2)]),
    "min": (lambda x: relay.min(x, axis=0, keepdims=True), [(2, 3)]),
    "minimum": (relay.minimum, [(2, 3), (3,)]),
    "multiply": (lambda a, b: a * b, [(2, 3), (3,)]),
    "pad": (lambda x: relay.exp(relay.nn.pad(x, ((1, 0), (0, 2)), 0.5)), [(2, 3)]),
    "power": (relay.power, [(2, 3), (2, 1)]),
    "relu": (lambda x: relay.nn.relu(x - relay.const(0.5, "float64")), [(2, 3)]),
    "reshape": (lambda x: relay.exp(relay.reshape(x, (3, -1))), [(2, 3)]),
    "softmax": (lambda x: relay.exp(relay.nn.softmax(x)), [(2, 3)]),
    "split": (lambda x: relay.exp(relay.split(x, (1,), axis=1)[1]), [(2, 3)]),
    "squeeze": (lambda x: relay.exp(relay.squeeze(x, [0])), [(1, 3)]),
    "strided_slice": (lambda x: relay.exp(relay.strided_slice(x, [1, 3], [3, 0], [1, -2])), [(3, 4)]),
    "subtract": (lambda a, b: a - b, [(3,), (2, 3)]),
    "sum": (lambda x: relay.exp(relay.sum(x, axis=[0, 2])), [(2, 3, 2)]),
    "transpose": (lambda x: relay.exp(relay.transpose(x, (2, 0, 1))), [(2, 3, 2)]),
    "variance": (lambda x: relay.variance(x, axis=1), [(2, 3)]),
    "variance, unbiased": (lambda x: relay.variance(x, axis=0, keepdims=True, unbiased=True), [(4, 3)]),
    "where": (lambda a, b: relay.where(a < b, relay.exp(a), b * b), [(2, 3), (3,)]),
}


def run(function: Any, *arrays: Any) -> Any:
    return relay.create_executor("debug").evaluate(function)(*arrays)


@pytest.mark.parametrize("name", RULES)
def test_a_gradient_matches_finite_differences(name: str) -> None:
    build, shapes = RULES[name]
    source = np.random.default_rng(3)
    inputs = [relay.var(f"x{n}", shape=shape, dtype="float64") for n, shape in enumerate(shapes)]
    data = [source.uniform(0.1, 0.9, shape) for shape in shapes]
    weighted = run_infer_type(relay.Function(inputs, build(*inputs)))
    weights = source.uniform(-1, 1, [int(extent) for extent in weighted.ret_type.shape])
    function = relay.Function(inputs, weighted.body * relay.const(weights, "float64"))

    value, found = run(run_infer_type(gradient(run_infer_type(function))), *data)

    np.testing.assert_array_equal(value, run(function, *data))
    moves = [source.uniform(-1, 1, shape) for shape in shapes]
    ahead, behind = (
        run(function, *(x + sign * STEP * move for x, move in zip(data, moves, strict=True))).sum()
        for sign in (1, -1)
    )
    told = sum((np.asarray(one) * move).sum() for one, move in zip(found, moves, strict=True))
    assert [one.shape for one in found] == shapes
    np.testing.assert_allclose(told, (ahead - behind) / (2 * STEP), rtol=1e-6, atol=1e-8)


def test_a_gradient_has_a_gradient() -> None:
    x, y = (relay.var(name, shape=(2,)) for name in "xy")
    first = gradient(relay.Function([x], x * x * x))
    second = gradient(relay.Function([y], relay.TupleGetItem(relay.TupleGetItem(first(y), 1), 0)))
    data = np.array([1, 2], "float32")

    value, (found,) = run(second, data)

    np.testing.assert_allclose(value, 3 * data**2)
    np.testing.assert_allclose(found, 6 * data)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_branch_not_taken_contributes_no_gradient(chosen: bool) -> None:
    c, x, y = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    function = relay.Function([c, x, y], relay.If(c, x * x, y * x))
    a, b = np.array([1, 2], "float32"), np.array([3, 4], "float32")

    _, (of_c, of_x, of_y) = run(gradient(function), np.array(chosen), a, b)

    assert not of_c
    np.testing.assert_allclose(of_x, 2 * a if chosen else b)
    np.testing.assert_allclose(of_y, 0 * a if chosen else a)


def test_tuples_and_unread_parameters_have_gradients() -> None:
    pair = relay.var("pair", relay.TupleType([relay.TensorType((2,)), relay.TensorType((2,))]))
    other = relay.var("other", shape=(3,))
    body = relay.Tuple([relay.TupleGetItem(pair, 0) * relay.const(2.0), relay.TupleGetItem(pair, 0)])
    made = run_infer_type(gradient(relay.Function([pair, other], body)))

    _, ((first, second), unread) = run(made, (np.ones(2, "float32"),) * 2, np.ones(3, "float32"))

    np.testing.assert_array_equal(first, [3, 3])
    np.testing.assert_array_equal(second, [0, 0])
    np.testing.assert_array_equal(unread, [0, 0, 0])


def test_the_gradient_inlines_functions_of_the_module() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    double, twice = relay.GlobalVar("double"), relay.GlobalVar("twice")
    mod = tvm.IRModule({double: relay.Function([x], x + x), twice: relay.Function([y], double(double(y)))})
    mod["other"] = gradient(twice, mod)

    _, (found,) = relay.create_executor("debug", mod).evaluate(mod["other"])(np.ones(2, "float32"))
    _, (all_found,) = relay.create_executor("debug", FirstOrderGradient()(mod)).evaluate(twice)(
        np.ones(2, "float32")
    )

    np.testing.assert_array_equal(found, [4, 4])
    np.testing.assert_array_equal(all_found, [4, 4])


def test_max_pool_gradient_goes_to_the_first_of_equal_elements() -> None:
    x = relay.var("x", shape=(1, 1, 2, 3))
    _, (found,) = run(
        gradient(relay.Function([x], relay.nn.max_pool2d(x, (2, 2)))), np.zeros((1, 1, 2, 3), "f4")
    )

    np.testing.assert_array_equal(found[0, 0], [[1, 1, 0], [0, 0, 0]])


def test_an_operator_without_a_gradient_is_named() -> None:
    x = relay.var("x", shape=(1, 1, 4, 4))
    scaled = relay.Function([x], relay.nn.lrn(x))
    with pytest.raises(UnsupportedError, match=r"gradient: there is no rule for nn\.lrn"):
        gradient(scaled)
    with pytest.raises(
        ConfigError, match="gradient: mode is 'third_order', expected higher_order or first_order"
    ):
        gradient(scaled, mode="third_order")
    rounded = relay.Function([x], relay.floor(x) * relay.cast(relay.less(x, x), "float32"))
    assert not run(gradient(rounded), np.ones((1, 1, 4, 4), "float32"))[1][0].any()


def test_check_grad_compares_gradients_with_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = relay.var("x", shape=(2,), dtype="float64"), relay.var("y", shape=(2,), dtype="float64")
    function = relay.Function([x, y], relay.exp(x) * y)
    inputs = [np.ones(2), np.full(2, 3.0)]

    check_grad(function)
    check_grad(function, inputs, test_inputs=inputs[1:])
    with pytest.raises(InputError, match="check_grad: test_inputs are not all among inputs"):
        check_grad(function, inputs, test_inputs=[np.ones(2)])
    wrong = lambda call, g: [g]  # noqa: E731
    monkeypatch.setitem(relay.transform.gradient.__globals__["_RULES"], "exp", wrong)
    with pytest.raises(AssertionError):
        check_grad(function, inputs)
