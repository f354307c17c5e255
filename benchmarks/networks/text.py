"""Trained models that find, turn and read text, as the package rapidocr-onnxruntime carries them.

Their sizes are open; here they are those of usual work: a page of 480 by 640 pixels, a line of 320.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import onnx

SIZES = {"det": (1, 3, 480, 640), "rec": (1, 3, 48, 320), "cls": (1, 3, 48, 192)}
"""The shape of the image that the detector, the reader and the classifier take."""


def text_models() -> dict[str, Callable[[], onnx.ModelProto]]:
    """The models by name, ``ocr_det``, ...: none where the package is not installed."""
    found = find_spec("rapidocr_onnxruntime")  # its files alone are read, it is not imported
    if found is None or not found.submodule_search_locations:
        return {}
    folder = Path(found.submodule_search_locations[0]) / "models"
    return {f"ocr_{kind}": partial(_of_size, folder, kind) for kind in SIZES}


def _of_size(folder: Path, kind: str) -> onnx.ModelProto:
    """The model of a ``kind``, its input's shape fixed."""
    model = onnx.load(next(folder.glob(f"*_{kind}_infer.onnx")))
    for dim, extent in zip(model.graph.input[0].type.tensor_type.shape.dim, SIZES[kind], strict=True):
        dim.dim_value = extent
    return model
