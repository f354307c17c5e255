"""Other runtimes, each as a function that runs one model once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core.errors import InputError, UnsupportedError

Run: TypeAlias = Callable[[], list[np.ndarray]]
"""Run once and return the outputs in order."""


def onnxruntime_session(model: str | bytes, threads: int) -> Any:
    """Return an onnxruntime session on the CPU with ``threads`` threads."""
    try:
        import onnxruntime  # an optional extra: only comparisons need it
    except ImportError:
        raise UnsupportedError("onnxruntime is not installed", hint="pip install onnxruntime") from None
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def _onnxruntime(model: str | bytes, threads: int, inputs: Sequence[np.ndarray]) -> Run:
    session = onnxruntime_session(model, threads)
    names = [one.name for one in session.get_inputs()]
    _check("onnxruntime", names, inputs)
    feed = dict(zip(names, inputs, strict=True))
    return lambda: session.run(None, feed)


def _openvino(model: str | bytes, threads: int, inputs: Sequence[np.ndarray]) -> Run:
    """In float32 unless the model says otherwise, as all others."""
    try:
        import openvino  # an optional extra: only comparisons need it
    except ImportError:
        raise UnsupportedError("openvino is not installed", hint="pip install openvino") from None
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    settings["INFERENCE_PRECISION_HINT"] = "f32"
    read = core.read_model(model) if isinstance(model, str) else core.read_model(model, b"")
    compiled = core.compile_model(read, "CPU", settings)
    _check("openvino", compiled.inputs, inputs)
    request = compiled.create_infer_request()
    feed = dict(enumerate(inputs))
    return lambda: [np.asarray(one) for one in request.infer(feed, share_inputs=True).values()]


def _check(peer: str, wanted: Sequence[object], inputs: Sequence[np.ndarray]) -> None:
    if len(wanted) != len(inputs):
        raise InputError(f"{peer}: its model has {len(wanted)} inputs, ours {len(inputs)}")


PEERS: Mapping[str, Callable[[str | bytes, int, Sequence[np.ndarray]], Run]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}
"""Functions from a model (a path or the bytes of a file), a number of threads and the inputs in order to a
``Run``."""
