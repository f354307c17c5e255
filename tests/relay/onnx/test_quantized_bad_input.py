"""Invalid and unusual scales and zero points: an error that names the node, or onnxruntime's result."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from quantized_cases import MICROSOFT, Case

import tvmlite
from tvmlite.core.errors import ModelError
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.interpret import interpret

REALS = np.linspace(-3, 3, 13).astype(np.float32)
CODES = np.arange(12, dtype=np.uint8).reshape(3, 4)
WEIGHT = np.arange(-10, 10, dtype=np.int8).reshape(4, 5)
IMAGE = np.arange(150, dtype=np.uint8).reshape(2, 3, 5, 5)
KERNEL = np.arange(36, dtype=np.int8).reshape(4, 3, 3, 1)
STEP, NONE, SIGNED = np.float32(0.1), np.uint8(0), np.int8(0)


def case(op_type: str, *inputs: Any, data: int = 1, domain: str = "", **attrs: Any) -> Case:
    """Return a node whose inputs after the first ``data`` are constant."""
    arrays = [np.asarray(x) for x in inputs]
    return Case(op_type, arrays, range(data, len(arrays)), attrs, domain=domain)


def ones(count: int) -> np.ndarray:
    return np.ones(count, np.float32)


def product(scale: Any, zero: Any, out: Any = STEP, out_zero: Any = NONE) -> Case:
    return case("QLinearMatMul", CODES, STEP, NONE, WEIGHT, scale, zero, np.float32(out), out_zero)


def convolution(scale: np.ndarray, out: float = 0.3) -> Case:
    zero = np.zeros(scale.shape, np.int8)
    return case("QLinearConv", IMAGE, STEP, NONE, KERNEL, scale, zero, np.float32(out), np.uint8(70))


WRONG = [
    (product(ones(3), SIGNED), "QLinearMatMul: the scale of b has 3 numbers, expected 1 or 5"),
    (
        product(STEP, np.zeros(2, np.int8)),
        "QLinearMatMul: the zero point of b has 2 numbers, expected 1 or 5",
    ),
    (convolution(ones(3)), "QLinearConv: the scale of the weight has 3 numbers, expected 1 or 4"),
    (
        case("ConvInteger", IMAGE, KERNEL, NONE, np.zeros(3, np.int8)),
        "ConvInteger: the zero point of the weight has 3 numbers, expected 1 or 4",
    ),
    (
        case("MatMulInteger", CODES, WEIGHT, np.int8(1)),
        "MatMulInteger: inputs 'A' and 'a_zero_point' are uint8 and int8, expected one type",
    ),
    (
        case("QLinearMul", CODES, ones(4), NONE, CODES, STEP, NONE, STEP, NONE, domain=MICROSOFT),
        "QLinearMul: the scale of input 0 has 4 numbers, expected 1",
    ),
    (
        case("QLinearSigmoid", CODES, STEP, SIGNED, STEP, NONE, domain=MICROSOFT),
        "QLinearSigmoid: the zero point of input 0 is int8, expected uint8",
    ),
    (
        case("QLinearSigmoid", CODES, STEP, NONE, ones(2), NONE, domain=MICROSOFT),
        "QLinearSigmoid: the scale of the result has 2 numbers, expected 1",
    ),
    (
        case("QGemm", CODES, STEP, NONE, WEIGHT, ones(3), SIGNED, domain=MICROSOFT),
        "QGemm: the scale of b has 3 numbers, expected 1 or 5",
    ),
    (
        case("DynamicQuantizeMatMul", REALS[:12].reshape(3, 4), WEIGHT, STEP, NONE, domain=MICROSOFT),
        "DynamicQuantizeMatMul: the zero point of b is uint8, expected int8",
    ),
    (
        case("MatMulIntegerToFloat", CODES, WEIGHT, STEP, ones(4), domain=MICROSOFT),
        "MatMulIntegerToFloat: the scale of b has 4 numbers, expected 1 or 5",
    ),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[message for _, message in WRONG])
def test_error_names_the_node_with_invalid_parameters(given: Case, message: str) -> None:
    with pytest.raises(ModelError, match=rf'(?s)^{message}.*at quantized: node of output "y0"'):
        from_onnx(given.model())


STRANGE = [
    *(
        case("QuantizeLinear", REALS, np.float32(scale), np.uint8(3))
        for scale in (0, -0.1, np.nan, np.inf)
    ),
    *(case("DequantizeLinear", CODES, np.float32(scale), np.uint8(3)) for scale in (0, -0.1, np.inf)),
    product(STEP, SIGNED, out=0),
    product(np.float32(-0.1), SIGNED, out=0.3, out_zero=np.uint8(30)),
    convolution(np.zeros(4, np.float32)),
    convolution(ones(4), out=0),
    convolution(ones(4), out=-20),
]  # fmt: skip


@pytest.mark.parametrize("given", STRANGE, ids=lambda one: one.op_type)
def test_nonpositive_scales_give_onnxruntimes_results(given: Case) -> None:
    data = given.model().SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {session.get_inputs()[0].name: given.given()[0]})

    module = from_onnx(given.model())
    for made in (interpret(module, given.given()), tvmlite.compile(module)(*given.given())):
        np.testing.assert_array_equal(made, expected)
