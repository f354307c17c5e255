"""Counts of n-grams, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

POOL = {
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 1, 2, 3],
    "ngram_counts": [0, 4, 10],
    "ngram_indexes": [0, 1, 2, 3, 6, 5, 4, 8],
    "min_gram_length": 1,
    "max_gram_length": 3,
    "max_skip_count": 0,
    "mode": "TF",
}


def model_of(shape: list[Any], **attrs: Any) -> Any:
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **{**POOL, **attrs})
    given = helper.make_tensor_value_info("x", TensorProto.INT64, shape)
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [given], [made])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"max_skip_count": 5},
        {"min_gram_length": 2, "max_gram_length": 2, "max_skip_count": 2},
        {"max_gram_length": 1},
        {"mode": "IDF", "weights": [0.5, 1, 2, 3, 4, 5, 6, 7]},
        {"mode": "TFIDF", "weights": [0.5, 1, 2, 3, 4, 5, 6, 7], "max_skip_count": 1},
    ],
)
@pytest.mark.parametrize("shape", [[12], [5, 12], [2, 2]])
def test_counts_equal_onnxruntimes(attrs: dict[str, Any], shape: list[int]) -> None:
    model = model_of(shape, **attrs)
    x = np.random.default_rng(0).integers(1, 9, shape)
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    np.testing.assert_allclose(interpret(from_onnx(model), [x]), session.run(None, {"x": x})[0])


def test_the_number_of_rows_may_be_dynamic() -> None:
    x = np.random.default_rng(0).integers(1, 9, (7, 12))

    made = interpret(from_onnx(model_of(["n", 12])), [x])

    np.testing.assert_array_equal(made, interpret(from_onnx(model_of([7, 12])), [x]))


@pytest.mark.parametrize(
    ("attrs", "text"),
    [
        ({"mode": "odd"}, "mode is 'odd', expected one of TF, IDF, TFIDF"),
        ({"ngram_indexes": [0, 1]}, "2 ngram_indexes for 8 n-grams"),
        ({"weights": [1.0]}, "1 weights for 8 n-grams"),
        ({"ngram_counts": [0, 4, 9]}, "ngram_counts are .* of a pool of 13"),
    ],
)
def test_invalid_tables_are_refused(attrs: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelError, match=text):
        from_onnx(model_of([12], **attrs))


def test_a_dynamic_row_length_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="rows of dynamic length n"):
        from_onnx(model_of(["n"]))
