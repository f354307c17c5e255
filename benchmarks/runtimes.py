"""The runtimes that people deploy models with, each as a function that runs one model once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import onnx

from tvmlite.commands.bench import onnxruntime_session
from tvmlite.samples import TOLERANCE, relative_gap

Run: TypeAlias = Callable[[], list[np.ndarray]]


def peers(
    model: onnx.ModelProto,
    inputs: Mapping[str, np.ndarray],
    threads: int,
    exact: bool = True,
    with_torch: bool = False,
) -> dict[str, Run]:
    """A run of ``model`` on ``inputs`` in each peer that is installed: onnxruntime first, always in float32.

    ``with_torch``: ``torch.compile`` as well, which takes half a minute for a model, and whose answer is
    compared with onnxruntime's.
    ``exact``: OpenVINO computes in float32, too; else in what it chooses for this processor, which is
    printed. One process measures one number of threads: OpenVINO keeps to the first it was given.
    """
    data = model.SerializeToString()
    session = onnxruntime_session(data, threads)
    runs: dict[str, Run] = {"onnxruntime": lambda: session.run(None, dict(inputs))}
    if with_torch:
        runs["torch"] = _torch(model, inputs, threads, runs["onnxruntime"]())
    try:
        import openvino
    except ImportError:
        print("openvino is not installed: its column stays empty", file=sys.stderr)
        return runs
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    if exact:
        settings["INFERENCE_PRECISION_HINT"] = "f32"
    compiled = core.compile_model(core.read_model(data, b""), "CPU", settings)
    if not exact:
        print(f"    openvino computes in {compiled.get_property('INFERENCE_PRECISION_HINT').get_type_name()}")
    request = compiled.create_infer_request()
    runs["openvino"] = lambda: list(request.infer(dict(inputs), share_inputs=True).values())
    return runs


def _torch(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], threads: int, want: list[np.ndarray]
) -> Run:
    """``torch.compile``'s run of ``model``, once it has given ``want``."""
    from torch_peer import compiled

    run = compiled(model, inputs, threads)
    gap = max(relative_gap(a, b) for a, b in zip(run(), want, strict=True))
    assert gap <= TOLERANCE, f"torch's answer is off by {gap:.1e}"
    return run
