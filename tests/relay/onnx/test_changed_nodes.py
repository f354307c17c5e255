"""ONNX's node tests with random changes: each gives a module or a TvmliteError."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

from tvmlite.core.errors import TvmliteError
from tvmlite.relay.onnx import from_onnx

MODELS = 600
EXTREMES = [0, -1, 1, 2, 7, -7, 100, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1]
DTYPES = [1, 2, 6, 7, 9, 10, 11, 16]


def changed_attribute(given: onnx.AttributeProto, random: np.random.Generator) -> None:
    kinds = onnx.AttributeProto
    match given.type:
        case kinds.INT:
            given.i = int(random.choice(EXTREMES))
        case kinds.INTS if len(given.ints):
            given.ints[random.integers(len(given.ints))] = int(random.choice(EXTREMES))
            del given.ints[random.integers(1, len(given.ints) + 1) :]
        case kinds.FLOAT:
            given.f = float(random.choice([0, -1, np.nan, np.inf, 1e30]))
        case kinds.STRING:
            given.s = b"nonsense"


def changed_type(given: Any, random: np.random.Generator) -> None:
    dims = given.shape.dim
    match random.integers(4):
        case 0 if len(dims):
            dims[random.integers(len(dims))].dim_value = int(random.choice([0, 1, 2, 3, 5, 100]))
        case 1 if len(dims):
            dims[random.integers(len(dims))].dim_param = "n"
        case 2:
            dims.add().dim_value = 2
        case _:
            given.elem_type = int(random.choice(DTYPES))


def changed(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    node = made.graph.node[random.integers(len(made.graph.node))]
    if node.attribute and random.random() < 0.4:
        changed_attribute(node.attribute[random.integers(len(node.attribute))], random)
    elif len(node.input) and random.random() < 0.4:
        node.input[random.integers(len(node.input))] = ""
    elif made.graph.input:
        chosen = made.graph.input[random.integers(len(made.graph.input))]
        changed_type(chosen.type.tensor_type, random)
    if random.random() < 0.3:
        made.opset_import[0].version = int(random.integers(7, 24))
    return made


def constants(case: Any, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the small integer inputs of a test as constants, some changed: they determine shapes."""
    found: dict[str, np.ndarray] = {}
    for info, value in zip(
        case.model.graph.input, case.data_sets[0][0] if case.data_sets else (), strict=False
    ):
        if isinstance(value, np.ndarray) and value.dtype.kind == "i" and 0 < value.size < 20:
            array = value.copy()
            if random.random() < 0.5:
                array.reshape(-1)[random.integers(array.size)] = random.choice([0, -1, 7, -7, 100])
            found[info.name] = array
    return found


@pytest.mark.slow
def test_a_mutated_node_is_imported_or_refused() -> None:
    random = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    counts = {True: 0, False: 0}
    for _ in range(MODELS):
        case = cases[random.integers(len(cases))]
        model, fixed = changed(case.model, random), constants(case, random)
        try:
            from_onnx(model, constants=fixed)
            counts[True] += 1
        except TvmliteError:
            counts[False] += 1
        except Exception as error:
            raise AssertionError(f"{case.name}, changed: {type(error).__name__}: {error}") from error
    assert min(counts.values()) > MODELS // 10, counts
