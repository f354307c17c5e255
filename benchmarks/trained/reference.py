"""The reference results of ONNX Runtime, and their sensitivity: no model must be more exact than that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from trained.answers import TOLERANCE, Arrays, as_array, gap, save
from trained.events import first_line, say

PERTURBATION, WEIGHT_PERTURBATION = 1e-5, 1e-6
"""The relative changes of inputs and weights with which the sensitivity of the reference is measured."""


def reference_run(job: Mapping[str, Any]) -> None:
    """Create inputs, and write them and ONNX Runtime's results to the files ``inputs`` and ``answers``."""
    import onnx

    from trained.inputs import made_inputs
    from trained.listing import Hint
    from tvmlite.commands.peers.runtimes import onnxruntime_session

    model = onnx.load(job["path"], load_external_data=False)
    say(job, "model", quantized=is_quantized(model.graph), nodes=len(model.graph.node))
    try:
        session = onnxruntime_session(job["path"], 1)
        sets = made_inputs(model, Hint(**job["hint"]))
        answers = _answers(session, sets)
        again = _answers(session, sets)
        others = _other_answers(job["path"], model, session, sets)
    except Exception as error:  # any exception means that ONNX Runtime refuses this model
        say(job, "refused by ONNX Runtime", why=first_line(error))
        return
    if any(gap(a, b) > TOLERANCE for a, b in zip(answers, again, strict=True)):
        say(job, "not reproducible", why="two runs of ONNX Runtime differ: the model draws random numbers")
        return
    save(job["inputs"], sets)
    save(job["answers"], answers)
    shapes = [{name: list(array.shape) for name, array in one.items()} for one in sets]
    sensitivity = max(gap(a, b) for other in others for a, b in zip(other, answers, strict=True))
    say(job, "reference run", shapes=shapes, sensitivity=sensitivity)


def _answers(session: Any, sets: Arrays) -> Arrays:
    """The results of ``session`` for each set, by name."""
    names = [one.name for one in session.get_outputs()]
    return [dict(zip(names, map(as_array, session.run(None, one)), strict=True)) for one in sets]


def _other_answers(path: str, model: Any, session: Any, sets: Arrays) -> list[Arrays]:
    """The results with changed inputs, without optimizations, and with changed weights."""
    from tvmlite.commands.peers.runtimes import onnxruntime_session

    made = [_answers(session, [perturbed(one) for one in sets]), _answers(_unoptimized(path), sets)]
    if not any(one.external_data for one in model.graph.initializer):
        perturb_weights(model)
        made.append(_answers(onnxruntime_session(model.SerializeToString(), 1), sets))
    return made


def perturb_weights(model: Any) -> None:
    """Change the floats of ``model`` by about ``WEIGHT_PERTURBATION`` of their values, except whole
    numbers."""
    from onnx import numpy_helper

    for one in model.graph.initializer:
        changed = _perturbed_array(numpy_helper.to_array(one), WEIGHT_PERTURBATION)
        one.CopyFrom(numpy_helper.from_array(changed, one.name))


def _unoptimized(path: str) -> Any:
    """A session of ONNX Runtime without optimizations, which computes node by node."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])


def perturbed(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """``inputs`` with floats changed by about ``PERTURBATION`` of their values, except arrays of whole
    numbers."""
    return {name: _perturbed_array(one, PERTURBATION) for name, one in inputs.items()}


def _perturbed_array(array: np.ndarray, relative_change: float) -> np.ndarray:
    """``array`` times nearly one; unchanged if all are whole numbers, which may be ids or sizes."""
    if array.dtype not in (np.float32, np.float64) or not (array != np.rint(array)).any():
        return array
    changed = array * (1 + relative_change * np.random.default_rng(1).standard_normal(array.shape))
    return np.asarray(changed, array.dtype)


def is_quantized(graph: Any) -> bool:
    """Whether anything in ``graph`` or its subgraphs computes on, or rounds to, small integers."""
    for node in graph.node:
        if re.search(r"Quantize|QLinear|Integer|^QGemm|^QAttention", node.op_type):
            return True
        if any(is_quantized(sub) for one in node.attribute for sub in (one.g, *one.graphs)):
            return True
    return False
