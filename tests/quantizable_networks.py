"""Small networks for tests of quantization, and data for them."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make


def weights(*shape: int, seed: int = 7) -> Constant:
    """Random weights that depend on ``shape`` and ``seed`` alone."""
    return constant(np.random.default_rng([seed, *shape]).standard_normal(shape), "float32")


def conv(data: Expr, weight: Constant, **attrs: object) -> Call:
    return make("nn.conv2d", data, weight, **attrs)


def relu(data: Expr) -> Call:
    return make("nn.relu", data)


def module_of(body: Expr, *params: Expr) -> Module:
    return Module({"main": Function(params, body)})  # type: ignore[arg-type]


def residual() -> Module:
    """A convolution, a pooling, and a block with a sum."""
    x = var("x", (1, 3, 16, 16))
    stem = relu(make("add", conv(x, weights(8, 3, 3, 3), padding=(1, 1, 1, 1)), weights(8, 1, 1)))
    pooled = make("nn.max_pool2d", stem, pool_size=(2, 2), strides=(2, 2))
    block = conv(pooled, weights(8, 8, 3, 3), padding=(1, 1, 1, 1))
    joined = relu(make("add", block, pooled))
    return module_of(conv(joined, weights(8, 8, 1, 1)), x)


def images(count: int = 10, shape: tuple[int, ...] = (1, 3, 16, 16)) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    return [{"x": rng.standard_normal(shape).astype(np.float32)} for _ in range(count)]
