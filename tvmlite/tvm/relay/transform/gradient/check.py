"""``check_grad``: compares gradients with finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.relay.ir.types import TensorType
from tvmlite.runtime.ndarray import cpu
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.transform.gradient.reverse import gradient
from tvmlite.tvm.relay.transform.infer_type import typed

_create_executor = later("relay.build_module", "create_executor")


def check_grad(
    func: Any,
    inputs: Sequence[Any] | None = None,
    test_inputs: Sequence[Any] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Sequence[tuple[Any, Any]] | None = None,
    executor_kind: str = "debug",
) -> None:
    """Compare the gradients of ``func`` with central differences of step ``eps``; a mismatch is an
    AssertionError. By default, ``inputs`` are normally distributed with ``mean`` and standard deviation
    ``scale`` (``10 * eps``). Only the gradients of ``test_inputs`` are checked: arrays of ``inputs``."""
    forward = typed(IRModule.from_expr(func))["main"]
    backward = gradient(forward, mode=mode)
    width = 10 * eps if scale is None else scale
    if inputs is None:
        inputs = [_drawn(param.type, width, mean) for param in forward.params]
    looked_at = inputs if test_inputs is None else test_inputs
    places = [next((n for n, one in enumerate(inputs) if one is given), None) for given in looked_at]
    if None in places:
        raise InputError("check_grad: test_inputs are not all among inputs", Span.of_caller())
    for target, device in target_devices or [("llvm", cpu(0))]:
        executor = _create_executor(executor_kind, device=device, target=target)
        run = executor.evaluate(forward)
        _, gradients = executor.evaluate(backward)(*inputs)
        for place, given in zip(places, looked_at, strict=True):
            found = np.asarray(gradients[place], np.float64)
            np.testing.assert_allclose(found, _differences(run, inputs, given, eps), rtol=rtol, atol=atol)


def _drawn(type_: Any, width: float, mean: float) -> np.ndarray:
    assert isinstance(type_, TensorType)
    shape: Any = type_.shape
    return np.asarray(mean + np.random.standard_normal(shape) * width, type_.dtype)


def _differences(run: Any, inputs: Sequence[Any], given: np.ndarray, eps: float) -> np.ndarray:
    """The central difference of the result's sum for each element of ``given``, one of ``inputs``."""
    found = np.zeros(given.shape)
    for place in np.ndindex(*given.shape):
        before = given[place]
        values = []
        for moved in (before + eps, before - eps):
            given[place] = moved
            values.append(np.asarray(run(*inputs), np.float64))
        given[place] = before
        found[place] = np.sum(values[0] - values[1]) / (2 * eps)
    return found
