"""``tvmlite quantize``: what it prints and writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import WEIGHTS, Run

from tvmlite import relay

pytestmark = pytest.mark.usefixtures("threads")


@pytest.fixture
def data(folder: Path) -> np.ndarray:
    """24 rows in ``calib.npz``."""
    rows = np.random.default_rng(0).standard_normal((24, 8)).astype(np.float32)
    np.savez(folder / "calib.npz", **{"in/x:0": rows})
    return rows


def test_a_model_is_quantized_and_the_library_run(tvmlite: Run, folder: Path, data: np.ndarray) -> None:
    np.savez(folder / "in.npz", **{"in/x:0": data[:4]})

    words = ("--calibration", "min_max", "--report", "q.html", "--no-measure")
    done = tvmlite("quantize", "fixed.onnx", "--data", "calib.npz", "-o", "q.so", *words)
    run = tvmlite("run", "q.so", "--inputs", "in.npz", "--outputs", "out.npz")

    assert done == (0, done.out, "")
    assert "1 of 1 layers in int8" in done.out
    assert "q.html: the report" in done.out
    assert "Quantization of fixed.onnx" in (folder / "q.html").read_text()
    assert run.status == 0
    expected = np.maximum(data[:4] @ WEIGHTS, 0)
    found = np.load(folder / "out.npz")["y"]
    assert 0 < np.abs(found - expected).max() < 0.03 * expected.max()


@pytest.mark.usefixtures("data")
def test_relay_text_and_json_are_written(tvmlite: Run, folder: Path) -> None:
    words = (
        "--data",
        "calib.npz",
        "-o",
        "q.relay",
        "--report",
        "q.json",
        "--max-drop",
        "0.01",
        "--print-time",
        "--no-measure",
    )
    done = tvmlite("quantize", "fixed.onnx", *words)

    assert done.status == 0
    assert "qnn.quantize" in str(relay.parse((folder / "q.relay").read_text()))
    report = json.loads((folder / "q.json").read_text())
    assert report["metric_before"] - report["metric_after"] <= 0.01
    assert len(report["latency"]) == 2


@pytest.mark.usefixtures("data")
def test_weight_only_quantization_with_4_bit_weights_and_int8_data(tvmlite: Run, folder: Path) -> None:
    words = ("--mode", "weight_only", "--bits", "4", "--group", "8", "--data-bits", "8")
    done = tvmlite("quantize", "fixed.onnx", "-o", "q.relay", *words, "--data", "calib.npz")

    assert done.status == 0
    assert "1 of 1 layers in int4, data int8" in done.out
    assert re.search(r"outputs: \d\d\.\d dB signal to noise", done.out)
    assert "data_bits=8" in (folder / "q.relay").read_text()


@pytest.mark.usefixtures("data")
def test_the_same_records_give_the_same_library(tvmlite: Run, folder: Path) -> None:
    words = ("quantize", "conv.onnx", "--data", "images.npz", "--records", "q.jsonl", "--threads", "1")
    rng = np.random.default_rng(0)
    np.savez(folder / "images.npz", x=rng.standard_normal((8, 16, 9, 10)).astype(np.float32))

    first = tvmlite(*words, "-o", "one.so")
    written = (folder / "q.jsonl").read_text()
    second = tvmlite(*words, "-o", "two.so")

    assert (first.status, second.status) == (0, 0)
    assert "int8 time" in first.out
    assert "a run: " in first.out
    assert len(written.splitlines()) == 2  # of the model and its layer
    assert (folder / "q.jsonl").read_text() == written
    assert first.out.replace("one.so", "two.so") == second.out
    assert (folder / "one.so").read_bytes() == (folder / "two.so").read_bytes()


@pytest.mark.usefixtures("data")
def test_missing_records_are_an_error_without_measurements(tvmlite: Run) -> None:
    words = ("quantize", "fixed.onnx", "--data", "calib.npz", "-o", "q.so")
    done = tvmlite(*words, "--no-measure", "--records", "q.jsonl")

    assert done.status == 1
    assert "--records q.jsonl: there is no such file" in done.err


@pytest.mark.usefixtures("data")
def test_a_quantized_model_is_compared_with_onnxruntimes(tvmlite: Run) -> None:
    words = ("--against", "onnxruntime", "--rounds", "1", "--no-measure")
    done = tvmlite("quantize", "fixed.onnx", "--data", "calib.npz", "-o", "q.so", *words)

    assert done.status == 0
    assert "quantized by tvmlite; for others by onnxruntime, on the same data" in done.out
    noise = {one: float(db) for one, db in re.findall(r"(\w+): outputs (\S+) dB signal to noise", done.out)}
    assert noise.keys() == {"tvmlite", "onnxruntime"}
    assert all(20 < db < 60 for db in noise.values())
    times = [line.split()[0] for line in done.out.splitlines()[-3:]]
    assert times == ["tvmlite", "tvmlite", "onnxruntime"]


def test_bfloat16_operands_are_compiled_and_reported(tvmlite: Run, folder: Path, data: np.ndarray) -> None:
    words = ("--mode", "bfloat16", "--no-measure", "--report", "q.html")
    done = tvmlite("quantize", "fixed.onnx", "--data", "calib.npz", "-o", "q.so", *words)
    np.savez(folder / "in.npz", **{"in/x:0": data[:4]})
    run = tvmlite("run", "q.so", "--inputs", "in.npz", "--outputs", "out.npz")

    assert (done.status, run.status) == (0, 0)
    assert "1 of 1 layers in bfloat16" in done.out
    assert "layers in bfloat16" in (folder / "q.html").read_text()
    expected = np.maximum(data[:4] @ WEIGHTS, 0)
    assert 0 < np.abs(np.load(folder / "out.npz")["y"] - expected).max() < 0.02 * expected.max()


def test_dynamic_quantization_needs_no_data(tvmlite: Run) -> None:
    assert tvmlite("quantize", "open model.onnx", "-o", "q.so", "--mode", "dynamic").status == 0


def test_quantization_annotations_are_shown(tvmlite: Run) -> None:
    assert "annotation.quantize(" in tvmlite("show", "fixed.onnx", "--pass", "quantize_annotate").out
