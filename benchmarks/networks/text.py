"""Trained models of the package rapidocr-onnxruntime that detect, rotate and read text.

Their sizes are symbolic; here they have typical values: a page of 480 by 640 pixels, a line of 320.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import onnx

SIZES = {"det": (1, 3, 480, 640), "rec": (1, 3, 48, 320), "cls": (1, 3, 48, 192)}
"""The shapes of the images for the detector, the reader and the classifier."""


def text_models() -> dict[str, Callable[[], onnx.ModelProto]]:
    """The models by name, ``ocr_det``, ...; empty if the package is not installed."""
    found = find_spec("rapidocr_onnxruntime")  # only its files are read; it is not imported
    if found is None or not found.submodule_search_locations:
        return {}
    folder = Path(found.submodule_search_locations[0]) / "models"
    return {f"ocr_{kind}": partial(_of_size, folder, kind) for kind in SIZES}


def _of_size(folder: Path, kind: str) -> onnx.ModelProto:
    """The model of a ``kind`` with a fixed input shape."""
    model = onnx.load(next(folder.glob(f"*_{kind}_infer.onnx")))
    for dim, extent in zip(model.graph.input[0].type.tensor_type.shape.dim, SIZES[kind], strict=True):
        dim.dim_value = extent
    return model
