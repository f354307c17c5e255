"""Python numbers combined with narrow values are int32 and float32, as in TVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.te as native
import tvmlite.tvm as tvm
from tvmlite.tvm import te, tir, topi

OPERATORS: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    (lambda a: a + 100, lambda x: x + 100),
    (lambda a: 100 - a, lambda x: 100 - x),
    (lambda a: a * -3, lambda x: x * -3),
    (lambda a: a // 7, lambda x: x // 7),
    (lambda a: a % 7, lambda x: x % 7),
    (lambda a: a > 200, lambda x: x > 200),
    (lambda a: a >= -5, lambda x: x >= -5),
    (lambda a: a < 200, lambda x: x < 200),
    (lambda a: a <= -5, lambda x: x <= -5),
    (lambda a: a == 3, lambda x: x == 3),
    (lambda a: a != 300, lambda x: x != 300),
    (lambda a: te.max(a, -1), lambda x: np.maximum(x, -1)),
    (lambda a: te.min(300, a), lambda x: np.minimum(x, 300)),
    (lambda a: te.floordiv(a, -2), lambda x: x // -2),
    (lambda a: te.truncmod(a, 256), lambda x: np.fmod(x, 256)),
    (lambda a: te.if_then_else(a > 1, a, 300), lambda x: np.where(x > 1, x, 300)),
    (lambda a: (a * 2 + a) - 1, lambda x: x * 3 - 1),
)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_narrow_ints_are_computed_in_32_bits(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 0, 1, 3, 7, 100, 127], dtype)
    a = te.placeholder((8,), dtype=dtype, name="a")
    made = [
        te.compute((8,), lambda i, f=ours: f(a[i]), name=f"c{k}") for k, (ours, _) in enumerate(OPERATORS)
    ]

    found = tvm.build(te.create_schedule([one.op for one in made]), [a, *made])(x)

    for one, got, (_, reference) in zip(made, found, OPERATORS, strict=True):
        expected = reference(x.astype("int32"))
        assert one.dtype == ("bool" if expected.dtype == bool else "int32")
        np.testing.assert_array_equal(got, expected)


def test_float16_combined_with_a_python_float_is_float32() -> None:
    a = te.placeholder((4,), dtype="float16", name="a")

    assert [(a[0] * 0.5).dtype, (1.5 - a[0]).dtype, (a[0] + 1).dtype, (a * 0.5).dtype] == [
        "float32",
        "float32",
        "float16",
        "float32",
    ]
    assert (te.power(a[0], 0.5).dtype, te.placeholder((4,), dtype="int8")[0].astype("int16").dtype) == (
        "float32",
        "int16",
    )


def test_bit_operations_and_wide_values_keep_their_dtype() -> None:
    for dtype in ("int8", "uint16"):
        a = te.placeholder((4,), dtype=dtype)[0]
        assert [one.dtype for one in (a & 3, a >> 1, a << 1, a + tir.const(1, dtype))] == [dtype] * 4
    for dtype in ("int32", "uint32", "int64", "float32", "float64"):
        assert (te.placeholder((4,), dtype=dtype)[0] + 1).dtype == dtype


def test_loops_written_by_hand_promote_numbers_alike() -> None:
    a = te.placeholder((6,), dtype="uint8", name="a")

    def loops(source: Any, target: Any) -> Any:
        ib = tir.ir_builder.create()
        read, write = ib.buffer_ptr(source), ib.buffer_ptr(target)
        kept = ib.allocate("uint8", (1,))
        with ib.for_range(0, 6, name="i") as i:
            kept[0] = read[i]
            with ib.if_scope(kept[0] > -1):
                write[i] = read[i] + 1
        return ib.get()

    c = te.extern((6,), [a], lambda ins, outs: loops(ins[0], outs[0]), dtype="int32", name="c")
    x = np.array([0, 1, 255, 254, 3, 4], "u1")

    np.testing.assert_array_equal(tvm.build(te.create_schedule(c.op), [a, c])(x), x.astype("int32") + 1)


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [("int8", 200, "int32"), ("uint8", -1, "int32"), ("int64", 2, "int64"), ("int8", 2.0, "float32"),
     ("float16", 2.0, "float32"), ("float16", 1, "float16"), ("float64", 2.0, "float64")],
)  # fmt: skip
def test_functions_of_whole_tensors_promote_numbers_alike(dtype: str, number: float, expected: str) -> None:
    a = te.placeholder((3,), dtype, "a")
    x, wide = np.array([1, 100, 127]).astype(dtype), np.dtype(expected).type(number)
    total, greater = topi.add(a, number), topi.greater(number, a)
    outputs = [np.zeros(3, expected), np.zeros(3, bool)]
    tvm.build(te.create_schedule([total.op, greater.op]), [a, total, greater])(x, *outputs)

    assert topi.multiply(a, number).dtype == total.dtype == expected
    np.testing.assert_array_equal(outputs[0], x.astype(expected) + wide)
    np.testing.assert_array_equal(outputs[1], number > x.astype("float64"))


def test_without_tvm_numbers_take_the_dtype_of_the_other_operand() -> None:
    a = native.placeholder((4,), "int8", "a")

    assert ((a[0] + 1).dtype, (a[0] > -1).a.dtype, native.max(a[0], 0).dtype) == ("int8", "int8", "int8")
