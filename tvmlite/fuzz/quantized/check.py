"""A case compiled for several processors and in C, run, and compared with the bounds of its results."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError
from tvmlite.driver import compile
from tvmlite.fuzz.expected.check import Wrong
from tvmlite.fuzz.quantized.bounds import Bounds, bounds
from tvmlite.fuzz.quantized.case import Case
from tvmlite.fuzz.quantized.graph import argument
from tvmlite.machine.target import Target
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.types import Binding, TensorType, evaluate_shape

NARROWER = "llvm -mcpu=haswell"
"""A processor with other instructions, whose code also runs on machines with AVX2."""


def targets(backends: Sequence[str]) -> list[str]:
    """Return the targets that this machine runs: itself, a processor with less, and C."""
    found = []
    if "llvm" in backends:
        native = Target.parse("native")
        found = ["native", *([NARROWER] if native.has("avx2") and native.has("fma") else [])]
    return [*found, *(["c"] if "c" in backends else [])]


def check(case: Case, names: Sequence[str]) -> int:
    """Compile ``case`` for each target in ``names`` and run it; return the number of runs.

    Raise Wrong for any error and any wrong result.
    """
    given = [arguments_at(case, binding) for binding in case.runs]
    allowed = [
        bounds(case.module, arguments, binding) for arguments, binding in zip(given, case.runs, strict=True)
    ]
    for arguments, wanted in zip(given, allowed, strict=True):
        _compare("interpreter", wanted, _flat(interpret(case.module, arguments)))
    runs = 0
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "error"
                )  # a template that does not fit is a fault, though only a warning
                compiled = compile(case.module, target=name)
        except (TvmliteError, UserWarning) as error:
            raise Wrong("compile", type(error).__name__, f"{name}: {error}") from error
        for arguments, wanted in zip(given, allowed, strict=True):
            try:
                got = _flat(compiled(*arguments))
            except TvmliteError as error:
                raise Wrong("run", type(error).__name__, f"{name}: {error}") from error
            _compare(name, wanted, got)
            runs += 1
    return runs


def arguments_at(case: Case, binding: Binding) -> list[np.ndarray]:
    """Return seeded arguments of the case's module, with its dimensions as in ``binding``."""
    source = np.random.default_rng(zlib.crc32(repr((sorted(binding.values()), case.kinds)).encode()))
    made = []
    for param in case.module.main.params:
        assert isinstance(param.type, TensorType)
        made.append(argument(source, evaluate_shape(param.type.shape, binding), param.type.dtype))
    return made


def _compare(name: str, wanted: Sequence[Bounds], given: Sequence[np.ndarray]) -> None:
    for number, (want, have) in enumerate(zip(wanted, given, strict=True)):
        if want.low.shape != have.shape:
            raise Wrong("run", "type", f"{name}: output {number} is {have.shape}, expected {want.low.shape}")
        value = have.astype(np.float64)
        apart = ~((want.low <= value) & (value <= want.high))
        if apart.any():
            place = tuple(int(n) for n in np.argwhere(apart)[0])
            text = (
                f"{name}: output {number}: {apart.sum()} of {apart.size} elements; {value[place]} at "
                f"{place}, expected {want.low[place]} to {want.high[place]}"
            )
            raise Wrong("run", "value", text)


def _flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [one for field in value for one in _flat(field)]
    return [np.asarray(value)]
