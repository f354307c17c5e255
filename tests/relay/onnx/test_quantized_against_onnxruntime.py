"""Random nodes with quantized operators are bit-exact with onnxruntime: interpreted, compiled to LLVM and C.

Where onnxruntime's own kernels differ by processor, or use a transcendental function, a few results may
be one step off (``STEPS_OFF``):

- QLinearAdd: with AVX2 it multiplies and adds with one rounding, with SSE with two, with NEON in fixed point.
  tvmlite computes the documented formula, ``(a_scale (a - a_zero) + b_scale (b - b_zero)) / scale``.
- QLinearSigmoid and QLinearSoftmax: their ``exp`` differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from quantized_cases import CASES, Case, Source

import tvmlite
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.interpret import interpret

STEPS_OFF = {"QLinearAdd", "QLinearSigmoid", "QLinearSoftmax"}


def expected(case: Case) -> list[np.ndarray]:
    """Return onnxruntime's results for ``case`` without graph rewrites."""
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = case.model().SerializeToString()
    session = onnxruntime.InferenceSession(data, settings, ["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return session.run(None, dict(zip(names, case.given(), strict=True)))


def check(case: Case, made: Any, wanted: list[np.ndarray], how: str) -> None:
    for got, want in zip(made if isinstance(made, (tuple, list)) else [made], wanted, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if case.op_type in STEPS_OFF:
            off = np.abs(got.astype(int) - want.astype(int))
            assert off.max(initial=0) <= 1, how
            assert np.count_nonzero(off) <= 1 + off.size // 200, how
        else:
            np.testing.assert_array_equal(got, want, how)


@pytest.mark.parametrize("op_type", CASES)
def test_interpreted_nodes_equal_onnxruntime_bit_for_bit(op_type: str) -> None:
    for seed in range(25):
        case = CASES[op_type](Source(seed))
        check(case, interpret(from_onnx(case.model()), case.given()), expected(case), f"seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "seeds"), [("native", range(100, 108)), ("c", range(100, 102))])
@pytest.mark.parametrize("op_type", CASES)
def test_compiled_nodes_equal_onnxruntime_bit_for_bit(op_type: str, target: str, seeds: range) -> None:
    """There are fewer seeds for C, as compiling one takes half a second."""
    for seed in seeds:
        case = CASES[op_type](Source(seed))
        made = tvmlite.compile(from_onnx(case.model()), target)(*case.given())
        check(case, made, expected(case), f"seed {seed}")
