"""Trained and zoo models on the numpy interpreter, each at several sizes, against onnxruntime."""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

sys.path.insert(0, str(Path(__file__).parents[2]))
import models

OCR = ("p2o.DynamicDimension.0", "p2o.DynamicDimension.1", "p2o.DynamicDimension.2")


def check(model, *sizes) -> None:
    proto = onnx.load(model) if isinstance(model, Path) else model
    module = from_onnx(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    for seed, dims in enumerate(sizes):
        feeds = models.inputs_for(proto, seed, dims)
        made = interpret(module, feeds)
        results = made if isinstance(made, tuple) else (made,)
        for got, want in zip(results, session.run(None, feeds), strict=True):
            assert got.dtype == want.dtype
            assert got.shape == want.shape
            assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()
            assert want.std() > 1e-3


def test_text_encoder_at_two_lengths() -> None:
    check(
        models.minilm(layers=2, hidden=96, heads=4), {"batch": 2, "sequence": 17}, {"batch": 1, "sequence": 5}
    )


def test_magika_at_two_batch_sizes() -> None:
    check(models.magika_model(), {"unk__214": 1}, {"unk__214": 3})


def test_text_classifier_at_two_sizes() -> None:
    path = models.ocr_models()["cls"]
    check(path, {"x_dim0": 1, "x_dim2": 48, "x_dim3": 192}, {"x_dim0": 2, "x_dim2": 48, "x_dim3": 96})


def test_text_detector_at_two_sizes() -> None:
    sizes = [dict(zip(OCR, size, strict=True)) for size in ((1, 160, 192), (2, 64, 96))]
    check(models.ocr_models()["det"], *sizes)


def test_text_recognizer_at_two_widths() -> None:
    sizes = [{OCR[0]: n, "x_dim2": 48, OCR[1]: w} for n, w in ((1, 160), (2, 64))]
    check(models.ocr_models()["rec"], *sizes)


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_a_zoo_graph_with_random_weights(name) -> None:
    check(models.light_model(name), {})


@pytest.mark.slow
@pytest.mark.parametrize("name", models.light_models())
def test_every_zoo_graph_is_imported(name) -> None:
    assert len(from_onnx(models.light_model(name)).main.params) == 1
