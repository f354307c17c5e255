"""Contraction of products and sums: where they are rounded once or twice, with the same bits everywhere."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.runtime.pool import pool
from tvmlite.te import expr as e
from tvmlite.te.codegen.c.build import FLAGS, compile_shared
from tvmlite.te.codegen.contraction import MULTIPLY_ADD
from tvmlite.te.codegen.math.expand import expand
from tvmlite.te.tensor.tensor import ComputeOp

LENGTH = 203
BINARY = [lambda p, c: p + c, lambda p, c: c + p, lambda p, c: p - c, lambda p, c: c - p]


def given(dtype: str, seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def elementwise(formula: Callable[..., Any], dtype: str, count: int) -> tuple[te.Schedule, list[te.Tensor]]:
    inputs = [te.placeholder((LENGTH,), name=f"A{n}", dtype=dtype) for n in range(count)]
    result = te.compute((LENGTH,), lambda i: formula(*(a[i] for a in inputs)), name="C")
    return te.create_schedule(result.op), [*inputs, result]


def in_vectors(schedule: te.Schedule, result: te.Tensor) -> None:
    assert isinstance(result.op, ComputeOp)
    schedule[result].vectorize(schedule[result].split(result.op.axis[0], 8)[1])


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", range(4))
def test_a_product_and_a_sum_are_rounded_twice(run: Any, dtype: str, order: int, vectors: bool) -> None:
    def formula(a: e.Expr, b: e.Expr, c: e.Expr) -> e.Expr:
        return BINARY[order](a * b, c)

    schedule, args = elementwise(formula, dtype, 3)
    if vectors:
        in_vectors(schedule, args[-1])
    a, b = given(dtype, 0, LENGTH), given(dtype, 1, LENGTH)
    c = a * b if order > 1 else -(a * b)

    results = [tvmlite.build(schedule, args, target=target)(a, b, c) for target in ("native", "c")]
    results += run(schedule, args, [a, b, c], [(LENGTH,)])

    for result in results:
        np.testing.assert_array_equal(
            result, np.zeros(LENGTH, dtype), "a rounding error is left: it was fused"
        )


@pytest.mark.parametrize("flags", [["-ffp-contract=fast"], ["-ffp-contract=fast", "-DTVMLITE_PORTABLE"]])
def test_c_source_rounds_the_same_with_any_compiler_flags(tmp_path: Path, flags: Sequence[str]) -> None:
    schedule, args = elementwise(lambda a, b, c: a * b + c, "float32", 3)
    in_vectors(schedule, args[-1])
    source = tvmlite.build(schedule, args, target="c", name="rounded").source("c")
    kept = [flag for flag in FLAGS if "contract" not in flag]
    file = compile_shared(source, tmp_path / "rounded.so", [pool.source()], (), [*kept, *flags])
    a, b = given("float32", 0, LENGTH), given("float32", 1, LENGTH)
    c, result = -(a * b), np.ones(LENGTH, "float32")

    ctypes.CDLL(str(file)).rounded(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c, result)))

    np.testing.assert_array_equal(result, np.zeros(LENGTH, "float32"))


def product(epilogue: bool) -> tuple[te.Schedule, list[te.Tensor]]:
    a, b = te.placeholder((8, 33), name="A"), te.placeholder((33, 16), name="B")
    k = te.reduce_axis((0, 33), name="k")
    made = te.compute((8, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="P")
    if not epilogue:
        return te.create_schedule(made.op), [a, b, made]
    scale, bias = te.placeholder((16,), name="S"), te.placeholder((16,), name="T")
    result = te.compute((8, 16), lambda i, j: made[i, j] * scale[j] + bias[j], name="C")
    return te.create_schedule(result.op), [a, b, scale, bias, result]


def test_the_update_of_a_reduction_is_a_multiply_add() -> None:
    schedule, args = product(epilogue=False)
    llvm, c = (tvmlite.build(schedule, args, target=t).source(t) for t in ("llvm", "c"))

    assert "fmuladd" in llvm
    assert "fmul float" not in llvm
    assert "multiply_add" in c


@pytest.mark.parametrize("target", ["native", "c"])
def test_an_epilogue_is_rounded_operation_by_operation(target: str) -> None:
    """Sums of integers are exact, in any order and contracted or not."""
    schedule, args = product(epilogue=True)
    x, y = (
        np.random.default_rng(n).integers(-9, 9, s).astype("float32")
        for n, s in ((2, (8, 33)), (3, (33, 16)))
    )
    scale, bias = given("float32", 4, 16), given("float32", 5, 16)

    result = tvmlite.build(schedule, args, target=target)(x, y, scale, bias)

    np.testing.assert_array_equal(result, (x @ y) * scale + bias)


@pytest.mark.parametrize("target", ["native", "c"])
def test_the_terms_of_a_reduction_are_rounded_operation_by_operation(target: str) -> None:
    a, b, c = (te.placeholder((LENGTH, 1), name=n) for n in "ABC")
    k = te.reduce_axis((0, 1), name="k")
    total = te.compute((LENGTH,), lambda i: te.sum(a[i, k] * b[i, k] + c[i, k], axis=k), name="P")
    x, y = given("float32", 0, LENGTH, 1), given("float32", 1, LENGTH, 1)

    result = tvmlite.build(te.create_schedule(total.op), [a, b, c, total], target=target)(x, y, -(x * y))

    np.testing.assert_array_equal(result, np.zeros(LENGTH, "float32"))


@pytest.mark.parametrize("target", ["native", "c"])
def test_a_product_is_rounded_before_a_math_function(target: str) -> None:
    plain, plain_args = elementwise(lambda p: te.exp(p), "float32", 1)
    of_product, args = elementwise(lambda a, b: te.exp(a * b), "float32", 2)
    a, b = given("float32", 0, LENGTH), given("float32", 1, LENGTH)

    result = tvmlite.build(of_product, args, target=target)(a, b)

    np.testing.assert_array_equal(result, tvmlite.build(plain, plain_args, target=target)(a * b))


@pytest.mark.parametrize("target", ["native", "c"])
def test_quotients_and_roots_are_correctly_rounded(target: str) -> None:
    schedule, args = elementwise(lambda a, b: te.sqrt(a) / b + 1.0 / b, "float32", 2)
    in_vectors(schedule, args[-1])
    a, b = np.abs(given("float32", 0, LENGTH)), given("float32", 1, LENGTH)

    result = tvmlite.build(schedule, args, target=target)(a, b)

    np.testing.assert_array_equal(result, np.sqrt(a) / b + np.float32(1) / b)


def test_a_contracted_sum_is_a_multiply_add_with_its_right_hand_product() -> None:
    a, b, c, d = (e.Var(name, "float32") for name in "abcd")

    both = expand(e.contracted(a * b + c * d))
    less = expand(e.contracted(a - b * 2.0))
    neither = expand(e.contracted(a + b))

    assert str(both) == f"{MULTIPLY_ADD}(c, d, a * b)"
    assert str(less) == f"{MULTIPLY_ADD}(b, -2.0, a)"
    assert type(neither) is e.Add


@pytest.mark.parametrize("dtype", ["int32", "float16"])
def test_integers_and_float16_are_never_contracted(dtype: str) -> None:
    a, b, c = (e.Var(name, dtype) for name in "abc")

    made = expand(e.contracted(a * b + c))

    assert type(made) is e.Add
    assert str(made) == "a * b + c"


def test_an_expression_without_float_sums_is_the_same_object() -> None:
    a = e.Var("a", "float32")
    made = a * a

    assert e.contracted(made) is made
