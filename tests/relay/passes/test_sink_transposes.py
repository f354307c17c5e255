"""Transposes after convolutions are moved down until they cancel, and results are unchanged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.passes.simplify.simplify_expr import simplify_expr
from tvmlite.relay.passes.sink_transposes import sink_transposes
from tvmlite.relay.passes.write_out import write_out

RANDOM = np.random.default_rng(5)
NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}


def conv(x: relay.Expr, outputs: int) -> relay.Expr:
    inputs = relay.type_of(x).shape[3]
    weight = relay.const(RANDOM.standard_normal((3, 3, inputs, outputs)).astype(np.float32))
    return relay.nn.conv2d(x, weight, padding=1, **NHWC)


def operators_of(module: relay.Module) -> list[str]:
    return [str(one.op) for one in postorder(module.main.body) if isinstance(one, relay.Call)]


X = relay.var("x", shape=(2, 6, 5, 3))
BIAS = relay.const(np.arange(4, dtype=np.float32))
V = relay.var("v", shape=(4,))
FULL = relay.const(RANDOM.standard_normal((6, 5, 4)).astype(np.float32))

TAILS: dict[str, Callable[[relay.Expr], relay.Expr]] = {
    "an activation": lambda y: relay.nn.leaky_relu(y, 0.1),
    "a constant along the channels": lambda y: relay.add(y, BIAS),
    "a vector along the channels": lambda y: relay.multiply(y, V),
    "a whole constant": lambda y: relay.add(FULL, y),
    "a number": lambda y: relay.maximum(y, relay.const(0.5)),
    "itself": lambda y: relay.add(y, relay.nn.relu(y)),
    "padding": lambda y: relay.nn.pad(y, ((0, 0), (1, 2), (0, 3), (0, 1))),
    "joined channels": lambda y: relay.concatenate([y, relay.nn.relu(y)], axis=3),
    "a mean that keeps axes": lambda y: relay.mean(y, axis=(1, 2), keepdims=True),
}


@pytest.mark.parametrize("tail", TAILS)
def test_the_epilogue_is_computed_before_the_transpose(tail: str) -> None:
    made = TAILS[tail](conv(X, 4))
    module = relay.Module.from_expr(relay.Function([X, V], made))
    values = [RANDOM.standard_normal(s).astype(np.float32) for s in ((2, 6, 5, 3), (4,))]

    after = sink_transposes(write_out(module))

    assert operators_of(after)[-1] == "transpose"
    np.testing.assert_allclose(interpret(after, values), interpret(module, values), rtol=1e-5, atol=1e-5)


def test_transposes_between_convolutions_cancel() -> None:
    y = relay.nn.relu(relay.nn.bias_add(conv(X, 4), BIAS, axis=3))
    z = relay.add(relay.nn.relu(conv(y, 4)), y)
    z = relay.mean(relay.nn.max_pool2d(z, (2, 2), (2, 2), layout="NHWC"), axis=(1, 2))
    module = relay.Module.from_expr(relay.Function([X], z))
    value = RANDOM.standard_normal((2, 6, 5, 3)).astype(np.float32)

    after = simplify_expr(sink_transposes(relay.transform.CanonicalizeOps()(write_out(module))))

    weights = 2
    assert operators_of(after).count("transpose") == 1 + weights
    np.testing.assert_allclose(interpret(after, [value]), interpret(module, [value]), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tvmlite.compile(module)(value), interpret(module, [value]), rtol=1e-4)


def test_a_mean_that_changes_the_order_of_axes_is_transposed() -> None:
    made = relay.mean(conv(X, 4), axis=1)
    module = relay.Module.from_expr(relay.Function([X], made))
    value = RANDOM.standard_normal((2, 6, 5, 3)).astype(np.float32)

    after = sink_transposes(write_out(module))

    assert operators_of(after)[-2:] == ["mean", "transpose"]
    np.testing.assert_allclose(interpret(after, [value]), interpret(module, [value]), rtol=1e-5, atol=1e-5)


def test_a_transpose_stays_if_another_tensor_would_need_one() -> None:
    other = relay.var("other", shape=(2, 6, 5, 4))
    module = write_out(relay.Module.from_expr(relay.Function([X, other], relay.add(conv(X, 4), other))))

    assert sink_transposes(module) is module


def test_a_normalization_along_channels_stays_after_the_transpose() -> None:
    y = conv(X, 4)
    moved = relay.subtract(y, relay.mean(y, axis=-1, keepdims=True))
    module = write_out(relay.Module.from_expr(relay.Function([X], relay.nn.softmax(moved))))

    assert sink_transposes(module) is module


def test_a_transpose_of_the_model_itself_is_left_unchanged() -> None:
    x = relay.var("x", shape=(2, 3, 4))
    module = relay.Module.from_expr(relay.nn.relu(relay.transpose(x, (0, 2, 1))))

    assert sink_transposes(module) is module
