"""A case compiled once and run at its sizes, compared with the graph interpreter, which is numpy alone."""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TvmliteError
from tvmlite.driver import compile
from tvmlite.fuzz.expected.check import Wrong
from tvmlite.fuzz.symbolic.case import Case, named
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.ir.types import Binding, TensorType, evaluate_shape

TOLERANCE = 2e-3
"""Relative to the largest magnitude of a float result; 8-bit integers may differ by one step."""


def check(case: Case) -> int:
    """Compile and run ``case``; return the number of runs.

    Raise Wrong for any error and any wrong result: the interpreter can run the graph of every case.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a template that does not fit is a fault, though only a warning
            compiled = compile(case.module)
    except (TvmliteError, UserWarning) as error:
        raise Wrong("compile", type(error).__name__, str(error)) from error
    runs = 0
    for binding in case.runs:
        arguments = arguments_at(case.module, binding)
        wanted = _flat(interpret(case.module, arguments))
        try:
            got = _flat(compiled(*arguments))
        except TvmliteError as error:
            raise Wrong("run", type(error).__name__, f"{named(binding)}: {error}") from error
        for number, (want, given) in enumerate(zip(wanted, got, strict=True)):
            _compare(f"output {number} at {named(binding)}", want, given)
        runs += 1
    return runs


def arguments_at(module: Module, binding: Binding) -> list[np.ndarray]:
    """Return seeded arguments of ``module``, with its dimensions as in ``binding``; integers are small."""
    data = np.random.default_rng(zlib.crc32(repr(sorted(binding.values())).encode()))
    found = []
    for param in module.main.params:
        assert isinstance(param.type, TensorType)
        shape, dtype = evaluate_shape(param.type.shape, binding), param.type.dtype
        if dtypes.is_float(dtype):
            made = data.standard_normal(shape)
        else:
            low, high = {"bool": (0, 2), "int8": (-9, 9), "uint8": (0, 20)}.get(dtype, (0, 9))
            made = data.integers(low, high, shape)
        found.append(made.astype(dtype))
    return found


def _compare(what: str, wanted: np.ndarray, given: np.ndarray) -> None:
    if wanted.shape != given.shape or wanted.dtype != given.dtype:
        text = f"{what} is {given.dtype}{given.shape}, expected {wanted.dtype}{wanted.shape}"
        raise Wrong("run", "type", text)
    if not wanted.size:
        return
    want, have = wanted.astype(np.float64), given.astype(np.float64)
    largest = float(np.abs(want[np.isfinite(want)]).max(initial=0.0))
    allowed = TOLERANCE * largest + 1e-5 if dtypes.is_float(str(wanted.dtype)) else _step(str(wanted.dtype))
    with np.errstate(invalid="ignore"):
        apart = ~((np.abs(want - have) <= allowed) | (want == have) | (np.isnan(want) & np.isnan(have)))
    if apart.any():
        place = tuple(int(n) for n in np.argwhere(apart)[0])
        text = (
            f"{what}: {apart.sum()} of {apart.size} elements; {given[place]} at {place}, not {wanted[place]}"
        )
        raise Wrong("run", "value", text)


def _step(dtype: str) -> int:
    """Return the allowed difference of integers: 8-bit ones are rounded floats."""
    return 1 if dtype in ("int8", "uint8") else 0


def _flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [one for field in value for one in _flat(field)]
    return [np.asarray(value)]
