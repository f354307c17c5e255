"""``FoldScaleAxis``: which scales by channel are folded, which are kept, and that results are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.tvm import relay
from tvmlite.tvm.relay.testing import run_opt_pass
from tvmlite.tvm.relay.transform import BackwardFoldScaleAxis, FoldScaleAxis, ForwardFoldScaleAxis, InferType

X, W = relay.var("x", shape=(2, 4, 5, 5)), relay.var("w", shape=(4, 4, 3, 3))
D, V = relay.var("d", shape=(3, 4)), relay.var("v", shape=(6, 4))
S = np.linspace(0.5, 2, 6, dtype=np.float32)
SCALE, NEGATIVE = relay.const(S[:4].reshape(4, 1, 1)), relay.const(-S[:4].reshape(4, 1, 1))
BIAS = relay.var("b", shape=(4, 1, 1))
FLAT = relay.squeeze(SCALE, axis=[1, 2])
UNITS, ROW = relay.const(S), relay.const(S[:4])
BY_CHANNEL, AGAIN = (relay.expand_dims(FLAT, axis=1, num_newaxis=2) for _ in range(2))


def conv(x: Any, w: Any) -> Any:
    return relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3), padding=1)


def by_output(w: Any) -> Any:
    return w * relay.expand_dims(FLAT, axis=1, num_newaxis=3)


def of(expr: Any) -> Any:
    return run_opt_pass(relay.Function(relay.analysis.free_vars(expr), expr), InferType())


def values(function: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    arrays = {
        param.name_hint: rng.normal(size=tuple(param.checked_type.shape)).astype(np.float32)
        for param in function.params
    }
    return relay.create_executor("debug").evaluate(function)(**arrays).numpy()


Y = conv(X, W)
RELU = relay.nn.relu


@pytest.mark.parametrize(
    ("fold", "before", "after"),
    [
        (BackwardFoldScaleAxis, Y * SCALE, conv(X, by_output(W))),
        (BackwardFoldScaleAxis, SCALE * RELU(Y), RELU(conv(X, by_output(W)))),
        (BackwardFoldScaleAxis, (Y - BIAS) * SCALE, conv(X, by_output(W)) - BIAS * BY_CHANNEL),
        (BackwardFoldScaleAxis, relay.nn.dense(D, V) * UNITS, None),
        (BackwardFoldScaleAxis, RELU(Y) * relay.const(2.0), None),
        (ForwardFoldScaleAxis, conv(X * SCALE, W), conv(X, W * BY_CHANNEL)),
        (ForwardFoldScaleAxis, conv(RELU(X * SCALE), W), conv(RELU(X), W * BY_CHANNEL)),
        (
            ForwardFoldScaleAxis,
            conv(X * SCALE + BIAS, W),
            conv(X + relay.divide(BIAS, AGAIN), W * BY_CHANNEL),
        ),
        (ForwardFoldScaleAxis, relay.nn.dense(D * ROW, V), relay.nn.dense(D, V * ROW)),
        (FoldScaleAxis, conv(X * SCALE, W) * SCALE, None),
    ],
)
def test_a_scale_is_folded_into_the_weights(fold: Any, before: Any, after: Any) -> None:
    given = of(before)

    made = run_opt_pass(given, [fold()])

    if after is not None:
        tvm.ir.assert_structural_equal(made, of(after))
    assert not tvm.ir.structural_equal(made, given)
    np.testing.assert_allclose(values(made), values(given), rtol=1e-4, atol=1e-5)


SHARED = X * SCALE


@pytest.mark.parametrize(
    "kept",
    [
        RELU(Y) * NEGATIVE,  # the sign decides what is 0
        RELU(Y) * relay.var("s", shape=(4, 1, 1)),
        Y * SCALE + Y,  # the product has other readers
        relay.tanh(Y) * SCALE,
        Y * relay.var("s", shape=(1, 5)),  # along another axis
        conv(RELU(X * NEGATIVE), W),
        conv(SHARED, W) + SHARED,
        conv(relay.tanh(X * SCALE), W),
    ],
)
def test_other_scales_are_not_folded(kept: Any) -> None:
    given = of(kept)

    for fold in (BackwardFoldScaleAxis, ForwardFoldScaleAxis):
        assert run_opt_pass(given, fold()) is given


def test_scales_around_a_depthwise_convolution_are_folded() -> None:
    x, w = relay.var("x", shape=(1, 5, 5, 4)), relay.var("w", shape=(3, 3, 4, 1))
    layouts = {
        "data_layout": "NHWC",
        "kernel_layout": "HWOI",
        "channels": 4,
        "kernel_size": (3, 3),
        "groups": 4,
    }
    given = of(relay.nn.conv2d(x * ROW, w, **layouts) * ROW)

    made = run_opt_pass(given, [FoldScaleAxis()])

    names: list[str] = []
    relay.analysis.post_order_visit(
        made.body, lambda one: names.append(one.op.name) if isinstance(one, relay.Call) else None
    )
    assert names[-1] == "nn.conv2d"
    np.testing.assert_allclose(values(made), values(given), rtol=1e-4, atol=1e-5)
