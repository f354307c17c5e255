"""The runtimes that people deploy models with, each as a function that runs one model once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import onnx

from tvmlite.commands.bench import onnxruntime_session

Run: TypeAlias = Callable[[], list[np.ndarray]]


def peers(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], threads: int, exact: bool = True
) -> dict[str, Run]:
    """A run of ``model`` on ``inputs`` in each peer that is installed: onnxruntime first, always in float32.

    ``exact``: OpenVINO computes in float32, too; else in what it chooses for this processor, which is
    printed. One process measures one number of threads: OpenVINO keeps to the first it was given.
    """
    data = model.SerializeToString()
    session = onnxruntime_session(data, threads)
    runs: dict[str, Run] = {"onnxruntime": lambda: session.run(None, dict(inputs))}
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
