"""Models constructed for demonstrations."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import ModelError
from tvmlite.relay.onnx import light_models as zoo


def test_log_mel_front_end_equals_numpys() -> None:
    model = zoo.log_mel(seconds=0.1)
    onnx.checker.check_model(model)
    (bands,) = (numpy_helper.to_array(one) for one in model.graph.initializer if one.name == "bands")
    samples = np.random.default_rng(1).standard_normal(1600)

    lib = tvmlite.compile(relay.frontend.from_onnx(model))
    (found,) = lib(samples.astype(np.float32)[None, None])

    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    frames = np.stack([samples[start : start + 400] * hann for start in range(0, 1201, 160)])
    power = np.abs(np.fft.rfft(frames)) ** 2
    np.testing.assert_allclose(found, np.log(bands @ power.T + 1e-6), rtol=1e-4)
    assert lib.kernel_labels[0].endswith("fourier/Conv 1x402x8")


def test_an_unknown_graph_name_gets_a_suggestion() -> None:
    with pytest.raises(
        ModelError, match=r"(?s)no graph 'light_resnet5' .*at .*hint: did you mean light_resnet50"
    ):
        zoo.light_model("light_resnet5")
