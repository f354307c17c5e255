"""Constants are arrays of any rank."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Constant, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.simplify.fold_scale_axis import fold_scale_axis


def test_a_numpy_scalar_becomes_a_constant_of_rank_0() -> None:
    product = np.ones((), "float32") * np.ones((), "float32")
    assert not isinstance(product, np.ndarray)

    made = Constant(product)  # type: ignore[arg-type]

    assert isinstance(made.data, np.ndarray)
    assert made.shape == ()
    assert made.dtype == "float32"


def test_a_pass_folds_constants_of_rank_0() -> None:
    x, weight = var("x", (2, 3)), constant(np.ones((4, 3), "float32"))
    dense = make("nn.dense", x, weight)
    body = make("multiply", make("add", dense, constant(np.float32(3))), constant(np.float32(2)))

    made = fold_scale_axis(Module({"main": Function((x,), body)})).main.body

    assert made is not body
