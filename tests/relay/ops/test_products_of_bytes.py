"""Batched byte matrix products: int32 sums, exact for extreme values, on every target."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Function, Module, var
from tvmlite.relay.ir.op import make


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=haswell", "c"])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize(
    "kinds", [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"), ("int8", "uint8")]
)
def test_batched_byte_products_are_exact(kinds: tuple[str, str], transposed: bool, target: str) -> None:
    source = np.random.default_rng(0)
    shapes = (3, 5, 70), (3, 33, 70) if transposed else (3, 70, 33)
    variables = [var(name, shape, kind) for name, shape, kind in zip("ab", shapes, kinds, strict=True)]
    product = make("nn.batch_matmul", *variables, transpose_b=transposed, out_dtype="int32")
    module = Module({"main": Function(tuple(variables), product)})
    compiled = tvmlite.compile(module, target)
    for ends in (False, True):
        given = []
        for shape, kind in zip(shapes, kinds, strict=True):
            limits = [np.iinfo(kind).min, np.iinfo(kind).max]
            values = (
                source.choice(limits, shape) if ends else source.integers(limits[0], limits[1] + 1, shape)
            )
            given.append(values.astype(kind))
        a, b = (one.astype(np.int64) for one in given)
        expected = np.einsum("bik,bjk->bij" if transposed else "bik,bkj->bij", a, b)
        np.testing.assert_array_equal(interpret(module, given), expected)
        np.testing.assert_array_equal(compiled(*given), expected)
