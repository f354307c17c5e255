"""Weights of few bits by plain rules: errors of at most half a step, tails, what is refused, what stays."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Function, Module, constant
from tvmlite.relay.quantize.weight_only import weight_only


def dense(weight: np.ndarray) -> Module:
    x = relay.var("x", shape=("n", weight.shape[1]))
    return Module({"main": Function((x,), relay.nn.dense(x, constant(weight)))})


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def held(module: Module, depth: int) -> np.ndarray:
    """The weight that a layer multiplies with."""
    return np.asarray(interpret(module, [np.eye(depth, dtype="float32")])).T


def scales_of(module: Module) -> np.ndarray:
    body = module.main.body
    assert isinstance(body, Call)
    assert isinstance(body.args[2], Constant)
    return body.args[2].data


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("count", "depth", "group"), [(5, 64, 32), (7, 75, 32), (3, 10, 16), (1500, 40, 8)])
def test_elements_are_off_by_half_a_step_or_one(
    count: int, depth: int, group: int, bits: int, symmetric: bool
) -> None:
    weight = normal(count, depth)

    made = weight_only(dense(weight), bits, group, symmetric=symmetric)

    scales = scales_of(made)
    assert (scales.dtype, scales.shape) == (np.float16, (count, -(-depth // group)))
    steps = np.abs(np.repeat(scales.astype("float32"), group, axis=1)[:, :depth])
    assert (np.abs(held(made, depth) - weight) <= steps * 1.01).all()
    assert (np.abs(held(made, depth) - weight) <= steps * 0.51).mean() > 0.95


def test_the_compiled_layer_is_that_of_its_rounded_weight() -> None:
    module = weight_only(dense(normal(100, 75)), 4, 32)
    data = normal(6, 75, seed=1)

    np.testing.assert_allclose(tvmlite.compile(module)(data), data @ held(module, 75).T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("transposed", [True, False])
def test_products_of_matrices_are_layers_too(transposed: bool) -> None:
    weight = normal(6, 32)
    x = relay.var("x", shape=(2, 32))
    matrix = constant(weight if transposed else np.ascontiguousarray(weight.T))
    product = relay.nn.matmul(x, matrix, transpose_b=transposed)

    made = weight_only(Function([x], product), 8, 16)

    data = normal(2, 32, seed=2)
    np.testing.assert_allclose(np.asarray(interpret(made, [data])), data @ weight.T, atol=0.2)
    assert "nn.matmul" not in str(made)


def test_a_weight_of_two_layers_is_held_once() -> None:
    x, weight = relay.var("x", shape=(2, 32)), constant(normal(32, 32))
    module = weight_only(Function([x], relay.nn.dense(relay.nn.dense(x, weight), weight)))

    outer = module.main.body
    assert isinstance(outer, Call)
    assert isinstance(outer.args[0], Call)
    assert outer.args[1:] == outer.args[0].args[1:]


def test_zeros_stay_zeros_and_large_scales_floats() -> None:
    assert not held(weight_only(dense(np.zeros((3, 32), "float32"))), 32).any()
    assert scales_of(weight_only(dense(normal(3, 32) * 1e7))).dtype == np.float32


def test_what_has_no_weight_of_floats_stays_the_same_object() -> None:
    x, y = relay.var("x", shape=(2, 32)), relay.var("y", shape=(4, 32))
    module = Module({"main": Function((x, y), relay.nn.dense(x, y))})

    assert weight_only(module) is module
    small = dense(normal(4, 32))
    assert weight_only(small, least=129) is small


def test_wrong_options_and_weights_are_refused() -> None:
    module = dense(normal(4, 32))
    with pytest.raises(InputError, match="bits is 3, expected 4 or 8"):
        weight_only(module, 3)
    with pytest.raises(InputError, match="group is 5, expected codes of 4 bits that fill whole bytes"):
        weight_only(module, 4, 5)
    with pytest.raises(InputError, match="a str given, expected a relay module or function"):
        weight_only("model")  # type: ignore[arg-type]
    weight = normal(4, 32)
    weight[1, 2] = np.nan
    with pytest.raises(InputError, match=r"a weight of nn\.dense has elements that are not finite"):
        weight_only(dense(weight))


def test_quantize_has_a_mode_for_weights_alone() -> None:
    x = relay.var("x", shape=(2, 64))
    weight = np.random.default_rng(0).standard_normal((48, 64)).astype("float32")
    module = relay.Module.from_expr(relay.Function((x,), relay.nn.dense(x, relay.const(weight))))

    made = relay.quantize(module, mode="weight_only", bits=4, group=16)

    assert alike(made.module.main.body, weight_only(module, 4, 16).main.body)
    (row,) = made.report.layers
    assert (row.precision, row.weights) == ("int4", 48 * 64)
    assert "1 of 1 layers in int4" in str(made)
    assert made.report.bytes_after < made.report.bytes_before / 6


def test_weights_alone_take_no_data_and_other_modes_no_bits() -> None:
    x = relay.var("x", shape=(2, 64))
    module = relay.Module.from_expr(relay.Function((x,), relay.nn.relu(x)))
    with pytest.raises(InputError, match="mode='weight_only' takes no data"):
        relay.quantize(module, [np.ones((2, 64), "float32")], mode="weight_only")
    with pytest.raises(
        InputError, match="mode='weight_only' takes no smooth: nothing but weights is rounded"
    ):
        relay.quantize(module, mode="weight_only", smooth=0.5)
    with pytest.raises(InputError, match="no layer that can be quantized"):
        relay.quantize(module, mode="weight_only")
    with pytest.raises(InputError, match="bits is 4, expected 8"):
        relay.quantize(module, mode="dynamic", bits=4)
