"""``LambdaLift``: functions inside functions become functions of the module, which computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.tvm import relay
from tvmlite.tvm.relay import transform

DATA = np.array([1, 2], "float32")

CALLED = """
  %0 = fn (%y: Tensor[(2), float32]) { %y * %y };
  %0(%x)
"""
READS_OUTSIDE = """
  let %f = fn (%y: Tensor[(2), float32]) { %y + exp(%x) };
  %f(%x)
"""
GIVES_A_FUNCTION = """
  let %outer = fn (%y: Tensor[(2), float32]) { fn (%z: Tensor[(2), float32]) { %z - %y } };
  let %f = %outer(%x);
  %f(2f * %x)
"""
CALLS_ITSELF = """
  let %f = fn (%n: int32, %s: Tensor[(2), float32]) {
    if (%n == 0) { %s } else { %f(%n - 1, %s + %x) }
  };
  %f(3, %x)
"""
CALLS_ITSELF_ALONE = """
  let %f = fn (%n: int32, %s: Tensor[(2), float32]) { if (%n == 0) { %s } else { %f(%n - 1, %s + %s) } };
  %f(3, %x)
"""


@pytest.mark.parametrize(
    ("body", "functions", "closures", "wanted"),
    [
        (CALLED, 2, 0, DATA**2),
        (READS_OUTSIDE, 2, 1, DATA + np.exp(DATA)),
        (GIVES_A_FUNCTION, 3, 1, DATA),
        (CALLS_ITSELF, 2, 1, 4 * DATA),
        (CALLS_ITSELF_ALONE, 2, 0, 8 * DATA),
    ],
)
def test_inner_functions_become_functions_of_the_module(
    body: str, functions: int, closures: int, wanted: Any
) -> None:
    mod = tvm.parser.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {{ {body} }}')

    lifted = transform.LambdaLift()(mod)

    assert len(lifted.functions) == functions
    assert str(lifted).count("Closure=1") == closures
    inside = [one.body if isinstance(one.body, relay.Function) else one for one in lifted.functions.values()]
    assert all("fn (%" not in str(one.body) for one in inside)
    found = relay.create_executor("debug", lifted).evaluate()(DATA)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_fused_groups_and_plain_modules_are_not_lifted() -> None:
    plain = tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,))))
    for mod in (plain, transform.FuseOps()(plain)):
        tvm.ir.assert_structural_equal(transform.LambdaLift()(mod), transform.InferType()(mod))


def test_lifted_functions_get_new_names() -> None:
    mod = tvm.parser.parse(
        f'#[version = "0.0.5"]\ndef @lifted_name0(%x: Tensor[(2), float32]) {{ {CALLED} }}'
    )

    names = [var.name for var in transform.LambdaLift()(mod).functions]

    assert names == ["lifted_name0", "lifted_name1"]
