"""onnxruntime's quantizer, applied to the same model and data for comparison."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from tvmlite.core.errors import UnsupportedError

MODES = ("static", "dynamic")
"""The modes of ``quantize`` that it also has."""


def quantized_by_onnxruntime(
    model: Path, data: Iterable[Mapping[str, np.ndarray]], mode: str = "static"
) -> bytes:
    """Return the file ``model`` as onnxruntime quantizes it: QDQ, weights per channel, activations in uint8.

    The ranges are those of ``data``, inputs by name; in the dynamic mode they are those of each run, without
    data. An UnsupportedError if onnxruntime is not installed, or cannot quantize the model.
    """
    try:
        from onnxruntime import quantization  # an optional extra: only comparisons need it
        from onnxruntime.quantization.shape_inference import quant_pre_process
    except ImportError as error:
        raise UnsupportedError(
            f"onnxruntime's quantizer is not installed ({error})", hint="pip install onnxruntime onnx"
        ) from None

    class Examples(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self._left: Iterator[Mapping[str, np.ndarray]] = iter(data)

        def get_next(self) -> dict[str, np.ndarray] | None:
            """Return the inputs of the next run; None after the last."""
            found = next(self._left, None)
            return None if found is None else dict(found)

    with tempfile.TemporaryDirectory() as folder:
        prepared, made = (str(Path(folder, name)) for name in ("prepared.onnx", "made.onnx"))
        try:
            quant_pre_process(str(model), prepared, skip_symbolic_shape=True)
            if mode == "dynamic":
                quantization.quantize_dynamic(prepared, made, per_channel=True)
            else:
                quantization.quantize_static(
                    prepared,
                    made,
                    Examples(),
                    quant_format=quantization.QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=quantization.QuantType.QUInt8,
                    weight_type=quantization.QuantType.QInt8,
                )
        except Exception as error:  # its errors have no common class
            raise UnsupportedError(f"onnxruntime's quantizer does not take {model}: {error}") from error
        return Path(made).read_bytes()
