"""Fixtures that run functions of legal loop IR through LLVM with ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir

Run = Callable[..., int]
Elementwise = Callable[..., Any]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_CACHE", str(_cache(tmp_path_factory)))
    monkeypatch.delenv("TVMLITE_TARGET", raising=False)


def _cache(factory: pytest.TempPathFactory) -> Path:
    return factory.getbasetemp() / "objects"


@pytest.fixture
def native() -> Target:
    return Target.parse("native")


@pytest.fixture
def aligned() -> Callable[[Any], np.ndarray]:
    """``aligned(values)``: float32 values at an address aligned as workspaces and constants require."""

    def make(values: Any) -> np.ndarray:
        given = np.asarray(values, "float32")
        room = np.zeros(given.size + 16, "float32")
        start = -room.ctypes.data % 64 // 4
        room[start : start + given.size] = given
        return room[start : start + given.size]

    return make


@pytest.fixture
def run() -> Run:
    """``run(function, *arguments, symbols={}, target="native")``: call a function and return its code.

    Arguments are arrays and numbers: Python ints are passed as int64, floats as float32.
    """

    def runner(
        function: ir.Function,
        *arguments: Any,
        symbols: Mapping[str, int] | None = None,
        target: str = "native",
    ) -> int:
        code = jit.compile_object(llvm.generate(function, Target.parse(target)), Target.parse(target))
        loaded = jit.load([code], symbols or {})
        kinds = [_ctype(argument) for argument in arguments]
        call = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(loaded.address(function.name))
        return call(*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments))

    return runner


def _ctype(argument: Any) -> Any:
    if isinstance(argument, np.ndarray) or argument is None:
        return ctypes.c_void_p
    return ctypes.c_float if isinstance(argument, float) else ctypes.c_int64


@pytest.fixture
def elementwise(run: Run) -> Elementwise:
    """``elementwise(formula, *arrays, dtype="", lanes=1)``: ``formula`` of the arrays' elements, one by one.

    All arrays have one length, a multiple of ``lanes``; the result has the formula's dtype, and is a list
    where the formula gives a list. bfloat16 arrays are given as uint16, with the dtype's name:
    ``(array, "bfloat16")``.
    """

    def runner(formula: Callable[..., te.Expr], *arrays: Any, lanes: int = 1, target: str = "native") -> Any:
        pairs = [a if isinstance(a, tuple) else (a, a.dtype.name) for a in arrays]
        length = len(pairs[0][0])
        assert length % lanes == 0
        i = te.Var("i", "int64")
        index: te.Expr = i if lanes == 1 else te.Ramp(i * lanes, te.const(1, "int64"), lanes)
        shape = (te.const(length, "int64"),)
        inputs = [ir.Buffer(f"x{k}", name, shape, "param") for k, (_, name) in enumerate(pairs)]
        formulas = formula(*(ir.Load(b, (index,)) for b in inputs))
        values = formulas if isinstance(formulas, list) else [formulas]
        results = [ir.Buffer(f"y{k}", v.dtype, shape, "param") for k, v in enumerate(values)]
        stores = (ir.Store(y, (index,), v) for y, v in zip(results, values, strict=True))
        extent = te.const(length // lanes, "int64")
        body = ir.For(i, te.const(0, "int64"), extent, ir.sequence(*stores))
        function = ir.Function("elementwise", (*inputs, *results), tuple(results), (), body)
        outs = [np.zeros(length, "uint16" if v.dtype == "bfloat16" else v.dtype) for v in values]
        assert run(function, *(a for a, _ in pairs), *outs, target=target) == 0
        return outs if isinstance(formulas, list) else outs[0]

    return runner
