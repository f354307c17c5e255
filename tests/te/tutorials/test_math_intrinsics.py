"""Math functions: C functions by name, portable ones for all targets, and ones declared by the user."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import TensorExpressionError
from tvmlite.te.tensor import registry


def of_vector(function: Any) -> Any:
    A = te.placeholder((te.var("n"),), name="A")
    B = te.compute(A.shape, lambda i: function(A[i]), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], factor=8)[1])
    return s, [A, B]


def test_a_c_function_is_called_by_name(check: Any) -> None:
    s, args = of_vector(lambda x: te.call_pure_extern("float32", "expf", x))
    x = np.random.rand(21).astype("f4")
    check(s, args, [x], np.exp(x))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "sqrt", "erf", "floor", "cos"])
def test_one_name_works_for_all_targets(name: str, check: Any) -> None:
    s, args = of_vector(getattr(te, name))
    x = np.random.rand(21).astype("f4") + 0.1
    known: dict[str, Any] = {"sigmoid": lambda v: 1 / (1 + np.exp(-v)), "erf": np.vectorize(math.erf)}
    check(s, args, [x], (known.get(name) or getattr(np, name))(x))


def test_an_intrinsic_can_be_declared_by_the_user(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_rules", {})

    def softplus(x: Any) -> Any:
        return te.call_intrin("float32", "tir.softplus", x)

    @te.register_intrin_lowering("tir.softplus", target="default")
    def rule(call: Any) -> Any:
        assert call.name == "softplus"
        return te.log(te.exp(call.args[0]) + 1.0)

    s, args = of_vector(softplus)
    x = np.random.rand(21).astype("f4")
    check(s, args, [x], np.log1p(np.exp(x)))
    with pytest.raises(TensorExpressionError, match="for target 'cuda': rules are for all targets"):
        te.register_intrin_lowering("tir.softplus", target="cuda", f=rule)
