"""Hints for files of other frameworks, which have to be exported to ONNX first."""

from __future__ import annotations

from pathlib import Path

_TORCH = "torch.onnx.export(model, (example_input,), 'model.onnx') in PyTorch writes an ONNX file"
_TENSORFLOW = "python -m tf2onnx.convert writes an ONNX file (pip install tf2onnx)"

_EXPORTERS = {
    ".pt": _TORCH,
    ".pth": _TORCH,
    ".pt2": _TORCH,
    ".ckpt": _TORCH,
    ".safetensors": f"these are weights without a graph: load them into the model; {_TORCH}",
    ".h5": _TENSORFLOW,
    ".keras": _TENSORFLOW,
    ".pb": _TENSORFLOW,
    ".tflite": _TENSORFLOW,
    ".pdmodel": "paddle2onnx --model_dir FOLDER --save_file model.onnx writes an ONNX file",
    ".mlmodel": "coremltools and onnxmltools convert Core ML models",
    ".pkl": "skl2onnx converts models of scikit-learn",
    ".xml": "this may be OpenVINO's form of a model: give the ONNX file it was made of",
    ".ort": "this is ONNX Runtime's own form of a model: give the ONNX file it was made of",
    ".so": "a compiled library is run by `tvmlite run`, or loaded by tvmlite.runtime.load",
    ".wasm": "tvmlite.js runs WebAssembly, in a page or Node.js; `tvmlite inspect` says what is in it",
    ".tar": "an archive has code to be linked into a program; `tvmlite inspect` says what is in it",
    ".a": "a static library is linked into a program: cc main.c model.a -lm -lpthread",
    ".o": "an object is linked into a program: cc main.c model.o -lm -lpthread",
}
"""The hint for a file with each ending."""


def how_to_export(name: str) -> str | None:
    """Return how to convert the file ``name``, not an ONNX model, to one; None for an unknown ending."""
    return _EXPORTERS.get(Path(name).suffix.lower())
