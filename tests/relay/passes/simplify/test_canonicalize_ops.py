"""Shorthand operators are replaced by others."""

import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Function, Module, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.simplify.canonicalize_ops import canonicalize_ops

x = var("x", (2, 3, "n"))


@pytest.mark.parametrize("axis", [1, -1])
def test_bias_add_becomes_an_addition(axis: int) -> None:
    bias = var("bias", (x.type.shape[axis],))
    expected = bias if axis == -1 else make("expand_dims", bias, axis=1, num_newaxis=1)
    before = Module({"main": Function((x, bias), make("nn.bias_add", x, bias, axis=axis))})
    after = canonicalize_ops(before)
    rng = np.random.default_rng(0)
    data = [rng.standard_normal(s).astype("float32") for s in ((2, 3, 4), (3 if axis == 1 else 4,))]

    assert alike(after.main.body, make("add", x, expected))
    np.testing.assert_array_equal(interpret(after, data), interpret(before, data))


def test_a_module_without_shorthands_is_left_unchanged() -> None:
    module = Module({"main": Function((x,), make("add", x, x))})

    assert canonicalize_ops(module) is module
