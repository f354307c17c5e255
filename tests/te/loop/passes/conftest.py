"""Fixtures of the tests of passes: short ways to write loops, and a comparison of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret


def _index(value: int | e.Expr) -> e.Expr:
    return e.convert(value, "int64")


def _buffer(name: str, *shape: int | e.Expr, dtype: str = "float32", scope: str = "param") -> ir.Buffer:
    return ir.Buffer(name, dtype, tuple(map(_index, shape)), scope)


def _loop(
    var: e.Var, extent: int | e.Expr, *body: ir.Stmt, kind: str = ir.SERIAL, begin: int | e.Expr = 0
) -> ir.For:
    return ir.For(var, _index(begin), _index(extent), ir.sequence(*body), kind)


def _load(buffer: ir.Buffer, *indices: int | e.Expr) -> ir.Load:
    return ir.Load(buffer, tuple(map(_index, indices)))


def _store(buffer: ir.Buffer, *indices_and_value: int | e.Expr) -> ir.Store:
    *indices, value = indices_and_value
    return ir.Store(buffer, tuple(map(_index, indices)), e.convert(value))


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """``index``, ``buffer``, ``loop``, ``load``, ``store`` and three loop variables x, y, z."""
    return SimpleNamespace(
        index=_index,
        buffer=_buffer,
        loop=_loop,
        load=_load,
        store=_store,
        x=e.Var("x", "int64"),
        y=e.Var("y", "int64"),
        z=e.Var("z", "int64"),
    )


@pytest.fixture(scope="session")
def agree() -> Callable[..., None]:
    """Run two functions with the same params on the same random arrays; the outputs must be equal."""

    def run(before: ir.Function, after: ir.Function, sizes: Mapping[e.Var, int] | None = None) -> None:
        values = dict(sizes or {})
        results = []
        for function in (before, after):
            random = np.random.default_rng(0)
            arguments = []
            for param in function.params:
                if isinstance(param, e.Var):
                    arguments.append(values[param])
                    continue
                shape = [_number(x, values) for x in param.shape]
                if dtypes.is_float(param.dtype):
                    arguments.append(random.standard_normal(shape).astype(param.dtype))
                else:
                    arguments.append(random.integers(0, 5, shape).astype(param.dtype))
            given = {v: n for v, n in values.items() if v in function.sizes}
            interpret(function, arguments, given)
            results.append(arguments)
        for left, right in zip(*results, strict=True):
            np.testing.assert_array_equal(left, right)

    return run


def _number(extent: e.Expr, values: Mapping[e.Var, int]) -> int:
    if isinstance(extent, e.Const):
        return int(extent.value)
    if isinstance(extent, e.Cast):
        return _number(extent.value, values)
    assert isinstance(extent, e.Var)
    return values[extent]
