"""``tvm.testing.check_numerical_grads``: compare derivatives with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import InputError

_STEPS = (1.0, 10.0, 0.1)
"""Factors of the step: larger ones reduce the rounding error, smaller ones that of curvature."""


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Any,
    grad_values: Any,
    function_value: Any = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Raise an AssertionError unless ``grad_values`` are the derivatives of the scalar ``function`` at
    ``input_values``, which are arrays in a list or by name. A list of derivatives may be shorter than that of
    the inputs. Each element is compared with finite differences for several steps around ``delta``, one of
    which must agree; ``function_value`` has no effect."""
    arguments.function("check_numerical_grads: function", function)
    named = isinstance(input_values, Mapping)
    keys = list(grad_values) if named else range(len(grad_values))
    values = {key: input_values[key] for key in (input_values if named else range(len(input_values)))}

    def call(at: Any, changed: np.ndarray) -> float:
        given = {**values, at: changed}
        return float(function(**given) if named else function(*given.values()))

    for key in keys:
        value, grad = np.asarray(values[key]), np.asarray(grad_values[key])
        if value.shape != grad.shape:
            raise InputError(
                f"check_numerical_grads: input {key!r} has shape {value.shape}, its derivative {grad.shape}"
            )
        for place in np.ndindex(value.shape):
            expected = float(grad[place])
            found = []
            for factor in _STEPS:
                ends = [value.copy(), value.copy()]
                ends[0][place] += delta * factor
                ends[1][place] -= delta * factor
                width = float(ends[0][place]) - float(ends[1][place])
                found.append((call(key, ends[0]) - call(key, ends[1])) / width)
                if abs(found[-1] - expected) <= atol + rtol * abs(found[-1]):
                    break
            else:
                raise AssertionError(
                    f"the derivative by {key!r} at {place} is {expected:g}, differences give "
                    f"{', '.join(f'{one:g}' for one in found)}"
                )
