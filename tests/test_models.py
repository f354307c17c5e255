"""Compiled models compared with onnxruntime: zoo graphs, trained models, an encoder with open sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import models
import numpy as np
import onnx
import onnxruntime
import pytest

from tvmlite import runtime
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx

TOLERANCE = 1e-4
"""The largest difference allowed, relative to the output's largest magnitude."""

LARGE = ("bvlc_alexnet", "resnet50")
LARGEST = ("densenet121", "inception_v2", "vgg19", "zfnet512")
MARKS = {
    **{name: [pytest.mark.slow] for name in LARGE},
    **{name: [pytest.mark.slow, pytest.mark.exhaustive] for name in LARGEST},
}
"""Zoo graphs with many weights or many layers."""

Dims = Mapping[str, int]

pytestmark = pytest.mark.usefixtures("threads")


def _expected(model: onnx.ModelProto | Path, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    data = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
    return [np.asarray(one) for one in session.run(None, dict(feeds))]


def _assert_right(made: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float) -> None:
    assert len(made) == len(expected)
    for got, want in zip(made, expected, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        assert want.std() > 1e-3, "an answer that is the same everywhere proves nothing"
        gap = np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
        assert gap <= tolerance, f"differs by {gap:.1e} of the largest value"


def _check(
    model: onnx.ModelProto | Path,
    sizes: Sequence[Dims],
    target: str = "native",
    tolerance: float = TOLERANCE,
) -> None:
    """Check that one library is right at each of ``sizes`` on one and on two threads."""
    lib = compile(from_onnx(model), target)
    for seed, dims in enumerate(sizes):
        feeds = models.inputs_for(model, seed, dims)
        expected = _expected(model, feeds)
        for threads in (1, 2):
            runtime.set_num_threads(threads)
            _assert_right(list(lib.run(feeds).values()), expected, tolerance)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=MARKS.get(name, [])) for name in models.light_models()],
)
def test_a_zoo_graph_matches_onnxruntime(name: str) -> None:
    _check(models.light_model(name), [{}])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_a_zoo_graph_compiled_to_c_matches_onnxruntime(name: str) -> None:
    _check(models.light_model(name), [{}], target="c")


def _batch_and_image(batch: int, height: int, width: int) -> Dims:
    """The names the OCR models have for the extents of their images."""
    by_position = {"x_dim0": batch, "x_dim2": height, "x_dim3": width}
    names = (f"p2o.DynamicDimension.{number}" for number in range(3))
    return by_position | dict(zip(names, (batch, height, width), strict=True))


@pytest.mark.slow
def test_the_text_detector_matches_onnxruntime_at_two_sizes() -> None:
    # Its last sigmoid amplifies rounding: onnxruntime with and without its optimizations differs by
    # 1.8e-4 at the first size, so about twice that is allowed.
    sizes = [_batch_and_image(1, 320, 320), _batch_and_image(2, 192, 416)]
    _check(models.ocr_models()["det"], sizes, tolerance=4e-4)


@pytest.mark.slow
def test_the_text_recogniser_matches_onnxruntime_at_two_widths() -> None:
    sizes = [
        {"p2o.DynamicDimension.0": batch, "x_dim2": 48, "p2o.DynamicDimension.1": width}
        for batch, width in ((1, 320), (3, 200))
    ]
    _check(models.ocr_models()["rec"], sizes)


@pytest.mark.parametrize(
    "target", ["native", pytest.param("c", marks=[pytest.mark.slow, pytest.mark.exhaustive])]
)
def test_the_text_classifier_matches_onnxruntime_at_two_sizes(target: str) -> None:
    sizes = [_batch_and_image(1, 48, 192), _batch_and_image(3, 48, 160)]
    _check(models.ocr_models()["cls"], sizes, target)


def test_the_file_type_model_matches_onnxruntime_at_two_batches() -> None:
    _check(models.magika_model(), [{"unk__214": 1}, {"unk__214": 5}])


def test_the_encoder_matches_onnxruntime_at_two_lengths() -> None:
    _check(models.minilm(), [{"batch": 1, "sequence": 16}, {"batch": 2, "sequence": 33}])
