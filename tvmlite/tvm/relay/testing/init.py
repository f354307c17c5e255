"""Initial weights of test networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.runtime.ndarray import NDArray
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.transform.infer_type import typed


class Initializer:
    """Initializes an array in place by the ending of its name; see ``__call__``."""

    def __call__(self, desc: str, arr: np.ndarray) -> None:
        """Set weights by the subclass, scales and variances to 1, and biases, shifts and means to 0."""
        for ending, value in (
            ("weight", None),
            ("bias", 0),
            ("gamma", 1),
            ("beta", 0),
            ("mean", 0),
            ("var", 1),
        ):
            if desc.endswith(ending):
                self._init_weight(desc, arr) if value is None else arr.fill(value)
                return
        self._init_default(desc, arr)

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        raise NotImplementedError(f"{type(self).__name__} sets no weights")

    def _init_default(self, name: str, arr: np.ndarray) -> None:
        raise ValueError(
            f"Unknown initialization pattern for {name}: names end in weight, bias, gamma, beta, mean, var"
        )


class Xavier(Initializer):
    """Random weights, uniform or Gaussian, scaled by the numbers of inputs and outputs (Xavier)."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        if rnd_type not in ("uniform", "gaussian") or factor_type not in ("in", "out", "avg"):
            raise ValueError(f"Xavier: rnd_type is {rnd_type!r} and factor_type {factor_type!r}")
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        if arr.ndim < 2:
            raise ValueError(f"Xavier: {name} has shape {arr.shape}, expected at least two axes")
        field = float(np.prod(arr.shape[2:]))
        inputs, outputs = arr.shape[1] * field, arr.shape[0] * field
        factor = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}[self.factor_type]
        scale = np.sqrt(self.magnitude / factor)
        gaussian = self.rnd_type == "gaussian"
        arr[:] = (
            np.random.normal(0, scale, arr.shape) if gaussian else np.random.uniform(-scale, scale, arr.shape)
        )


class Constant(Initializer):
    """Equal weights whose sum is 1."""

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        arr.fill(1 / arr.size)


def create_workload(net: Any, initializer: Any = None, seed: int = 0) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a network, and its parameters except ``data``, set by ``initializer`` (Xavier)."""
    mod = typed(IRModule.from_expr(net))
    np.random.seed(seed)
    initializer = initializer or Xavier()
    params: dict[str, NDArray] = {}
    for param in mod["main"].params:
        if param.name == "data":
            continue
        array = np.zeros(param.type.concrete_shape, dtype=param.type.dtype)
        initializer(param.name, array)
        params[param.name] = array.view(NDArray)
    return mod, params
