"""Gelu in float32 by one exponential: the documented error bound, and extreme values."""

import math

import numpy as np
import pytest

from tvmlite.driver import compile
from tvmlite.relay.ir.nodes import Function, Module, var
from tvmlite.relay.ir.op import make

TARGETS = ("native", "llvm -mcpu=x86-64", "c")


def gelu(values: np.ndarray, target: str) -> np.ndarray:
    x = var("x", values.shape)
    return compile(Module({"main": Function((x,), make("nn.gelu", x))}), target=target)(values)


@pytest.mark.parametrize("target", TARGETS)
def test_gelu_error_is_within_the_documented_bound(target: str) -> None:
    x = np.concatenate([np.linspace(-9, 9, 30_001), np.linspace(-0.01, 0.01, 2_001)]).astype("float32")
    true = np.array([0.5 * float(v) * math.erfc(-float(v) / math.sqrt(2)) for v in x])

    error = np.abs(gelu(x, target).astype("float64") - true)

    assert (error <= 9e-8 * np.abs(x)).all()
    near = x > -1
    assert (error[near] <= 2.5 * np.spacing(np.abs(true[near]).astype("float32"))).all()
    tail = (x < -2) & (x > -4)
    assert (error[tail] <= 1e-4 * np.abs(true[tail])).all(), "no digits left of 1 + erf"


@pytest.mark.parametrize("target", TARGETS)
def test_gelu_is_right_at_extreme_values(target: str) -> None:
    huge = float(np.finfo("float32").max)
    given = np.array([0.0, -0.0, 20.0, -20.0, huge, -huge, math.inf, math.nan], "float32")

    made = gelu(given, target)

    right = np.array([0, 0, 20, 0, huge, 0, math.inf, math.nan], "float32")
    np.testing.assert_allclose(made, right, rtol=0, atol=2e-37)  # the smallest normal number is about 1.2e-38
