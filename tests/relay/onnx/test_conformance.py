"""ONNX's own node tests, run by a backend on the numpy interpreter: no result may be wrong."""

import warnings
from collections import Counter

import numpy as np
import onnx
import onnx_backend
import pytest
from onnx import numpy_helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.loader import load_model_tests

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Module
from tvmlite.relay.onnx import from_onnx

FEWEST = 1585
"""Node tests of onnx 1.23 that pass, of 1,884; a smaller onnx package has fewer."""

NOISE = {"test_dft_inverse": 1e-5, "test_dft_inverse_opset19": 1e-5}
"""Tolerances of tests that expect the rounding errors of one algorithm where the exact value is 0."""


class InterpreterBackend(Backend):
    """Import a model and evaluate it with the operators' numpy references."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: object) -> BackendRep:
        return InterpretedModel(model)


class InterpretedModel(BackendRep):
    """A model; inputs that determine shapes are fixed at each run if the import needs them."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.names = [i.name for i in model.graph.input]
        try:
            self.module = from_onnx(model)
            check_names(self.module)
        except UnsupportedError as error:
            if not any(words in error.message for words in onnx_backend.DEPENDS_ON_DATA):
                raise
            self.module = None

    def run(self, inputs: list[np.ndarray], **kwargs: object) -> list[np.ndarray]:
        fixed = {n: x for n, x in zip(self.names, inputs, strict=True) if x.ndim <= 1 and x.size <= 64}
        module = self.module
        if module is None:
            module = from_onnx(self.model, constants=fixed)
            inputs = [x for n, x in zip(self.names, inputs, strict=True) if n not in fixed]
        made = interpret(module, inputs)
        return list(made) if isinstance(made, tuple) else [made]


def check_names(module: Module) -> None:
    """Check that every call carries the name of the ONNX node that it was converted from: calls built by
    Python's operators in a converter would not."""
    for made in postorder(module.main.body):
        if isinstance(made, Call):
            assert made.span is not None
            assert made.span.note, f"{made.op} was made at {made.span}, not by its node: use node.make"


def _array(value) -> np.ndarray:
    """Return an expected value as an array; some tests give a TensorProto."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def _verdict(case) -> str:
    try:
        model = InterpreterBackend.prepare(case.model)
        for inputs, expected in case.data_sets:
            if not all(isinstance(x, np.ndarray | np.generic) for x in inputs):
                return "unsupported"
            made = model.run([np.asarray(x) for x in inputs])
            expected = [one for value in expected for one in (value if isinstance(value, list) else [value])]
            assert len(made) == len(expected)
            for got, want in zip(made, expected, strict=True):
                want = _array(want)
                assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
                assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
                wide = [a.astype(np.float32) if a.dtype.name == "bfloat16" else a for a in (got, want)]
                rtol = max(case.rtol, 2**-6) if got.dtype.name == "bfloat16" else case.rtol
                np.testing.assert_allclose(*wide, rtol=rtol, atol=NOISE.get(case.name, case.atol))
    except UnsupportedError:
        return "unsupported"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "pass"


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: _verdict(case) for case in load_model_tests(kind="node")}


@pytest.mark.slow
def test_no_node_test_fails_with_a_wrong_answer_or_foreign_error(verdicts) -> None:
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict not in ("pass", "unsupported")}

    assert not wrong, "\n".join(f"{name}: {verdict[:300]}" for name, verdict in wrong.items())


def test_most_node_tests_pass(verdicts) -> None:
    counts = Counter(verdicts.values())

    assert counts["pass"] >= min(FEWEST, 0.75 * len(verdicts)), counts
