"""The runtimes to compare with, each as a function that runs one model once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import onnx

from tvmlite.commands.peers.runtimes import onnxruntime_session
from tvmlite.model.example_inputs import TOLERANCE, relative_gap

Run: TypeAlias = Callable[[], list[np.ndarray]]


def peers(
    model: onnx.ModelProto,
    inputs: Mapping[str, np.ndarray],
    threads: int,
    exact: bool = True,
    with_torch: bool = False,
) -> dict[str, Run]:
    """A run of ``model`` on ``inputs`` in each peer that is installed: onnxruntime first, always in float32.

    ``with_torch``: include ``torch.compile``, which takes half a minute for a model, and whose result is
    compared with onnxruntime's. ``exact``: OpenVINO also computes in float32; otherwise in the precision that
    it chooses for this processor, which is printed. A process must use only one number of threads: OpenVINO
    keeps the first that it gets.
    """
    data = model.SerializeToString()
    runs: dict[str, Run] = {"onnxruntime": onnxruntime_runs(data, threads)(inputs)}
    if with_torch:
        runs["torch"] = _torch(model, inputs, threads, runs["onnxruntime"]())
    try:
        runs["openvino"] = openvino_runs(data, threads, exact)(inputs)
    except ImportError:
        print("openvino is not installed: its column stays empty", file=sys.stderr)
    return runs


def onnxruntime_runs(model: str | bytes, threads: int) -> Callable[[Mapping[str, np.ndarray]], Run]:
    """A function from inputs to a run of ``model`` (a path or the bytes of a file) in onnxruntime."""
    session = onnxruntime_session(model, threads)
    return lambda inputs: lambda: session.run(None, dict(inputs))


def openvino_runs(
    model: str | bytes, threads: int, exact: bool = True
) -> Callable[[Mapping[str, np.ndarray]], Run]:
    """The same for OpenVINO; ``exact`` is as for ``peers``."""
    import openvino  # an optional extra

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    if exact:
        settings["INFERENCE_PRECISION_HINT"] = "f32"
    read = core.read_model(model) if isinstance(model, str) else core.read_model(model, b"")
    compiled = core.compile_model(read, "CPU", settings)
    if not exact:
        print(f"    openvino computes in {compiled.get_property('INFERENCE_PRECISION_HINT').get_type_name()}")
    request = compiled.create_infer_request()
    return lambda inputs: lambda: list(request.infer(dict(inputs), share_inputs=True).values())


def _torch(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], threads: int, want: list[np.ndarray]
) -> Run:
    """A run of ``model`` by ``torch.compile``, after a check that its result is ``want``."""
    from torch_peer import compiled

    run = compiled(model, inputs, threads)
    gap = max(relative_gap(a, b) for a, b in zip(run(), want, strict=True))
    assert gap <= TOLERANCE, f"torch's answer is off by {gap:.1e}"
    return run
