"""A self-test uses inputs whose results do not depend on the summation order."""

from __future__ import annotations

import numpy as np

from tvmlite import relay
from tvmlite.model import self_test
from tvmlite.model.example_inputs import TOLERANCE
from tvmlite.relay.ir.nodes import Function
from tvmlite.relay.ir.random_inputs import random_inputs


def rounded(bias: np.ndarray) -> Function:
    """A dense layer whose results are rounded to integers."""
    weight = np.random.default_rng(0).standard_normal((4, 64)).astype("float32")
    x = relay.var("x", shape=(1, 64))
    sums = relay.add(relay.nn.dense(x, relay.const(weight)), relay.const(bias))
    return Function((x,), relay.round(sums))


def half_way(seed: int) -> Function:
    """``rounded`` with a bias such that the inputs of ``seed`` give a sum halfway between two integers."""
    (x,), _ = random_inputs(rounded(np.zeros(4, "float32")), seed)
    assert isinstance(x, np.ndarray)
    weight = np.random.default_rng(0).standard_normal((4, 64)).astype("float32")
    bias = np.zeros(4, "float32")
    bias[2] = 5.5 - (x @ weight.T)[0, 2]
    return rounded(bias)


def test_inputs_at_rounding_boundaries_are_left_out() -> None:
    main = half_way(seed=0)

    found = self_test.cases(main)

    wanted = [random_inputs(main, seed)[0][0] for seed in (1, 2)]
    for case, x in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(case.inputs[0], x)
    assert self_test.tolerance(found) == TOLERANCE


def test_the_tolerance_grows_if_all_inputs_are_at_boundaries() -> None:
    x = relay.var("x", shape=(3,))
    halves = relay.add(
        relay.multiply(x, relay.const(np.float32(0))), relay.const(np.array([0.5, 1, 30], np.float32))
    )

    found = self_test.cases(Function((x,), relay.round(halves)))

    assert self_test.tolerance(found) == 4 * 1 / 30


def test_inputs_of_a_plain_sum_are_unchanged() -> None:
    x = relay.var("x", shape=(1, 4))
    main = Function((x,), relay.nn.dense(x, relay.const(np.ones((2, 4), "float32"))))

    found = self_test.cases(main)

    assert [case.sensitivity for case in found] == [0, 0]
    np.testing.assert_array_equal(found[1].inputs[0], random_inputs(main, 1)[0][0])
