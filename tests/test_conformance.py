"""ONNX's own node tests, compiled and run: most pass, none is wrong, none crashes.

The tests are dealt out in parts, so that several processes can share them; the part that is done last adds
up what all have passed.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_backend
import pytest
from onnx import helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError

FEWEST = 0.95
"""The share of the node tests that pass: of onnx 1.23's, 1,791 of 1,884."""

NOISE = {"test_dft_inverse": 1e-5, "test_dft_inverse_opset19": 1e-5}
"""Tests that expect the rounding errors of one algorithm where the value is 0: how far off they may be."""

PARTS = 12


@cache
def _cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # building the tests' own expectations divides by zero
        return sorted(load_model_tests(kind="node"), key=lambda case: case.name)


def _verdict(case: Any) -> str:
    """``pass``, ``unsupported``, or a description of the failure."""
    try:
        model = onnx_backend.TvmliteBackend.prepare(case.model)
        for inputs, expected in case.data_sets:
            _compare(model.run(list(map(_array, inputs))), expected, case)
    except UnsupportedError:
        return "unsupported"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "pass"


def _compare(made: list[np.ndarray], expected: list[Any], case: Any) -> None:
    assert len(made) == len(expected), f"{len(made)} outputs, expected {len(expected)}"
    for got, want in zip(made, map(_array, expected), strict=True):
        if isinstance(want, list):
            assert isinstance(got, list), f"a {type(got).__name__}, expected a list"
            _compare(got, want, case)
            continue
        assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
        assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
        rtol = case.rtol
        if got.dtype.name == "bfloat16":  # eight bits of fraction: two roundings apart
            rtol, got, want = max(rtol, 2**-6), got.astype(np.float32), want.astype(np.float32)
        elif dtypes.is_narrow(got.dtype.name):
            got, want = got.astype(np.float32), want.astype(np.float32)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=NOISE.get(case.name, case.atol))


def _array(value: Any) -> Any:
    """A value as an array, a list of them, or None; some tests give a TensorProto."""
    if value is None or isinstance(value, list):
        return value
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_onnx_node_test_fails_and_most_pass(part: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    verdicts = {case.name: _verdict(case) for case in _cases()[part::PARTS]}

    by_verdict = Counter("wrong" if v not in ("pass", "unsupported") else v for v in verdicts.values())
    counts = _all_counts(by_verdict, part, tmp_path_factory.getbasetemp())
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict not in ("pass", "unsupported")}
    assert not wrong, "\n".join(f"{name}: {verdict[:300]}" for name, verdict in wrong.items())
    assert counts is None or counts["pass"] >= FEWEST * len(_cases()), counts


def _all_counts(counts: Counter[str], part: int, folder: Path) -> Counter[str] | None:
    """The counts of all parts, once the last of them is done; processes of one run share a folder."""
    shared = folder.parent if folder.name.startswith("popen-") else folder
    (shared / f"conformance-{part}.json").write_text(json.dumps(counts))
    done = sorted(shared.glob("conformance-*.json"))
    if len(done) < PARTS:
        return None
    return sum((Counter(json.loads(path.read_text())) for path in done), Counter())


def test_a_single_node_runs_without_a_model() -> None:
    x, y = np.array([1, -2, 3], np.float32), np.array([[4], [5]], np.float32)

    (made,) = onnx_backend.TvmliteBackend.run_node(helper.make_node("Sub", ["x", "y"], ["z"]), [x, y])

    np.testing.assert_array_equal(made, x - y)


def test_the_backend_supports_only_the_cpu() -> None:
    assert onnx_backend.TvmliteBackend.supports_device("CPU")
    assert not onnx_backend.TvmliteBackend.supports_device("CUDA")
